// SPDX-License-Identifier: Apache-2.0
// What runs: a run of ours, or the host's endless one; and its frames on the thread's stack.

import CGRun
import Synchronization

/// One run: its limit, its stop, its stage, and its scheduler. Guarded by the loop's lock, except the scheduler.
///
/// A run of ours has one frame. The host's lasts as long as the loop is attached, with a frame for each dispatch; a
/// dispatch inside a callout of another is one more frame of the same run.
final class Run {
    /// A host drives: the run does not sleep.
    let isHosted: Bool
    @exclusivity(unchecked) var stage: Stage
    @exclusivity(unchecked) var scheduler = Scheduler()
    /// A stop belongs to one run: neither its parent's nor the next one's (items 58 to 62).
    var isStopped = false
    /// A wake-up counted for this run, which has not begun a pass since.
    var heardWakeUp = false

    // MARK: The limit, of a run of ours

    private(set) var returnsAfterSource = false
    /// `.min`: one pass without sleeping. `.never`: no limit, or the first pass has not begun.
    private(set) var deadline = Nanoseconds.never
    /// When the limit wakes the innermost run. `.never` without one, once it has, and when this run has returned.
    var alarm = Nanoseconds.never

    init(isHosted: Bool) {
        self.isHosted = isHosted
        stage = isHosted ? .outside : .head
    }

    /// A run of ours begins. Resets what is left of the former one.
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

    /// It makes a pass before it sleeps, though a nested run may serve the wake-up, unless it does so anyway.
    @inline(__always) func hearWakeUp() {
        if stage.countsWakeUps { heardWakeUp = true }
    }

    @inline(__always) func setLimit(_ end: Nanoseconds) {
        deadline = end
        alarm = onlyLooks ? .never : end
    }

    /// The run only looks: one pass, no sleep.
    var onlyLooks: Bool { deadline == .min }
    /// It sleeps, and ends at a point in time.
    var hasLimit: Bool { deadline != .min && deadline != .never }
}

/// A run on the thread's stack. Owned by the function that runs it: the loop's link to its innermost frame and a
/// frame's link to its parent hold no reference. Changed on the own thread; with the lock held what others read: the
/// links, the mode and the depth.
final class Frame {
    let run: Run
    /// Modes live as long as their loop: no reference to one is counted here.
    private(set) var modeReference: Unmanaged<ModeState>
    /// The same.
    var mode: ModeState { modeReference.takeUnretainedValue() }
    /// Not retained: its function owns it.
    fileprivate var parentReference: Unmanaged<Frame>?
    var parent: Frame? { parentReference?.takeUnretainedValue() }
    /// How many GLib dispatches were on the thread's stack when it began.
    private(set) var depth = 0
    /// What the current block step has still to run.
    @exclusivity(unchecked) var takenBlocks: BlockQueue?
    @exclusivity(unchecked) var contexts = AcquiredContexts()
    @exclusivity(unchecked) var kept = Kept()
    @exclusivity(unchecked) var called = Called()
    /// The last callout that has begun in it while the loop was inspected: a ``CalloutMark``.
    let callout = Atomic<UInt>(0)

    init(of run: Run, in mode: ModeState) {
        self.run = run
        modeReference = .passUnretained(mode)
    }

    /// The frame's run goes on the stack. What is left of the former one has been released.
    func begin(_ mode: Unmanaged<ModeState>, above parent: Unmanaged<Frame>?) {
        modeReference = mode
        parentReference = parent
        depth = Contexts.depth
    }

    /// The host's run goes on in another mode, between two passes.
    func move(to mode: Unmanaged<ModeState>) {
        modeReference = mode
    }

    var isOutermost: Bool { parentReference == nil }

    /// The earliest deadline of the outer runs that has not woken anyone yet.
    var nextAncestorDeadline: Nanoseconds { isOutermost ? .never : earliestAncestorDeadline }

    private var earliestAncestorDeadline: Nanoseconds {
        var earliest = Nanoseconds.never
        forEachAncestor { earliest = min(earliest, $0.alarm) }
        return earliest
    }

    /// Marks the deadlines of outer runs that have passed; returns whether there were any.
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

/// A frame, its parent, and so on.
struct Frames: Sequence, IteratorProtocol {
    fileprivate var innermost: Frame?

    mutating func next() -> Frame? {
        defer { innermost = innermost?.parent }
        return innermost
    }
}

extension GRunLoop {
    /// With the lock held: the frames on the thread's stack, innermost first.
    var framesLocked: Frames { Frames(innermost: frame) }

    /// How many runs are on the thread's stack.
    var runCount: Int { lock.withLock { runCountLocked } }
    var runCountLocked: Int { framesLocked.reduce(0) { count, _ in count + 1 } }

    /// Has a run end after its pass, unless it is the innermost one. They are counted from the outermost one, 1.
    func stopOuterRun(_ number: Int) {
        lock.withLock {
            let frames = Array(framesLocked)
            if frames.count > number { frames[frames.count - number].run.isStopped = true }
        }
    }

    /// With the lock held: the innermost frame.
    var frame: Frame? { innermost?.takeUnretainedValue() }

    func pushLocked(_ frame: Frame) {
        innermost = .passUnretained(frame)
        markChange(CGRUN_RECORD_ENTER)
    }

    func popLocked(_ frame: Frame) {
        markChange(CGRUN_RECORD_LEAVE)
        innermost = frame.parentReference
    }

    /// With the lock held: puts a run of ours on the stack.
    @inline(__always) func makeFrame(in mode: Unmanaged<ModeState>, returningAfterSource: Bool) -> Frame {
        let spare = perturbs(CGRUN_SITE_CAPACITY) ? nil : spareFrame.take()
        let frame = spare ?? Frame(of: Run(isHosted: false), in: defaultMode)
        frame.run.begin(returningAfterSource: returningAfterSource)
        frame.begin(mode, above: innermost)
        return frame
    }

    /// Called without the lock when the run is over and all that it kept is released. A deinit among these may have
    /// begun another run, which has left its frame already.
    func keepForNextRun(_ frame: consuming Frame) {
        if spareFrame == nil { spareFrame = frame }
    }
}
