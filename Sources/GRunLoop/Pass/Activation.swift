// SPDX-License-Identifier: Apache-2.0
// One run: its mode, its limit, its stop, and a link to the run that it is nested in.

/// The record of a run. Owned by the function that runs it: the loop's link to its innermost run and a run's link to
/// its parent hold no reference. A record is used again (``GRunLoop/spareActivation``), and
/// ``begin(_:nestedIn:for:returningAfterSource:isHosted:isInsideHost:)`` makes it as new.
///
/// Guarded by the loop's lock, but for what says otherwise.
final class Activation {
    /// Modes live as long as their loop: no reference to one is counted here.
    @exclusivity(unchecked) private(set) var modeReference: Unmanaged<ModeState>
    /// The same.
    var mode: ModeState { modeReference.takeUnretainedValue() }
    @exclusivity(unchecked) unowned(unsafe) private(set) var parent: Activation?
    @exclusivity(unchecked) private(set) var isOutermost = true
    /// How long the run may last; zero and less: one pass without sleeping. `.never`: no limit.
    @exclusivity(unchecked) private var span = Nanoseconds.never
    /// `.min`: one pass without sleeping. `.never`: no limit, or not begun.
    @exclusivity(unchecked) private(set) var deadline = Nanoseconds.never
    @exclusivity(unchecked) private(set) var returnsAfterSource = false
    /// A host drives: the run does not sleep.
    @exclusivity(unchecked) private(set) var isHosted = false
    /// How many GLib dispatches were on the thread's stack when it began.
    @exclusivity(unchecked) private(set) var depth = 0
    /// The run began in a callback of a host, which goes on when the run ends.
    @exclusivity(unchecked) private(set) var isInsideHost = false

    /// A stop belongs to one activation: neither its parent's nor the next run's (items 58 to 62).
    @exclusivity(unchecked) var isStopped = false
    /// Set from the end of the wait to the end of the pass: another pass comes before the next sleep anyway (item 70).
    @exclusivity(unchecked) var ignoresWakeUps = false
    /// This run's deadline has woken the innermost run, or this run has returned: the deadline wakes no run any more.
    @exclusivity(unchecked) var isDeadlineSpent = false

    /// The kinds that were ready when the slice was used up: only they are served now. Empty: all are.
    @exclusivity(unchecked) var owed: Turns = []
    /// How many more passes may do without polling the kernel. Zero until the first poll of a run: else a program that
    /// runs the loop for one source at a time would serve nothing else.
    @exclusivity(unchecked) var passesFromMemory = 0
    static let longestRowFromMemory = 64
    /// The last item was a descriptor's event: more are likely, so the epoll is asked before the loop sleeps.
    @exclusivity(unchecked) var servedDescriptorLast = false
    /// The mode's epoll was asked in this pass already.
    @exclusivity(unchecked) var hasLooked = false
    /// The mode's epoll was asked for the next pass.
    @exclusivity(unchecked) var hasLookedAhead = false

    /// Another thread's wake-up, which counted for this run, was consumed by one that is nested in it.
    @exclusivity(unchecked) var owesPass = false

    // MARK: Own thread only

    @exclusivity(unchecked) var slice = TimeSlice()
    /// What the current block step has still to run.
    @exclusivity(unchecked) var takenBlocks: BlockQueue?
    @exclusivity(unchecked) var contexts = AcquiredContexts()
    @exclusivity(unchecked) var kept = Kept()
    /// The main queue is not asked first when it was the previous pass's item, nor in the first pass (item 53). A pass
    /// from memory, which does not ask, does not count.
    @exclusivity(unchecked) var servedMainQueueLast = true

    init(mode: ModeState) {
        modeReference = .passUnretained(mode)
    }

    /// Begins a run. Resets what is left of the former run, which has released its contexts and what it kept.
    func begin(
        _ mode: Unmanaged<ModeState>, nestedIn parent: Activation?, for span: Nanoseconds = .never,
        returningAfterSource: Bool = false, isHosted: Bool, isInsideHost: Bool
    ) {
        modeReference = mode
        self.parent = parent
        isOutermost = parent == nil
        self.span = span
        deadline = .never
        returnsAfterSource = returningAfterSource
        self.isHosted = isHosted
        depth = Contexts.depth
        self.isInsideHost = isInsideHost
        isStopped = false
        ignoresWakeUps = false
        isDeadlineSpent = false
        owed = []
        passesFromMemory = 0
        servedDescriptorLast = false
        hasLooked = false
        hasLookedAhead = false
        owesPass = false
        slice = TimeSlice()
        servedMainQueueLast = true
    }

    /// The host's endless run goes on in another mode, between two passes.
    func move(to mode: Unmanaged<ModeState>) {
        modeReference = mode
    }

    /// The limit counts from the first pass, after the entry observers. A limit that is too large to represent ends the
    /// run at the last instant of the clock.
    func startClock(at now: @autoclosure () -> Nanoseconds) {
        deadline = span <= 0 ? .min : span > .longest ? .never : min(now().addingSaturating(span), .last)
    }

    /// The run only looks: one pass, no sleep.
    var onlyPolls: Bool { deadline == .min }
    /// It sleeps, and ends at a point in time.
    @inline(__always) var hasLimit: Bool { deadline != .min && deadline != .never }

    /// Whether a step of this kind may begin.
    @inline(__always) func mayServe(_ kind: Turns) -> Bool { owed.isEmpty || owed.contains(kind) }

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

    /// Marks the deadlines of outer runs that have passed; returns whether there were any.
    @inline(never) func takePassedAncestorDeadlines(at now: Nanoseconds) -> Bool {
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

extension GRunLoop {
    /// With the lock held: the record of a run that is about to begin, nested in the innermost one.
    @inline(__always) func makeActivation(
        in mode: Unmanaged<ModeState>, for span: Nanoseconds = .never, returningAfterSource: Bool = false,
        isHosted: Bool,
        isInsideHost: Bool
    ) -> Activation {
        let run = spareActivation.take() ?? Activation(mode: defaultMode)
        run.begin(
            mode, nestedIn: activation, for: span, returningAfterSource: returningAfterSource, isHosted: isHosted,
            isInsideHost: isInsideHost)
        return run
    }

    /// Called without the lock when the run is over and all that it kept is released. A deinit among these may have
    /// begun another run, which has left its record already.
    @inline(__always) func keepForNextRun(_ run: consuming Activation) {
        if spareActivation == nil { spareActivation = run }
    }
}
