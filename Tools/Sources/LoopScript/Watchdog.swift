// SPDX-License-Identifier: Apache-2.0
// Stops a program that does not end on any loop, and reports it.

import Synchronization

extension Executor {
    /// How often a hanging program is told to stop.
    private static let stopPeriod: UInt64 = 50_000_000

    /// Runs a program on its own thread, on the loop of `makeFace`. Returns when that thread has ended, or hangs.
    public static func run(
        _ program: Program, options: ExecutorOptions, makeFace: @escaping () -> any LoopFace
    ) -> Outcome {
        let begun = Mutex<Lent<Executor>?>(nil)
        let thread = FreshThread {
            let executor = Executor(program, face: makeFace(), options: options)
            begun.withLock { $0 = Lent(value: executor) }
            executor.begin()
        }
        let limit = options.slot * Grid.slotsPerGap * UInt64(program.longest) + options.grace
        let hasEnded = thread.join(until: Grid.now + limit)
        if !hasEnded {
            let executor = begun.withLock { $0?.value }
            executor?.stopAll()
            guard thread.join(until: Grid.now + options.grace) else {
                // The thread still owns its trace so far.
                return Outcome(saying: "hangs, and does not end when it is stopped")
            }
        }
        guard let executor = begun.withLock({ $0?.value }) else { return Outcome(saying: "did not begin") }
        executor.finish()
        var outcome = Outcome(
            hasEnded: hasEnded, entries: executor.entries, exclusions: executor.exclusions,
            statistics: executor.statistics)
        if !hasEnded { outcome.entries.append(TraceLine("hangs: ended when it was stopped", depth: 0, callouts: 0)) }
        return outcome
    }

    /// Makes the program do nothing more, and stops the innermost run repeatedly. It uses other threads, because a
    /// hanging loop may hold a lock that `stop` needs.
    private func stopAll() {
        isOverdue.store(true, ordering: .relaxed)
        let face = Lent(value: face)
        let runs = activeRuns
        for delay in stride(from: 0, to: options.grace, by: UInt64.Stride(Executor.stopPeriod)) {
            atDate(Grid.now + delay) { runs.stopAny { face.value.stop() } }
        }
    }
}

extension Outcome {
    /// The outcome of a program about which only this text is known.
    fileprivate init(saying text: String) {
        self.init(
            hasEnded: false, entries: [TraceLine(text, depth: 0, callouts: 0)], exclusions: [:],
            statistics: Statistics())
    }
}

extension Program {
    /// The greatest number of gaps of the program: each action is made at most once, and only actions take time.
    var longest: Int {
        allActions.reduce(2) { gaps, action in
            switch action {
            case .run(_, .gaps(let count), _), .busy(let count): gaps + count + 1
            case .run(_, .forever, _): gaps + Executor.endlessGaps + 3
            default: gaps
            }
        }
    }
}
