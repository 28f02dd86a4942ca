// SPDX-License-Identifier: Apache-2.0
// The main dispatch queue as an item of the main loop: an eventfd to wait for, and a drain of one snapshot.
//
// libdispatch binds the queue to the thread that loaded it. Draining it on another thread ends the process, so the
// owner is checked before every drain. The eventfd is read first, then the queue is drained, as one step: reading alone
// strands the queued blocks until the next one comes; draining alone leaves the descriptor readable, and the loop spins
// (items 193 and 194).

import CGRun
import Glibc
import Synchronization

enum MainQueue {
    private static let unknown: Int32 = -2
    private static let known = Atomic<Int32>(unknown)
    /// Why the kernel has last refused an eventfd.
    private static let refusal = Atomic<Int32>(0)

    /// The queue's eventfd, made at first need and valid for as long as the process is; -1 where libdispatch offers
    /// none, and as long as none can be had: libdispatch itself would end the process then, without a message.
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
        // If another thread has stored meanwhile that the handle is closed, that stays.
        let (isFirst, current) = known.compareExchange(expected: unknown, desired: made, ordering: .relaxed)
        return isFirst ? made : current
    }

    /// The descriptor was closed: its number may belong to something else by now.
    static func forgetHandle() { known.store(-1, ordering: .relaxed) }

    /// A drain is on the main thread's stack. A second one would do nothing, and the descriptor would stay readable.
    private static let draining = Atomic(false)
    private static let saidLost = Atomic(false)

    /// Whether the calling code runs on the main queue: on the main thread or, if the program gave that away, where
    /// libdispatch drains the queue. Checked before `MainActor.assumeIsolated`, which ends the process without a
    /// message.
    static var isCurrent: Bool { cgrun_is_main_thread() || cgrun_is_on_main_queue() }

    /// Whether the main thread is not the queue's, or ceases to be at once.
    static var isGivenAway: Bool { cgrun_main_queue_owner() != cgrun_main_thread() || isLeft(cgrun_async_main_state()) }

    static var isDraining: Bool { draining.load(ordering: .relaxed) }

    /// Whether a drain would be accepted on the main thread now: three reads of memory.
    static var isOurs: Bool {
        handle >= 0 && cgrun_main_queue_owner() == cgrun_main_thread() && !isLeft(cgrun_async_main_state())
    }

    /// An async main has given the main thread away. libdispatch may not have taken it yet.
    private static func isLeft(_ state: Int32) -> Bool { state == Int32(CGRUN_ASYNC_MAIN_LEFT) }

    /// Logs once that the main loop cannot serve the queue. Called without a lock.
    static func explainIfLost() {
        guard !isOurs, !saidLost.exchange(true, ordering: .relaxed) else { return }
        Log.critical(
            "the main dispatch queue cannot be served by this run loop: \(lossInWords). DispatchQueue.main and "
                + "@MainActor will not run here. Said once")
    }

    private static let hasLooked = Atomic(false)

    /// Called when the main loop is first asked for, perhaps by another thread after the main one has ended. Makes no
    /// handle.
    static func lookOnce() {
        if hasLooked.load(ordering: .relaxed) || hasLooked.exchange(true, ordering: .relaxed) { return }
        // From now on a loss is logged when it happens.
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
                "dispatchMain() was called, which gives the main thread to libdispatch for good, or that thread is "
                + "ending; run the main run loop instead"
        }
        return
            "libdispatch was first loaded on a thread that is not the main one, which it has taken for the main thread "
            + "(or dispatchMain() was called before this library was loaded); load libdispatch, or what links with it, "
            + "on the main thread"
    }

    private static let saidInside = Atomic(false)

    /// Whether a run inside one of the queue's blocks keeps others from running, and this was not logged yet.
    fileprivate static var isStrandedUnsaid: Bool { isDraining && hasReadyUnsaid }

    private static var hasReadyUnsaid: Bool { !saidInside.load(ordering: .relaxed) && isOurs && isReady }

    /// Without a lock.
    static func explainStranded() {
        guard !saidInside.exchange(true, ordering: .relaxed) else { return }
        Log.warning(
            "the main dispatch queue has something to run, but the main run loop is being run inside one of its "
                + "blocks, or inside a job of the main actor: until that returns, DispatchQueue.main and @MainActor "
                + "stand still. \(remedyInWords). Said once")
    }

    private static var remedyInWords: String {
        cgrun_async_main_state() == Int32(CGRUN_ASYNC_MAIN_DRIVEN)
            ? "Do not call g_application_run() or the like in an async main(), but give it to "
                + "GRunLoop.driveAsyncMain(by:); run other nested loops by GRunLoop.asyncOnMain"
            : "Run nested loops in callouts of the loop, as by GRunLoop.asyncOnMain"
    }

    /// Whether the queue has asked to be drained. Who has put a block on it may not have said so to the kernel yet.
    static var isReady: Bool { !isEmpty && cgrun_is_readable(handle) }

    static var isEmpty: Bool { cgrun_main_queue_is_empty() }

    /// Reads the eventfd; false if there was nothing to read, since other code has drained the queue.
    static func acknowledge() -> Bool { cgrun_event_clear(handle) }

    /// Runs what is on the queue now; what that adds waits for the next drain.
    static func drain() { drain(by: cgrun_main_queue_drain) }

    static func drain(by drain: @convention(c) () -> Void) {
        draining.store(true, ordering: .relaxed)
        drain()
        draining.store(false, ordering: .relaxed)
    }
}

extension GRunLoop {
    /// With the lock held: whether a run of `mode` serves the main dispatch queue: the main loop, on the main thread,
    /// in a common mode, and not inside a drain (items 184, 185 and 188); and libdispatch has not given the queue away
    /// (195).
    func servesMainQueueLocked(_ mode: ModeState) -> Bool {
        isMain && mode.isCommon && isCurrent && !MainQueue.isDraining && MainQueue.isOurs
    }

    /// With the lock held: whether a run of `mode` inside a block of the queue keeps other blocks from running, and
    /// this is to be logged.
    func mustExplainStrandedLocked(_ mode: ModeState) -> Bool {
        isMain && mode.isCommon && MainQueue.isStrandedUnsaid
    }

    /// With the lock held before and after: one snapshot. Returns whether there was one.
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

/// Its name is for debuggers and profilers: see the head of Pass.swift.
@inline(never) func serviceMainDispatchQueue(of loop: GRunLoop) {
    loop.begin(CalloutMark(.mainQueue), .mainQueue)
    loop.handledSources &+= 1
    MainQueue.drain()
    cgrun_keep_frame()
}
