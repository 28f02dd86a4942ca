// SPDX-License-Identifier: Apache-2.0
// The main dispatch queue as an item of the main loop. The loop waits for the queue's eventfd, and drains one snapshot
// of the queue.
//
// libdispatch binds the queue to the thread that loaded libdispatch. Draining the queue on another thread ends the
// process, so the loop checks before every drain which thread owns the queue. The loop always reads the eventfd and
// then drains the queue. If it only read the eventfd, the queued blocks would wait until another block is enqueued. If
// it only drained the queue, the eventfd would stay readable, and the loop would spin (items 193 and 194).

import CGRun
import Glibc
import Synchronization

enum MainQueue {
    private static let unknown: Int32 = -2
    private static let known = Atomic<Int32>(unknown)
    /// The errno with which the kernel last refused an eventfd; 0 if it never did.
    private static let refusal = Atomic<Int32>(0)

    /// The queue's eventfd; -1 if there is none. libdispatch makes the eventfd at its first use, and may close it when
    /// the main thread loses the queue.
    ///
    /// There is no eventfd if libdispatch does not offer it or if the program has closed it, and while the kernel
    /// refuses to make it. In the last case, libdispatch is not called, because it would end the process without a
    /// message.
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
        // If another thread has called forgetHandle() since the load of `known`, the -1 that it stored must stay.
        let (isFirst, current) = known.compareExchange(expected: unknown, desired: made, ordering: .relaxed)
        return isFirst ? made : current
    }

    /// Forgets the handle after the descriptor was closed, because another file may have the descriptor's number by
    /// now.
    static func forgetHandle() { known.store(-1, ordering: .relaxed) }

    /// True while a drain is on the main thread's stack. The loop does not drain the queue then, because a nested drain
    /// would do nothing, and the eventfd would stay readable.
    private static let draining = Atomic(false)
    private static let saidLost = Atomic(false)

    /// Whether the calling code runs on the main queue.
    ///
    /// True on the main thread. If the program gave that thread away, also true on the thread on which libdispatch
    /// drains the queue. Read this property before `MainActor.assumeIsolated`, which otherwise ends the process without
    /// a message.
    static var isCurrent: Bool { cgrun_is_main_thread() || cgrun_is_on_main_queue() }

    /// True if another thread owns the queue, or if the main thread is about to lose it.
    static var isGivenAway: Bool { cgrun_main_queue_owner() != cgrun_main_thread() || isLeft(cgrun_async_main_state()) }

    static var isDraining: Bool { draining.load(ordering: .relaxed) }

    /// Whether the main thread may drain the queue now. Usually this costs three reads of memory.
    static var isOurs: Bool {
        handle >= 0 && cgrun_main_queue_owner() == cgrun_main_thread() && !isLeft(cgrun_async_main_state())
    }

    /// Returns whether an async main has given the main thread away, even if libdispatch does not own that thread yet.
    private static func isLeft(_ state: Int32) -> Bool { state == Int32(CGRUN_ASYNC_MAIN_LEFT) }

    /// If the main loop cannot serve the queue, logs the reason once. Call this function without a lock.
    static func explainIfLost() {
        guard !isOurs, !saidLost.exchange(true, ordering: .relaxed) else { return }
        Log.critical(
            "the main run loop cannot serve the main dispatch queue: \(lossInWords). Blocks of DispatchQueue.main and "
                + "jobs of @MainActor do not run here. Logged once")
    }

    private static let hasLooked = Atomic(false)

    /// If another thread already owns the queue, logs that the main loop cannot serve the queue. If an async main gives
    /// the main thread to libdispatch later, the loss of the queue is logged then.
    ///
    /// Called when `GRunLoop.main` is first read, perhaps by another thread after the main thread has ended. Makes the
    /// eventfd only if another thread owns the queue.
    static func checkOwnerOnce() {
        if hasLooked.load(ordering: .relaxed) || hasLooked.exchange(true, ordering: .relaxed) { return }
        let state = cgrun_watch_async_main { MainQueue.explainIfLost() }
        if cgrun_main_queue_owner() != cgrun_main_thread() || isLeft(state) { explainIfLost() }
    }

    static var lossInWords: String {
        if isLeft(cgrun_async_main_state()) {
            return
                "the program's async main has suspended, and Swift's runtime has given the main thread to libdispatch; "
                + "call GRunLoop.driveAsyncMain() before the first await of main()"
        }
        if cgrun_main_queue_owner() == cgrun_main_thread() {
            let error = refusal.load(ordering: .relaxed)
            if case .forbidden = KernelRefusal(error) { return KernelRefusal.message("eventfd2(2)", error) }
            return
                "libdispatch did not return the descriptor of its main queue, because no descriptor is left or because "
                + "this libdispatch does not serve foreign run loops; close unused descriptors, or use the libdispatch "
                + "of Swift's toolchain"
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

    /// True if a run inside one of the queue's blocks keeps other blocks from running and the library has not logged
    /// this yet.
    fileprivate static var isStrandedUnsaid: Bool { isDraining && hasReadyUnsaid }

    private static var hasReadyUnsaid: Bool { !hasLoggedStranding.load(ordering: .relaxed) && isOurs && isReady }

    /// Logs once that a run inside one of the queue's blocks keeps other blocks from running. Call this function
    /// without a lock.
    static func explainStranded() {
        guard !hasLoggedStranding.exchange(true, ordering: .relaxed) else { return }
        Log.warning(
            "the main dispatch queue is blocked, because the main run loop runs inside a block of that queue or a job "
                + "of the main actor. Until this run returns, DispatchQueue.main and @MainActor run nothing. "
                + "\(remedyInWords). Logged once")
    }

    private static var remedyInWords: String {
        cgrun_async_main_state() == Int32(CGRUN_ASYNC_MAIN_DRIVEN)
            ? "In an async main(), pass g_application_run() to GRunLoop.driveAsyncMain(by:). Start other nested loops "
                + "with GRunLoop.asyncOnMain"
            : "Start nested loops in callbacks of the run loop, for example with GRunLoop.asyncOnMain"
    }

    /// Whether libdispatch asks the loop to drain the queue. The value becomes true shortly after a block was enqueued,
    /// because libdispatch enqueues the block before it makes the eventfd readable.
    static var isReady: Bool { !isEmpty && cgrun_is_readable(handle) }

    static var isEmpty: Bool { cgrun_main_queue_is_empty() }

    /// Reads the eventfd, which is no longer readable afterwards. If the read fails, returns false with errno set.
    /// EAGAIN means that other code has drained the queue. Any other errno means that the descriptor is lost.
    static func acknowledge() -> Bool { cgrun_event_clear(handle) }

    /// Runs the blocks that are on the queue now. Blocks that these blocks enqueue wait for the next drain.
    static func drain() { drain(by: cgrun_main_queue_drain) }

    static func drain(by drain: @convention(c) () -> Void) {
        draining.store(true, ordering: .relaxed)
        drain()
        draining.store(false, ordering: .relaxed)
    }
}

extension GRunLoop {
    /// Returns whether a run of `mode` serves the main dispatch queue.
    ///
    /// Only the main loop serves the queue: on the main thread, in a common mode, and not inside a drain (items 184,
    /// 185 and 188). If libdispatch has given the queue to another thread, no run serves it (item 195).
    func servesMainQueueLocked(_ mode: ModeState) -> Bool {
        hasMainQueueLocked(mode) && isCurrent && !MainQueue.isDraining
    }

    /// Returns whether the mode serves the main dispatch queue, whatever thread asks, and also inside a drain.
    func hasMainQueueLocked(_ mode: ModeState) -> Bool { isMain && mode.isCommon && MainQueue.isOurs }

    /// Returns true if a run of `mode` inside a block of the queue keeps other blocks from running and this was not
    /// logged yet.
    func mustExplainStrandedLocked(_ mode: ModeState) -> Bool {
        isMain && mode.isCommon && MainQueue.isStrandedUnsaid
    }

    /// Drains one snapshot of the queue. Returns whether the queue was drained. The lock is released during the drain.
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
