// SPDX-License-Identifier: Apache-2.0
// A sleep of the thread in poll(): what ends it, and what it waits for, in our own poll and in that of a host.

import CGRun
import CGRunGLib
import Glibc

/// What ends a sleep.
enum Waker {
    /// A context in the poll set.
    case context(OpaquePointer)
    /// The loop's own eventfd.
    case descriptor(Int32)
}

/// Guarded by the loop's lock.
struct Sleep {
    /// What ends the sleep that is under way, or about to begin: a change that concerns it has to.
    private var waker: Waker?
    /// This sleep was already woken.
    private var isKicked = false
    /// Who has woken it and when, while loops are recorded.
    private var kicker: Kicker?
    /// The mode of the sleep. Only its identity: comparing references would count them.
    private var mode: ObjectIdentifier?
    private(set) var until: Nanoseconds = .never
    /// Negative, as no date is.
    private var lastMark: Nanoseconds = 0

    /// By our own wait (`sleepLocked`), or by a host's prepare (`prepareForHost`).
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

    /// The thread is in poll(), or about to be.
    var isUnderWay: Bool { waker != nil }
    func isIn(_ mode: AnyObject) -> Bool { self.mode == ObjectIdentifier(mode) }

    /// While none is under way: a mark, which the next sleep overwrites. The same twice: there was no sleep in between.
    mutating func mark() -> Nanoseconds {
        if until >= 0 {
            lastMark -= 1
            until = lastMark
        }
        return until
    }

    /// Whether the sleep under way, or the one that has just ended, was woken since this was last asked.
    mutating func takeKicked() -> Bool {
        defer { isKicked = false }
        return isKicked
    }

    mutating func kick(_ loop: GRunLoop) -> Kick? {
        guard !isKicked, let waker else { return nil }
        isKicked = true
        kicker = nil
        let kick = Kick(waker, of: loop)
        // After its retain: else the word is loaded before that, and costs a register (scripts/trace-cost).
        if _slowPath(cgrun_is_tracing()) { noteKicker() }
        return kick
    }

    @inline(never) private mutating func noteKicker() { kicker = Kicker() }

    /// Who has woken the sleep that was not asked about before; nil if nobody has.
    mutating func takeKicker() -> Kicker? {
        defer { kicker = nil }
        return isKicked ? kicker : nil
    }
}

/// A thread that has woken another.
struct Kicker {
    let thread = cgrun_thread_id()
    let time = Nanoseconds.now()
}

/// A wake-up for a thread that sleeps in poll(). Sent after the lock is released, since the woken thread takes it. Must
/// be sent exactly once: no other call wakes the same sleep.
struct Kick: ~Copyable {
    private let waker: Waker
    /// Retained if its descriptor is to be written to: the loop closes that in its deinit.
    private let loop: Unmanaged<GRunLoop>

    init(_ waker: Waker, of loop: GRunLoop) {
        self.waker = waker
        self.loop = .passUnretained(loop)
        switch waker {
        case .context(let context): g_main_context_ref(context)
        case .descriptor: _ = self.loop.retain()
        }
    }

    consuming func send() {
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
    /// One hold of the lock decides on one wake-up at most.
    mutating func merge(_ other: consuming Kick?) {
        if let other { self = consume other }
    }
}

/// What a change of modes brings about, once the lock is released.
struct Effects: ~Copyable {
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

// MARK: What it waits for: the Swift side of poller.c

/// The loop's own descriptors in a poll, -1 for none.
struct OwnDescriptors {
    /// The mode's epoll.
    var descriptors: Int32 = -1
    /// The main dispatch queue's eventfd.
    var mainQueue: Int32 = -1
    /// Ends the sleep if no context can.
    var wake: Int32 = -1
}

/// What one poll found.
struct PollResult {
    var readyContexts: [ServedContext] = []
    var descriptors = false
    var mainQueue = false
    var wake = false

    var isEmpty: Bool { readyContexts.isEmpty && !descriptors && !mainQueue && !wake }
}

/// Own thread only, and never across user code: nested runs share it.
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

    /// After a poll in which nothing was found: a descriptor that is not open and that ends each poll; see poller.c.
    var stuckDescriptor: Int32? {
        let descriptor = cgrun_poller_stuck_descriptor(&poller)
        return descriptor < 0 ? nil : descriptor
    }

    /// In place: a copy of the list would count references.
    func poll(_ contexts: inout AcquiredContexts, own: OwnDescriptors, deadline: Nanoseconds) -> PollResult {
        poll(contexts.list, own: own, deadline: deadline)
    }

    /// - Parameter deadline: when to stop waiting; `.min` to only look.
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

