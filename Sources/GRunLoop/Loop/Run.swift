// SPDX-License-Identifier: Apache-2.0
// A run of the loop, and the run's frames on the thread's stack.

import CGRun
import Synchronization

/// One run, with its time limit, stop flag, stage and scheduler. Guarded by the loop's lock, except the scheduler.
///
/// A run without a host has one frame. The run that a host drives lasts until the loop is detached or ends, and has a
/// frame for each dispatch of the hub. If a dispatch is nested in a callout of another dispatch, this run has both
/// frames.
final class Run {
    /// True if a host drives this run. Such a run does not sleep.
    let isHosted: Bool
    @exclusivity(unchecked) var stage: Stage
    @exclusivity(unchecked) var scheduler = Scheduler()
    /// True if this run was stopped. A stop ends neither the outer run nor the next run (items 58 to 62).
    var isStopped = false
    /// True if a wake-up counted for this run, and the run has not begun a pass since.
    var heardWakeUp = false

    // MARK: The limit of a run without a host

    private(set) var returnsAfterSource = false
    /// The time when the run must end. `.min` means one pass without sleeping. `.never` means no limit, or that the run
    /// has not begun its first pass.
    private(set) var deadline = Nanoseconds.never
    /// The time when this run's limit wakes the innermost run, which is this run or a nested run. `.never` if there is
    /// no limit, if the limit has already woken a run, or if this run has returned.
    var alarm = Nanoseconds.never

    init(isHosted: Bool) {
        self.isHosted = isHosted
        stage = isHosted ? .outside : .head
    }

    /// Prepares the object for a new run without a host.
    func begin(returningAfterSource: Bool) {
        stage = .head
        scheduler = Scheduler()
        isStopped = false
        heardWakeUp = false
        returnsAfterSource = returningAfterSource
        deadline = .never
        alarm = .never
    }

    func beginPass() {
        stage.beginHead()
        scheduler.beginPass()
        heardWakeUp = false
    }

    /// Makes this run begin another pass before it sleeps, even if a nested run serves the wake-up. In the tail of a
    /// pass, this call does nothing, because another pass comes before the next sleep anyway.
    @inline(__always) func hearWakeUp() {
        if stage.countsWakeUps { heardWakeUp = true }
    }

    @inline(__always) func setLimit(_ end: Nanoseconds) {
        deadline = end
        alarm = onlyLooks ? .never : end
    }

    /// True if the run makes one pass and does not sleep.
    var onlyLooks: Bool { deadline == .min }
    /// True if the run may sleep, and ends at a point in time.
    var hasLimit: Bool { deadline != .min && deadline != .never }
}

/// The place of a run on the thread's stack. The function that makes the run owns the frame, so the link from an inner
/// frame does not retain it.
///
/// Only the loop's own thread changes a frame. That thread changes the frame's link, mode and depth with the lock held,
/// because other threads read them.
final class Frame {
    let run: Run
    /// The mode of the run. Not retained, because modes live as long as their loop.
    private(set) var modeReference: Unmanaged<ModeState>
    var mode: ModeState { modeReference.takeUnretainedValue() }
    /// The next outer frame on the stack; nil in the outermost frame.
    fileprivate var parentReference: Unmanaged<Frame>?
    var parent: Frame? { parentReference?.takeUnretainedValue() }
    /// How many GLib dispatches were on the thread's stack when the frame began.
    private(set) var depth = 0
    /// The blocks that the current block step has taken from their queue but not run yet.
    @exclusivity(unchecked) var takenBlocks: BlockQueue?
    @exclusivity(unchecked) var contexts = AcquiredContexts()
    @exclusivity(unchecked) var kept = Kept()
    @exclusivity(unchecked) var called = Called()
    /// The ``CalloutMark`` of this frame's last callout. A callout stores its mark only if loops are traced or watched
    /// by a stall monitor when the callout begins.
    let callout = Atomic<UInt>(0)

    init(of run: Run, in mode: ModeState) {
        self.run = run
        modeReference = .passUnretained(mode)
    }

    /// Prepares the frame for a new run. Before this call, the caller must release everything that the frame kept for
    /// an earlier run.
    func begin(_ mode: Unmanaged<ModeState>, above parent: Unmanaged<Frame>?) {
        modeReference = mode
        parentReference = parent
        depth = Contexts.depth
    }

    /// Moves the host's run to another mode, between two passes.
    func move(to mode: Unmanaged<ModeState>) {
        modeReference = mode
    }

    var isOutermost: Bool { parentReference == nil }

    /// The earliest deadline of the outer runs, without the deadlines that have already woken the innermost run.
    var nextAncestorDeadline: Nanoseconds { isOutermost ? .never : earliestAncestorDeadline }

    private var earliestAncestorDeadline: Nanoseconds {
        var earliest = Nanoseconds.never
        forEachAncestor { earliest = min(earliest, $0.alarm) }
        return earliest
    }

    /// Returns whether a deadline of an outer run has passed. Marks each such deadline, so that it counts only once.
    func takePassedAncestorDeadlines(at now: Nanoseconds) -> Bool {
        var found = false
        forEachAncestor {
            guard $0.alarm <= now else { return }
            $0.alarm = .never
            found = true
        }
        return found
    }

    private func forEachAncestor(_ body: (Run) -> Void) {
        for frame in Frames(innermost: parent) { body(frame.run) }
    }
}

/// The frames from `innermost` outwards.
struct Frames: Sequence, IteratorProtocol {
    fileprivate var innermost: Frame?

    mutating func next() -> Frame? {
        defer { innermost = innermost?.parent }
        return innermost
    }
}

extension GRunLoop {
    /// The frames on the stack, innermost first. Read them with the lock held, or on the loop's thread.
    var framesLocked: Frames { Frames(innermost: frame) }

    /// How many frames are on the stack. Each dispatch of the hub has a frame.
    package var runCount: Int { lock.withLock { runCountLocked } }
    package var runCountLocked: Int { framesLocked.reduce(0) { count, _ in count + 1 } }

    /// Stops the run with this number at the end of its pass. The outermost run has number 1. Does nothing if the
    /// number belongs to the innermost run.
    package func stopOuterRun(_ number: Int) {
        lock.withLock {
            let frames = Array(framesLocked)
            if frames.count > number { frames[frames.count - number].run.isStopped = true }
        }
    }

    /// The innermost frame; nil if nothing runs. Read it with the lock held, or on the loop's thread.
    var frame: Frame? { innermost?.takeUnretainedValue() }

    func pushLocked(_ frame: Frame) {
        innermost = .passUnretained(frame)
        tell(.runBegins)
    }

    func popLocked(_ frame: Frame) {
        tell(.runEnds)
        innermost = frame.parentReference
    }

    /// Makes the frame of a run without a host.
    @inline(__always) func makeFrame(in mode: Unmanaged<ModeState>, returningAfterSource: Bool) -> Frame {
        let spare = perturbs(CGRUN_SITE_CAPACITY) ? nil : spareFrame.take()
        let frame = spare ?? Frame(of: Run(isHosted: false), in: defaultMode)
        frame.run.begin(returningAfterSource: returningAfterSource)
        frame.begin(mode, above: innermost)
        return frame
    }

    /// Stores the frame of a finished run for the next run. Call this function without the lock, after you have
    /// released everything that the frame kept. If a deinit made a run during that release, `spareFrame` already holds
    /// the frame of that run.
    func keepForNextRun(_ frame: consuming Frame) {
        if spareFrame == nil { spareFrame = frame }
    }
}
