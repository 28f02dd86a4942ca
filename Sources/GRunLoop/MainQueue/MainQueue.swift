// SPDX-License-Identifier: Apache-2.0
// The main dispatch queue as an item of the main loop: the loop waits for an eventfd, and drains one snapshot of the
// queue.
//
// libdispatch binds the queue to the thread that loaded libdispatch. Draining it on another thread ends the process, so
// the owner is checked before every drain. The loop reads the eventfd first and then drains the queue, as one step. If
// it only read the eventfd, the queued blocks would be stranded until the next block comes. If it only drained the
// queue, the descriptor would stay readable, and the loop would spin (items 193 and 194).

import CGRun
import Glibc
import Synchronization

enum MainQueue {
    private static let unknown: Int32 = -2
    private static let known = Atomic<Int32>(unknown)
    /// The errno with which the kernel last refused an eventfd; 0 if it never has.
    private static let refusal = Atomic<Int32>(0)

    /// The queue's eventfd, made when it is first needed and valid until the process ends; -1 if there is none.
    ///
    /// There is none if libdispatch does not offer it, if the descriptor was closed, and as long as the kernel refuses
    /// an eventfd. In the last case libdispatch is not asked, because it would end the process without a message.
    static var handle: Int32 {
        let handle = known.load(ordering: .relaxed)
        return handle == unknown ? makeHandle() : handle
    }

    private static func makeHandle() -> Int32 {
        let probe = cgrun_event_new()
        guard probe >= 0 else {
            refusal.store(errno, ordering: .relaxed)
            return -1
        }
        cgrun_close(probe)
        let made = cgrun_main_queue_handle()
        // If another thread has called forgetHandle() meanwhile, its -1 stays.
        let (isFirst, current) = known.compareExchange(expected: unknown, desired: made, ordering: .relaxed)
        return isFirst ? made : current
    }

    /// Forgets the handle after the descriptor was closed, because its number may belong to something else by now.
    static func forgetHandle() { known.store(-1, ordering: .relaxed) }

    /// True while a drain is on the main thread's stack. A second drain would do nothing, and the descriptor would stay
    /// readable.
    private static let draining = Atomic(false)
    private static let saidLost = Atomic(false)

    /// Whether the calling code runs on the main queue.
    ///
    /// That is the main thread or, if the program gave that thread away, the thread on which libdispatch drains the
    /// queue. Check this before `MainActor.assumeIsolated`, which ends the process without a message.
    static var isCurrent: Bool { cgrun_is_main_thread() || cgrun_is_on_main_queue() }

    /// Whether the main thread does not own the queue, or is about to lose it.
    static var isGivenAway: Bool { cgrun_main_queue_owner() != cgrun_main_thread() || isLeft(cgrun_async_main_state()) }

    static var isDraining: Bool { draining.load(ordering: .relaxed) }

    /// Whether the main thread may drain the queue now. Usually this takes three reads of memory.
    static var isOurs: Bool {
        handle >= 0 && cgrun_main_queue_owner() == cgrun_main_thread() && !isLeft(cgrun_async_main_state())
    }

    /// Whether an async main has given the main thread away. libdispatch may not have taken the thread yet.
    private static func isLeft(_ state: Int32) -> Bool { state == Int32(CGRUN_ASYNC_MAIN_LEFT) }

    /// Logs once that the main loop cannot serve the queue. Call it without a lock.
    static func explainIfLost() {
        guard !isOurs, !saidLost.exchange(true, ordering: .relaxed) else { return }
        Log.critical(
            "the main dispatch queue cannot be served by this run loop: \(lossInWords). DispatchQueue.main and "
                + "@MainActor will not run here. Logged once")
    }

    private static let hasLooked = Atomic(false)

    /// Logs the loss of the queue if it is lost already, and has a later loss logged when it happens.
    ///
    /// It is called when the main loop is first asked for, perhaps by another thread after the main thread has ended.
    /// It makes no handle, unless the queue is lost.
    static func checkOwnerOnce() {
        if hasLooked.load(ordering: .relaxed) || hasLooked.exchange(true, ordering: .relaxed) { return }
        // From now on, a loss by an async main is logged when it happens.
        let state = cgrun_watch_async_main { MainQueue.explainIfLost() }
        if cgrun_main_queue_owner() != cgrun_main_thread() || isLeft(state) { explainIfLost() }
    }

