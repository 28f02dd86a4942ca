// SPDX-License-Identifier: Apache-2.0
// The sleeps of a loop's thread, in the library's own poll() or in the poll() of a host.

import CGRun
import CGRunGLib
import Glibc

/// The context or descriptor through which another thread ends a sleep.
enum Waker {
    /// A context that the sleep polls.
    case context(OpaquePointer)
    /// The loop's own eventfd, if the sleep polls no context.
    case descriptor(Int32)
}

/// The present sleep of a loop or, while the loop does not sleep, its last sleep. Guarded by the loop's lock.
struct Sleep {
    /// The waker of the sleep that is under way or about to begin; nil if there is none.
    private var waker: Waker?
    /// True once a kick was made for the sleep, so that no second kick is made.
    private var isKicked = false
    /// The thread that made the kick, and the time of the kick. Recorded only while loops are traced or recorded.
    private var kicker: Kicker?
    /// The mode of the sleep. Stored as an identity, because comparing references would retain and release the mode.
    private var mode: ObjectIdentifier?
    private(set) var until: Nanoseconds = .never
    /// The last result of ``serialOfLast()``. Serial numbers are negative, to differ from the dates in `until`.
    private var lastSerial: Nanoseconds = 0

    /// Begins a sleep. Called by the wait of a run without a host (`sleepLocked`), and by the hub's `prepare`
    /// (`prepareForHost`).
    mutating func begin(in mode: AnyObject, wokenBy waker: Waker, until: Nanoseconds) {
        isKicked = false
        self.mode = ObjectIdentifier(mode)
        self.waker = waker
        self.until = until
    }

    mutating func end() {
        mode = nil
        waker = nil
    }

    /// True if the thread is in poll(), or about to call poll().
    var isUnderWay: Bool { waker != nil }
    func isIn(_ mode: AnyObject) -> Bool { self.mode == ObjectIdentifier(mode) }

    /// Returns a serial number of the last sleep. Call this function only while no sleep is under way. All calls
    /// between two sleeps return the same number. The number is stored in `until`, which the next sleep overwrites.
    mutating func serialOfLast() -> Nanoseconds {
        if until >= 0 {
            lastSerial -= 1
            until = lastSerial
        }
        return until
    }

    /// Returns whether a kick was made for the present or last sleep. Only the first call after a kick returns true.
    mutating func takeKicked() -> Bool {
        defer { isKicked = false }
        return isKicked
    }

    /// Returns a kick that ends the present sleep; nil if there is no sleep, or if a kick was already made for it.
    mutating func kick(_ loop: GRunLoop) -> Kick? {
        guard !isKicked, let waker else { return nil }
        isKicked = true
        kicker = nil
        let kick = Kick(waker, of: loop)
        // `cgrun_is_tracing()` is read only after the kick was made, because an earlier read would cost a register
        // (scripts/trace-cost).
        if _slowPath(cgrun_is_tracing()) { noteKicker() }
        return kick
    }

    @inline(never) private mutating func noteKicker() { kicker = Kicker() }

    /// Returns the thread that made the kick for the present or the last sleep. Nil if there was no kick, if loops were
    /// not traced, or if ``takeKicked()`` or this function has been called since the kick.
    mutating func takeKicker() -> Kicker? {
        defer { kicker = nil }
        return isKicked ? kicker : nil
    }
}

struct Kicker {
    let thread = cgrun_thread_id()
    let time = Nanoseconds.now()
}

/// A wake-up for a thread that sleeps in poll(). Send the kick after the lock is released, because the woken thread
/// takes the lock. Every kick must be sent, because no second kick is made for a sleep.
package struct Kick: ~Copyable {
    private let waker: Waker
    /// Retained if the waker is the loop's own descriptor, because the loop closes that descriptor in its deinit.
    private let loop: Unmanaged<GRunLoop>

    init(_ waker: Waker, of loop: GRunLoop) {
        self.waker = waker
        self.loop = .passUnretained(loop)
        switch waker {
        case .context(let context): g_main_context_ref(context)
        case .descriptor: _ = self.loop.retain()
        }
    }

    package consuming func send() {
        if perturbs(CGRUN_SITE_KICK) { loseProcessor(for: Nanoseconds(perturbed(below: 300_000))) }
        switch waker {
        case .context(let context):
            g_main_context_wakeup(context)
            g_main_context_unref(context)
        case .descriptor(let descriptor):
            cgrun_event_signal(descriptor)
            loop.release()
        }
        discard self
    }

    deinit {
        Self.refuseToBeLost()
    }

    private static func refuseToBeLost() {
        Log.fatal("a wake-up of a run loop was lost. This is a bug in GRunLoop; please report it")
    }
}

extension Optional where Wrapped: ~Copyable, Wrapped == Kick {
    /// Stores `other` if it is not nil. At most one of the two kicks exists, because a sleep is kicked only once.
    mutating func merge(_ other: consuming Kick?) {
        if let other { self = consume other }
    }
}

