// SPDX-License-Identifier: Apache-2.0
// The record of a run is reused, and must not remember the run before.

import Testing

@testable import GRunLoop

@Suite struct RunTests {
    private func contents(of record: some AnyObject) -> [String: String] {
        let fields = Mirror(reflecting: record).children.map { ($0.label ?? "", String(describing: $0.value)) }
        return Dictionary(uniqueKeysWithValues: fields)
    }

    @Test("a reused record equals a new record, in every field")
    func everyFieldBeginsAnew() {
        let (new, used) = (Run(isHosted: false), Run(isHosted: false))
        used.begin(returningAfterSource: true)
        used.setLimit(7)
        used.stage.beginTail()
        used.isStopped = true
        used.heardWakeUp = true
        used.scheduler.giveTurns(to: .timer)
        used.scheduler.noteLook()
        used.scheduler.noteServed(.descriptor)
        used.scheduler.beginPass()
        used.scheduler.noteAsked()
        used.scheduler.beginItem(at: 9)

        new.begin(returningAfterSource: false)
        let expected = contents(of: new)
        // A field that stayed unchanged is unknown to this test, so the test could not check it.
        let unchanged = contents(of: used).filter { $0.value == expected[$0.key] }
        #expect(Set(unchanged.keys).isSubset(of: ["isHosted"]), "\(unchanged)")

        used.begin(returningAfterSource: false)
        #expect(contents(of: used) == expected)
    }

    @Test("a reused frame has another mode and another parent")
    func everyFrameBeginsAnew() {
        let (first, second) = (ModeState(name: "first", isCommon: false), ModeState(name: "second", isCommon: false))
        let (frame, outer) = (Frame(of: Run(isHosted: false), in: first), Frame(of: Run(isHosted: false), in: first))
        frame.begin(.passUnretained(second), above: .passUnretained(outer))
        #expect(frame.mode === second && frame.parent === outer && !frame.isOutermost)
        frame.begin(.passUnretained(first), above: nil)
        #expect(frame.mode === first && frame.isOutermost)
    }
}
