// SPDX-License-Identifier: Apache-2.0
// A sleep of the loop's thread in poll(), our own or a host's: what ends the sleep, and what it waits for.

import CGRun
import CGRunGLib
import Glibc

/// The thing through which another thread ends a sleep.
enum Waker {
    /// A context in the poll set.
    case context(OpaquePointer)
    /// The loop's own eventfd, in a sleep without a context.
    case descriptor(Int32)
}

/// The sleep that is under way, or the last one. Guarded by the loop's lock.
struct Sleep {
    /// The waker of the sleep that is under way or about to begin; nil if there is none. A change that concerns the
    /// sleep must end the sleep through this waker.
    private var waker: Waker?
    /// True once the sleep was woken. It is not woken a second time.
    private var isKicked = false
    /// The thread that has woken the sleep, and when. Only noted while loops are traced or recorded.
    private var kicker: Kicker?
    /// The mode of the sleep. Only its identity is kept, because comparing references would count them.
    private var mode: ObjectIdentifier?
    private(set) var until: Nanoseconds = .never
    /// The last serial number. Serial numbers are negative, and dates never are.
    private var lastSerial: Nanoseconds = 0

    /// Begins a sleep. Called by our own wait (`sleepLocked`), and by a host's prepare (`prepareForHost`).
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

    /// Whether the thread is in poll(), or about to be.
    var isUnderWay: Bool { waker != nil }
    func isIn(_ mode: AnyObject) -> Bool { self.mode == ObjectIdentifier(mode) }

    /// Returns a serial number of the last sleep. Call it only while no sleep is under way. Two calls return the same
    /// number if there was no sleep between them, because the next sleep overwrites it with its end.
    mutating func serialOfLast() -> Nanoseconds {
        if until >= 0 {
            lastSerial -= 1
            until = lastSerial
        }
        return until
    }

    /// Whether the sleep that is under way, or the last one, was woken since the last call.
    mutating func takeKicked() -> Bool {
        defer { isKicked = false }
        return isKicked
    }

    /// Returns a wake-up for the sleep that is under way. Returns nil if there is no sleep, or if it was woken already.
    mutating func kick(_ loop: GRunLoop) -> Kick? {
        guard !isKicked, let waker else { return nil }
        isKicked = true
        kicker = nil
        let kick = Kick(waker, of: loop)
        // After the kick has retained the loop. Otherwise the word is loaded before that, and costs a register
        // (scripts/trace-cost).
        if _slowPath(cgrun_is_tracing()) { noteKicker() }
        return kick
    }

    @inline(never) private mutating func noteKicker() { kicker = Kicker() }

    /// Returns the thread that has woken the present sleep, or the last sleep if there is none now. Nil if there is
    /// none, or if it was returned before.
    mutating func takeKicker() -> Kicker? {
        defer { kicker = nil }
        return isKicked ? kicker : nil
    }
}

/// The thread that has woken a loop, and when.
struct Kicker {
    let thread = cgrun_thread_id()
    let time = Nanoseconds.now()
}

/// A wake-up for a thread that sleeps in poll(). It is sent after the lock is released, because the woken thread takes
/// the lock. It must be sent exactly once, because no other call wakes the same sleep.
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
        Log.fatal("a loop was to be woken, and nobody has done it")
    }
}

extension Optional where Wrapped: ~Copyable, Wrapped == Kick {
    /// Takes over `other` if there is one. At most one of the two exists, because one sleep is kicked only once.
    mutating func merge(_ other: consuming Kick?) {
        if let other { self = consume other }
    }
}

/// The consequences of a change of modes that wait until the lock is released: a wake-up, and a warning.
struct DeferredEffects: ~Copyable {
    var kick: Kick?
    /// A descriptor that is not watched as it should be.
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
                "\(KernelRefusal.message("epoll_ctl(2)", errno)). The kernel goes on to watch descriptor "
                    + "\(descriptor) as before")
        }
    }
}

// MARK: What a sleep waits for: the Swift side of poller.c

/// The loop's own descriptors in a poll, -1 for none.
struct OwnDescriptors {
    /// The mode's epoll.
    var descriptors: Int32 = -1
    /// The main dispatch queue's eventfd.
    var mainQueue: Int32 = -1
    /// The eventfd that ends the sleep if no context can.
    var wake: Int32 = -1
}

/// The result of one poll.
struct PollResult {
    var readyContexts: [ServedContext] = []
    var descriptors = false
    var mainQueue = false
    var wake = false

    var isEmpty: Bool { readyContexts.isEmpty && !descriptors && !mainQueue && !wake }
}

/// Waits for contexts and for the loop's own descriptors in one poll. Used on the loop's thread only. Its state must
/// not be needed after user code was called, because nested runs share it.
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

    /// A closed descriptor that keeps every poll from waiting; nil if there is none. Ask for it after a poll that found
    /// nothing: see poller.c.
    var stuckDescriptor: Int32? {
        let descriptor = cgrun_poller_stuck_descriptor(&poller)
        return descriptor < 0 ? nil : descriptor
    }

    /// Polls the contexts of a run. They are passed in place, because a copy of the list would count references.
    func poll(_ contexts: inout AcquiredContexts, own: OwnDescriptors, deadline: Nanoseconds) -> PollResult {
        poll(contexts.list, own: own, deadline: deadline)
    }

    /// Waits until a context or a descriptor is ready, or until the deadline.
    ///
    /// - Parameter deadline: when to stop waiting. `.min` means not to wait, and `.never` to wait without a limit.
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

    /// Ends the process, because poll() has failed for all descriptors.
    private func endForRefusedWait() -> Never {
        if case .forbidden = KernelRefusal(poller.error) {
            Log.fatal("\(KernelRefusal.message("poll(2) or ppoll(2)", poller.error)). The run loop cannot continue")
        }
        Log.fatal(
            "the run loop cannot continue, because poll() has failed (\(errorMessage(poller.error))); raise the limit "
                + "of descriptors, or free memory")
    }
}
