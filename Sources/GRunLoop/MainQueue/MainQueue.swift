// SPDX-License-Identifier: Apache-2.0
// The main dispatch queue as an item of the main loop: an eventfd to wait for, and a drain of one snapshot.
//
// libdispatch binds the queue to the thread that loaded it; draining it anywhere else ends the process, so who holds it is asked
// before every drain. The eventfd is read first and the queue drained then, as one step: reading alone strands the queued
// blocks until the next one comes, draining alone leaves the descriptor readable, and the loop spins (items 193 and 194).

import CGRun
import Dispatch
import Glibc
import Synchronization

enum MainQueue {
    /// The queue's eventfd, -1 where libdispatch does not offer one. Made at first need, and valid for as long as the process is.
    static let handle: Int32 = cgrun_main_queue_handle()

    /// A drain is on the stack of the main thread: libdispatch would do nothing in a second one, and the descriptor would spin.
    private static let draining = Atomic(false)
    private static let saidLost = Atomic(false)

    static var isDraining: Bool { draining.load(ordering: .relaxed) }

    /// Whether a drain would be accepted on the main thread now.
    static var isOurs: Bool {
        guard handle >= 0 else { return explainLoss("this libdispatch offers no handle for a foreign run loop") }
        guard cgrun_main_queue_owner() == UInt32(bitPattern: getpid()) else {
            return explainLoss(
                "libdispatch has bound it to another thread: dispatchMain() or an async main ran, or the library was first loaded "
                    + "on a thread that is not the main one")
        }
        return true
    }

    private static func explainLoss(_ reason: String) -> Bool {
        if !saidLost.exchange(true, ordering: .relaxed) {
            Log.critical(
                "the main dispatch queue cannot be served by this run loop: \(reason). DispatchQueue.main and @MainActor will not "
                    + "run here. Said once")
        }
        return false
    }

    /// Whether the queue has asked to be drained.
    static var isReady: Bool {
        guard isOurs else { return false }
        var record = pollfd(fd: handle, events: Int16(POLLIN), revents: 0)
        return poll(&record, 1, 0) > 0
    }

    /// Reads the eventfd; false if there was nothing to read (somebody else drained the queue).
    static func acknowledge() -> Bool {
        var count: UInt64 = 0
        while true {
            let size = read(handle, &count, MemoryLayout<UInt64>.size)
            if size == MemoryLayout<UInt64>.size { return true }
            if size < 0, errno == EINTR { continue }
            return false
        }
    }

    /// Runs what is on the queue now; what that adds waits for the next drain.
    static func drain() {
        draining.store(true, ordering: .relaxed)
        cgrun_main_queue_drain()
        draining.store(false, ordering: .relaxed)
    }
}

extension GRunLoop {
    /// With the lock held: whether a run of `mode` serves the main dispatch queue: the main loop, on the main thread, in a common mode,
    /// and not inside a drain (items 184, 185 and 188).
    func servesMainQueueLocked(_ mode: ModeState) -> Bool {
        isMain && mode.isCommon && isCurrent && !MainQueue.isDraining
    }

    /// With the lock held before and after: one snapshot. Answers whether there was one.
    func drainMainQueueLocked() -> Bool {
        guard MainQueue.isOurs, MainQueue.acknowledge() else { return false }
        lock.unlock()
        serviceMainDispatchQueue(of: self)
        lock.lock()
        return true
    }
}
