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

    @Test("an observer's end leads back to a wait in progress, and changes no other stage")
    func noticeEnds() {
        #expect(after { $0.endNotice() } == [.outside, .waiting, .suspended, .waiting, .head, .tail, .waiting])
    }

    @Test("after a foreign loop's wait the stage is a tail; after the pass's own wait it is its afterWaiting")
    func wakes() {
        #expect(after { $0.beginWaking() } == [.tail, .woken, .tail, .woken, .tail, .tail, .woken])
    }

    @Test("a foreign loop in an observer of the wait leaves the tail pending; in any other callout nothing is pending")
    func suspends() {
        let expected: [Stage] = [.suspended, .waiting, .suspended, .waiting, .suspended, .suspended, .waiting]
        #expect(after { $0.suspend() } == expected)
    }

    @Test("wake-ups count except after a wait; a pass lasts from its head or its observers to its tail")
    func derived() {
        #expect(Self.all.filter(\.countsWakeUps) == [.outside, .waiting, .suspended, .announcing, .head])
        #expect(Self.all.filter(\.isInPass) == [.announcing, .head, .tail, .woken])
        #expect(Self.all.filter(\.isPending) == [.waiting, .announcing, .woken])
    }
}