/// Work that must wait until the lock is released, after an item joined or left a mode: sending a kick, and logging a
/// warning.
struct DeferredEffects: ~Copyable {
    var kick: Kick?
    /// A descriptor that is not watched as it should be, and the reason.
    private var lost: (descriptor: Int32, loss: WatchLoss)?

    mutating func lose(_ descriptor: Int32, _ loss: WatchLoss) { lost = (descriptor, loss) }

    mutating func forgetLoss() { lost = nil }

    mutating func carryOut() {
        kick.take()?.send()
        if let lost { Self.warn(of: lost.descriptor, lost.loss) }
    }

    private static func warn(of descriptor: Int32, _ loss: WatchLoss) {
        switch loss {
        case .closed:
            Log.warning(
                "descriptor \(descriptor) was closed while a DescriptorSource watched it; remove or invalidate the "
                    + "source before closing its descriptor")
        case .forbidden(let errno):
            Log.warning(
                "\(KernelRefusal.message("epoll_ctl(2)", errno)). A source of descriptor \(descriptor) was changed or "
                    + "removed, but the kernel still watches the descriptor as before")
        }
    }
}

// MARK: What a sleep waits for: the Swift side of poller.c

/// The loop's own descriptors in a poll; -1 means that there is none.
struct OwnDescriptors {
    /// The mode's epoll.
    var descriptors: Int32 = -1
    /// The main dispatch queue's eventfd.
    var mainQueue: Int32 = -1
    /// The loop's eventfd, which wakes a sleep that polls no context.
    var wake: Int32 = -1
}

struct PollResult {
    var readyContexts: [ServedContext] = []
    var descriptors = false
    var mainQueue = false
    var wake = false

    var isEmpty: Bool { readyContexts.isEmpty && !descriptors && !mainQueue && !wake }
}

/// Waits for contexts and for the loop's own descriptors in one poll. Used on the loop's thread only. The poller's
/// state may change during a call of user code, because nested runs use the same poller.
final class ContextPoller {
    @exclusivity(unchecked) private var poller = cgrun_poller()
    private var polled = UnsafeMutableBufferPointer<cgrun_polled>.allocate(capacity: 4)

    deinit {
        cgrun_poller_clear(&poller)
        polled.deallocate()
    }

    private func makeRoom(for count: Int) {
        polled.deallocate()
        polled = .allocate(capacity: 2 * count)
    }

    /// A closed descriptor that made many polls return immediately; nil if there is none. Read this property once after
    /// each poll that found nothing, because poller.c counts the reads.
    var stuckDescriptor: Int32? {
        let descriptor = cgrun_poller_stuck_descriptor(&poller)
        return descriptor < 0 ? nil : descriptor
    }

    /// Polls the contexts of a run. The list is passed `inout`, because a copy would be retained and released.
    func poll(_ contexts: inout AcquiredContexts, own: OwnDescriptors, deadline: Nanoseconds) -> PollResult {
        poll(contexts.list, own: own, deadline: deadline)
    }

    /// Waits until a context or a descriptor is ready, or until the deadline.
    ///
    /// - Parameter deadline: when to stop waiting. `.min` means no wait, and `.never` means no limit.
    func poll(_ contexts: [ServedContext], own: OwnDescriptors, deadline: Nanoseconds) -> PollResult {
        if contexts.count > polled.count { makeRoom(for: contexts.count) }
        for index in contexts.indices {
            polled[index] = cgrun_polled(
                context: contexts[index].context, hub: contexts[index].hub, is_ready: false, priority: 0, first: 0,
                count: 0)
        }
        let found = withUnsafeTemporaryAllocation(of: Int32.self, capacity: Int(CGRUN_OWN_DESCRIPTORS)) { slots in
            slots[0] = own.descriptors
            slots[1] = own.mainQueue
            slots[2] = own.wake
            return cgrun_poller_poll(&poller, polled.baseAddress, UInt32(contexts.count), slots.baseAddress, deadline)
        }
        if found & UInt32(CGRUN_POLL_FAILED) != 0 { endForRefusedWait() }
        var result = PollResult(descriptors: found & 1 != 0, mainQueue: found & 2 != 0, wake: found & 4 != 0)
        for index in contexts.indices where polled[index].is_ready { result.readyContexts.append(contexts[index]) }
        return result
    }

    private func endForRefusedWait() -> Never {
        if case .forbidden = KernelRefusal(poller.error) {
            Log.fatal("\(KernelRefusal.message("poll(2) or ppoll(2)", poller.error)). The run loop cannot continue")
        }
        Log.fatal(
            "the run loop cannot continue, because poll() has failed (\(errorMessage(poller.error))); raise the limit "
                + "of descriptors, or free memory")
    }
}
