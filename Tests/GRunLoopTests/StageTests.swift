// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import GRunLoop

@Suite struct StageTests {
    private static let all: [Stage] = [.outside, .waiting, .suspended, .announcing, .head, .tail, .woken]

    private func after(_ transition: (inout Stage) -> Void) -> [Stage] {
        Self.all.map { stage in
            var stage = stage
            transition(&stage)
            return stage
        }
    }

    @Test("an observer's end leaves a wait that goes on, and no other stage")
    func noticeEnds() {
        #expect(after { $0.endNotice() } == [.outside, .waiting, .suspended, .waiting, .head, .tail, .waiting])
    }

    @Test("what comes after a foreign loop's wait is a tail, of a wait of the pass itself its own afterWaiting")
    func wakes() {
        #expect(after { $0.beginWaking() } == [.tail, .woken, .tail, .woken, .tail, .tail, .woken])
    }

    @Test("a foreign loop in an observer of the wait leaves the tail pending, in any other callout nothing is")
    func suspends() {
        let expected: [Stage] = [.suspended, .waiting, .suspended, .waiting, .suspended, .suspended, .waiting]
        #expect(after { $0.suspend() } == expected)
    }

    @Test("wake-ups count but after a wait; a pass is under way from its head or its observers to its tail")
    func derived() {
        #expect(Self.all.filter(\.countsWakeUps) == [.outside, .waiting, .suspended, .announcing, .head])
        #expect(Self.all.filter(\.isInPass) == [.announcing, .head, .tail, .woken])
        #expect(Self.all.filter(\.isPending) == [.waiting, .announcing, .woken])
    }
}