    /// Ends the process: poll() has failed for all descriptors.
    private func endForRefusedWait() -> Never {
        if case .forbidden = KernelRefusal(poller.error) {
            Log.fatal("\(KernelRefusal.message("poll(2) or ppoll(2)", poller.error)). The run loop cannot go on")
        }
        Log.fatal(
            "the kernel refuses to wait for events (poll: \(errorMessage(poller.error))), and the run loop cannot go "
                + "on; raise the limit of descriptors, or free memory")
    }
}

// MARK: What a host's poll waits for, on our behalf

/// The descriptors and contexts that the hub's records stand for. Guarded by the loop's lock.
struct HostPoll {
    /// The loop's hub on the home context, which sets it. Kept here, since each iteration needs it and asking the
    /// context counts references.
    var hub: UnsafeMutablePointer<GSource>?

    var carried = CarriedContexts()
    /// Contexts that are no longer carried. Released by the next dispatch: the last reference may release sources of
    /// the program, whose notifications are user code.
    var gone: [ServedContext] = []

    /// Becomes readable when the mode's first timer is due; made when there is a timer, -1 before.
    private var timer: Int32 = -1
    /// What it is armed for. `.min`: it may be readable, and must be armed again before it is watched.
    private(set) var armedFor = Nanoseconds.min
    /// Our own duplicate of the current mode's epoll: its number in the hub's record never changes. -1 before the
    /// first.
    private var epoll: Int32 = -1
    private var epollMode: ObjectIdentifier?
    private(set) var shortage = Shortage.none

    enum Shortage: Equatable {
        case none, said
        /// No descriptor was had for what the host is to watch. The next dispatch logs it, once.
        case toBeSaid(HostCall, errno: Int32)
        /// A descriptor of the loop's own was closed. The next dispatch logs it, and the hub is silent from then on.
        case loss(HostCall, errno: Int32)
        case abandoned

        /// Whether the hub is to be dispatched for it.
        var isNews: Bool {
            switch self {
            case .none, .said, .abandoned: false
            case .toBeSaid, .loss: true
            }
        }
    }

    /// A system call that can fail.
    enum HostCall: String {
        case fcntl, dup3, timerfdCreate = "timerfd_create", timerfdSettime = "timerfd_settime", poll
    }

    var isAbandoned: Bool { shortage == .abandoned }

    /// Returns the duplicate of the mode's epoll, to be watched; -1 if none can be had.
    mutating func watch(_ original: Int32, of mode: AnyObject) -> Int32 {
        guard epollMode != ObjectIdentifier(mode) else { return epoll }
        let call = epoll < 0 ? HostCall.fcntl : .dup3
        let duplicate = epoll < 0 ? cgrun_duplicate(original) : cgrun_duplicate_onto(original, epoll)
        guard duplicate >= 0 else {
            noteShortage(call, errno)
            // A former duplicate stays open, and is used next time.
            epollMode = nil
            return -1
        }
        epoll = duplicate
        epollMode = ObjectIdentifier(mode)
        return epoll
    }

    /// The mode's epoll is another one.
    mutating func forgetEpoll(of mode: AnyObject) {
        if epollMode == ObjectIdentifier(mode) { epollMode = nil }
    }

    /// Returns the timer descriptor, armed, to be watched; -1 if there is no timer, when it stays as it is, or if it
    /// cannot be had.
    mutating func arm(for time: Nanoseconds) -> Int32 {
        guard time != .never else {
            armedFor = .min
            return -1
        }
        guard time != armedFor else { return timer }
        if timer < 0 { timer = cgrun_timer_new() }
        guard timer >= 0 else {
            noteShortage(.timerfdCreate, errno)
            return -1
        }
        // This also clears an expiry that was not read.
        guard cgrun_timer_arm(timer, max(1, time)) else {
            shortage = .loss(.timerfdSettime, errno: errno)
            return -1
        }
        armedFor = time
        return timer
    }

    /// The poll has found the timer descriptor readable.
    mutating func noteExpired() { armedFor = .min }

    /// The poll has found that a descriptor is not open.
    mutating func noteClosed() { shortage = .loss(.poll, errno: EBADF) }

    private mutating func noteShortage(_ call: HostCall, _ error: Int32) {
        if shortage == .none { shortage = .toBeSaid(call, errno: error) }
    }

    /// A shortage that is to be logged now.
    mutating func takeShortage() -> (call: HostCall, errno: Int32)? {
        guard case .toBeSaid(let call, let errno) = shortage else { return nil }
        shortage = .said
        return (call, errno)
    }

    /// The loop's own descriptors were closed by the program: their numbers are forgotten, and not closed again.
    mutating func abandon() {
        shortage = .abandoned
        _ = close()
        carried.abandon()
        if let hub { cgrun_hub_abandon(hub) }
    }

    /// Returns the descriptors to be closed, after the hub is gone.
    mutating func close() -> [Int32] {
        defer { (timer, armedFor, epoll, epollMode) = (-1, .min, -1, nil) }
        return [timer, epoll].filter { $0 >= 0 }
    }
}
