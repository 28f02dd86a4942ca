// SPDX-License-Identifier: Apache-2.0
// A program that does not end is stopped and says so, on whichever loop.

import Synchronization

extension Executor {
    /// How often a program that hangs is told to stop.
    private static let stopPeriod: UInt64 = 50_000_000

    /// Runs a program on a thread of its own, on the loop that `makeFace` stands for, and returns when that thread has
    /// ended, or will not.
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
                // What it has written so far is still its own.
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

    /// Has the program do nothing more, and stops the innermost run again and again. On other threads: a loop that
    /// hangs may hold a lock that `stop` wants.
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
    /// The outcome of a program of which nothing else is known.
    fileprivate init(saying text: String) {
        self.init(
            hasEnded: false, entries: [TraceLine(text, depth: 0, callouts: 0)], exclusions: [:],
            statistics: Statistics())
    }
}

extension Program {
    /// The most gaps that it can last: each of its actions is done once at most, and only these take time.
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
