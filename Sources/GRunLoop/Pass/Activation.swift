// SPDX-License-Identifier: Apache-2.0
// One run that is under way: its mode, its limit, its stop. Nesting is the link to the parent.

/// Guarded by the loop's lock, but for what says otherwise.
final class Activation {
    /// Modes live as long as their loop.
    @exclusivity(unchecked) unowned(unsafe) private(set) var mode: ModeState
    let parent: Activation?
    let isOutermost: Bool
    /// How long the run may last; zero and less: one pass without sleeping. `.never`: no limit.
    private let span: Nanoseconds
    /// `.min`: one pass without sleeping. `.never`: no limit, or not begun.
    @exclusivity(unchecked) private(set) var deadline = Nanoseconds.never
    let returnsAfterSource: Bool
    /// A host drives: the run does not sleep.
    let isHosted: Bool
    /// How many GLib dispatches were on the thread's stack when it began.
    let depth = Contexts.depth
    /// It began in the callback of a host, which goes on when it ends.
    let isInsideHost: Bool

    /// A stop belongs to one activation: neither its parent's nor the next run's (items 58 to 62).
    @exclusivity(unchecked) var isStopped = false
    /// From the end of the wait to the end of the pass another pass comes before the next sleep anyway (item 70).
    @exclusivity(unchecked) var ignoresWakeUps = false
    /// This run's deadline has woken the innermost run once, or this run has returned: it wakes nobody any more.
    @exclusivity(unchecked) var isDeadlineSpent = false

    /// The pass ends early: its time slice is used up, and others are ready. What it has not served waits for the next one.
    @exclusivity(unchecked) var isCut = false
    /// How many passes may still come that do not ask the kernel. None before the first that does: whoever runs the loop a source at a time would
    /// serve nothing else.
    @exclusivity(unchecked) var passesFromMemory = 0
    static let longestRowFromMemory = 16
    /// In this pass the mode's epoll was looked into already.
    @exclusivity(unchecked) var hasLooked = false

    /// Another thread's wake-up, which counted for this run, was consumed by one that is nested in it.
    @exclusivity(unchecked) var owesPass = false

    // MARK: Own thread only

    @exclusivity(unchecked) var slice = TimeSlice()
    /// What a block step under way has still to run.
    @exclusivity(unchecked) var takenBlocks: BlockQueue?
    @exclusivity(unchecked) var contexts = AcquiredContexts()
    @exclusivity(unchecked) var kept = Kept()
    /// The main queue is not asked first when it was the previous pass's item, nor in the first pass (item 53).
    @exclusivity(unchecked) var servedMainQueueLast = true

    /// - Parameter mode: borrowed, as an initializer's parameters are not by themselves: handed over it would be counted, and let go.
    init(
        mode: __shared ModeState, parent: Activation?, span: Nanoseconds = .never, returnsAfterSource: Bool = false,
        isHosted: Bool = false, isInsideHost: Bool = true
    ) {
        self.mode = mode
        self.parent = parent
        isOutermost = parent == nil
        self.span = span
        self.returnsAfterSource = returnsAfterSource
        self.isHosted = isHosted
        self.isInsideHost = isInsideHost
    }

    /// The host's endless run goes on in another mode, between two passes.
    func move(to mode: ModeState) {
        self.mode = mode
    }

    /// The time counts from the first pass, after the entry observers.
    func startClock(at now: @autoclosure () -> Nanoseconds) {
        deadline = span <= 0 ? .min : span > .longest ? .never : now().addingSaturating(span)
    }

    /// The run only looks: one pass, no sleep.
    var onlyPolls: Bool { deadline == .min }

    /// The earliest deadline of the outer runs that has not woken anyone yet.
    @inline(__always) var nextAncestorDeadline: Nanoseconds { isOutermost ? .never : earliestAncestorDeadline }

    @inline(never) private var earliestAncestorDeadline: Nanoseconds {
        var earliest = Nanoseconds.never
        var ancestor = parent
        while let run = ancestor {
            if !run.isDeadlineSpent, !run.onlyPolls { earliest = min(earliest, run.deadline) }
            ancestor = run.parent
        }
        return earliest
    }

    /// Marks the deadlines of outer runs that have passed; answers whether there were any.
    func takePassedAncestorDeadlines(at now: Nanoseconds) -> Bool {
        var found = false
        var ancestor = parent
        while let run = ancestor {
            if !run.isDeadlineSpent, !run.onlyPolls, run.deadline <= now {
                run.isDeadlineSpent = true
                found = true
            }
            ancestor = run.parent
        }
        return found
    }
}
