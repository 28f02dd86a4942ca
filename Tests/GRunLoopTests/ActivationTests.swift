// SPDX-License-Identifier: Apache-2.0
// The record of a run is used again, and must not remember the run before.

import Testing

@testable import GRunLoop

@Suite struct ActivationTests {
    /// What a run gives up before its record is used again; the other tests see that it does.
    private static let givenUp: Set = ["takenBlocks", "contexts", "kept"]

    private func contents(of run: Activation) -> [String: String] {
        let fields = Mirror(reflecting: run).children.map { ($0.label ?? "", String(describing: $0.value)) }
        return Dictionary(uniqueKeysWithValues: fields).filter { !Self.givenUp.contains($0.key) }
    }

    @Test("a record that is used again is as a new one, in every field")
    func everyFieldBeginsAnew() {
        let (first, second) = (ModeState(name: "first", isCommon: false), ModeState(name: "second", isCommon: false))
        let (new, used, outer) = (Activation(mode: first), Activation(mode: first), Activation(mode: second))
        used.begin(
            .passUnretained(second), nestedIn: outer, for: 5, returningAfterSource: true, isHosted: true,
            isInsideHost: true)
        used.startClock(at: 7)
        used.isStopped = true
        used.ignoresWakeUps = true
        used.isDeadlineSpent = true
        used.owed = .timers
        used.passesFromMemory = 3
        used.servedDescriptorLast = true
        used.hasLooked = true
        used.hasLookedAhead = true
        used.owesPass = true
        used.slice.begin(at: 9)
        used.servedMainQueueLast = false

        new.begin(.passUnretained(first), nestedIn: nil, isHosted: false, isInsideHost: false)
        let expected = contents(of: new)
        // A field that this test does not know, and so has not changed, would be one that nobody checks. The depth is
        // the thread's, and a mode has no description.
        let unchanged = contents(of: used).filter { $0.value == expected[$0.key] }
        #expect(Set(unchanged.keys).isSubset(of: ["depth", "modeReference"]), "\(unchanged)")
        #expect(used.mode === second)

        used.begin(.passUnretained(first), nestedIn: nil, isHosted: false, isInsideHost: false)
        #expect(contents(of: used) == expected)
        #expect(used.mode === first)
    }
}