    private static var lossInWords: String {
        if isLeft(cgrun_async_main_state()) {
            return
                "the program's async main has suspended, and Swift's runtime has given the main thread to libdispatch; "
                + "call GRunLoop.driveAsyncMain() before the first await of main()"
        }
        if cgrun_main_queue_owner() == cgrun_main_thread() {
            let error = refusal.load(ordering: .relaxed)
            if case .forbidden = KernelRefusal(error) { return KernelRefusal.message("eventfd2(2)", error) }
            return "libdispatch has no handle of it for a foreign run loop, or no descriptor is left for one"
        }
        if cgrun_main_queue_owner_at_load() == cgrun_main_thread() {
            return
                "the main thread is ending, or dispatchMain() has given it to libdispatch permanently; run the main "
                + "run loop instead of calling dispatchMain()"
        }
        return
            "libdispatch treats another thread as the main thread, because it was first loaded there, or because "
            + "dispatchMain() was called before this library was loaded; load libdispatch, and libraries that link "
            + "with it, on the main thread"
    }

    private static let hasLoggedStranding = Atomic(false)

    /// Whether a run inside one of the queue's blocks keeps other blocks from running, and this was not logged yet.
    fileprivate static var isStrandedUnsaid: Bool { isDraining && hasReadyUnsaid }

    private static var hasReadyUnsaid: Bool { !hasLoggedStranding.load(ordering: .relaxed) && isOurs && isReady }

    /// Logs once that a run inside one of the queue's blocks keeps other blocks from running. Call it without a lock.
    static func explainStranded() {
        guard !hasLoggedStranding.exchange(true, ordering: .relaxed) else { return }
        Log.warning(
            "blocks wait in the main dispatch queue, because the main run loop runs inside one of its blocks, or "
                + "inside a job of the main actor. Until this run returns, DispatchQueue.main and @MainActor run "
                + "nothing. \(remedyInWords). Logged once")
    }

    private static var remedyInWords: String {
        cgrun_async_main_state() == Int32(CGRUN_ASYNC_MAIN_DRIVEN)
            ? "In an async main(), pass g_application_run() to GRunLoop.driveAsyncMain(by:). Start other nested loops "
                + "with GRunLoop.asyncOnMain"
            : "Start nested loops in callouts of the loop, for example with GRunLoop.asyncOnMain"
    }

    /// Whether the queue has asked to be drained. It may not have asked yet, although another thread has just enqueued
    /// a block, because libdispatch makes the eventfd readable a moment later.
    static var isReady: Bool { !isEmpty && cgrun_is_readable(handle) }

    static var isEmpty: Bool { cgrun_main_queue_is_empty() }

    /// Reads the eventfd. Returns false, with errno set, if there was nothing to read, because other code has drained
    /// the queue. Any errno but EAGAIN means that the descriptor is lost.
    static func acknowledge() -> Bool { cgrun_event_clear(handle) }

    /// Runs the blocks that are on the queue now. Blocks that they add wait for the next drain.
    static func drain() { drain(by: cgrun_main_queue_drain) }

    static func drain(by drain: @convention(c) () -> Void) {
        draining.store(true, ordering: .relaxed)
        drain()
        draining.store(false, ordering: .relaxed)
    }
}

extension GRunLoop {
    /// With the lock held: whether a run of `mode` serves the main dispatch queue.
    ///
    /// Only the main loop does, on the main thread, in a common mode, and not inside a drain (items 184, 185 and 188).
    /// It does not if libdispatch has given the queue away (item 195).
    func servesMainQueueLocked(_ mode: ModeState) -> Bool {
        isMain && mode.isCommon && isCurrent && !MainQueue.isDraining && MainQueue.isOurs
    }

    /// With the lock held: whether a run of `mode` inside a block of the queue keeps other blocks from running, and
    /// this has to be logged.
    func mustExplainStrandedLocked(_ mode: ModeState) -> Bool {
        isMain && mode.isCommon && MainQueue.isStrandedUnsaid
    }

    /// Drains one snapshot of the queue, and returns whether it did. The lock is held before and after, but not in the
    /// drain.
    func drainMainQueueLocked() -> Bool {
        guard MainQueue.isOurs else { return false }
        guard MainQueue.acknowledge() else {
            let error = errno
            if error != EAGAIN {
                MainQueue.forgetHandle()
                loseDescriptorsLocked("read", error)
            }
            return false
        }
        lock.unlock()
        serviceMainDispatchQueue(of: self)
        lock.lock()
        return true
    }
}

/// Drains the queue as a callout of the loop. Debuggers and profilers show this function by name: see the head of
/// Pass.swift.
@inline(never) func serviceMainDispatchQueue(of loop: GRunLoop) {
    loop.tell(CalloutMark(.mainQueue))
    loop.handledSources &+= 1
    MainQueue.drain()
    cgrun_keep_frame()
}
