// SPDX-License-Identifier: Apache-2.0
// Checks that a program that does not end is reported on each loop, and shrunk.

import LoopScript
import Synchronization

/// A loop that sleeps past the deadlines of its runs until it is stopped. A deaf one ignores stops too.
private final class HangingFace: CFFace {
    private let isDeaf: Bool
    private let isStopped = Atomic(false)

    init(isDeaf: Bool = false) { self.isDeaf = isDeaf }

    override func run(_ mode: ModeName, _ time: RunTime, returnAfterSourceHandled: Bool) -> RunEnd {
        guard case .until = time else {
            return super.run(mode, time, returnAfterSourceHandled: returnAfterSourceHandled)
        }
        isStopped.store(false, ordering: .relaxed)
        while isDeaf || !isStopped.load(ordering: .relaxed) { Grid.sleep(until: Grid.now + 10_000_000) }
        return .stopped
    }

    override func stop() {
        isStopped.store(true, ordering: .relaxed)
        super.stop()
    }
}

struct WatchdogCheck {
    let slots: Slots

    /// Returns whether each of them was found.
    func run() -> Bool {
        var failures = 0
        func expect(_ condition: Bool, _ what: String) {
            guard !condition else { return }
            failures += 1
            print("watchdog: \(what)")
        }
        let ours = makeComparer(makeOracleFace, { HangingFace() })
        let makeProgram: @Sendable (UInt64) -> Program = { Generator.program(seed: $0, steps: 12) }
        let runner = Runner(comparer: ours, jobs: 4, makeProgram: makeProgram, tell: { _ in })
        let seeds = (UInt64(1)...1000).lazy.filter { makeProgram($0).steps.contains { $0.hasDeadline } }
        let found = runner.run(seeds: Array(seeds.prefix(4))) { _ in }.divergences
        expect(found.count == 4, "\(found.count) of 4 programs that hang are found")
        expect(found.allSatisfy { $0.comparison.signature == "ends | hangs" }, "the report lacks the hanging loop")
        let shrinker = Shrinker(comparer: ours, budget: 30_000_000_000)
        for divergence in runner.shrink(found, count: 1, with: shrinker) {
            expect(divergence.program.steps.count == 1, "a program that hangs is not shrunk")
            let last = divergence.comparison.other.lines.last
            expect(last == "hangs: ended when it was stopped", "a program that hangs ends with \(last ?? "nothing")")
        }
        let program = Program(steps: [.run("default", .gaps(1), returnAfterSourceHandled: false)])
        let theirs = makeComparer({ HangingFace(isDeaf: true) }, makeOracleFace).compare(program, slot: slots.first)
        expect(theirs.signature == "hangs | ends", "a loop that cannot be stopped is \"\(theirs.signature)\"")
        let both = makeComparer({ HangingFace() }, { HangingFace() }).compare(program, slot: slots.first)
        expect(!both.agrees, "two loops that hang agree")
        print("watchdog: failures=\(failures)")
        return failures == 0
    }

    private func makeComparer(_ reference: @escaping FaceMaker, _ face: @escaping FaceMaker) -> Comparer {
        Comparer(makeFace: face, slots: slots, makeReference: reference, grace: 200_000_000)
    }
}

extension Action {
    fileprivate var hasDeadline: Bool { if case .run(_, .gaps, _) = self { true } else { false } }
}
