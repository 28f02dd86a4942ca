// SPDX-License-Identifier: Apache-2.0
// The descriptors and contexts that a host's poll watches for the loop.

import CGRun
import CGRunGLib
import Glibc

/// The descriptors and contexts that a host's poll watches for the loop. Guarded by the loop's lock.
struct HostPoll {
    /// The loop's hub on the home context; nil if the loop has none. `home` sets it. It is kept here, because each
    /// iteration needs it, and asking the context for it counts references.
    var hub: UnsafeMutablePointer<GSource>?

    var carried = CarriedContexts()
    /// Contexts that are no longer carried. The next dispatch releases them, and `prepare` does not. The last reference
    /// to a context may release sources of the program, whose notifications are user code.
    var gone: [ServedContext] = []

    /// The timer descriptor, which becomes readable when the mode's first timer is due. -1 until there is a timer.
    private var timer: Int32 = -1
    /// The time for which the timer descriptor is armed. `.min` means that it may be readable, and must be armed again
    /// before it is watched.
    private(set) var armedFor = Nanoseconds.min
    /// A duplicate of the current mode's epoll, so that the number in the hub's record never changes. -1 until the
    /// first mode with an epoll is watched.
    private var epoll: Int32 = -1
    private var epollMode: ObjectIdentifier?
    private(set) var shortage = Shortage.none

    enum Shortage: Equatable {
        case none, logged
        /// The kernel has refused a descriptor that the host's watch needs. The next dispatch logs it, once.
        case unlogged(HostCall, errno: Int32)
        /// A descriptor of the loop's own was closed, or a sandbox forbids using it. The next dispatch logs it, and the
        /// hub is silent from then on.
        case loss(HostCall, errno: Int32)
        case abandoned

        /// Whether the hub must be dispatched, so that the shortage is logged.
        var needsDispatch: Bool {
            switch self {
            case .none, .logged, .abandoned: false
            case .unlogged, .loss: true
            }
        }
    }

    /// A system call that can fail.
    enum HostCall: String {
        case fcntl, dup3, timerfdCreate = "timerfd_create", timerfdSettime = "timerfd_settime", poll
    }

    var isAbandoned: Bool { shortage == .abandoned }

    /// Returns the duplicate of the mode's epoll, which the host is to watch. Returns -1 if the kernel refuses the
    /// duplicate.
    mutating func watch(_ original: Int32, of mode: AnyObject) -> Int32 {
        guard epollMode != ObjectIdentifier(mode) else { return epoll }
        let call = epoll < 0 ? HostCall.fcntl : .dup3
        let duplicate = epoll < 0 ? cgrun_duplicate(original) : cgrun_duplicate_onto(original, epoll)
        guard duplicate >= 0 else {
            noteShortage(call, errno)
            // The former duplicate stays open, and the next call tries again to replace it.
            epollMode = nil
            return -1
        }
        epoll = duplicate
        epollMode = ObjectIdentifier(mode)
        return epoll
    }

    /// Notes that the mode has another epoll now, which needs another duplicate.
    mutating func forgetEpoll(of mode: AnyObject) {
        if epollMode == ObjectIdentifier(mode) { epollMode = nil }
    }

    /// Arms the timer descriptor and returns it, for the host to watch. Returns -1 if the time is `.never`; the timer
    /// descriptor then stays as it is. Returns -1, too, if the kernel refuses the descriptor.
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

    /// Notes that the poll has found the timer descriptor readable.
    mutating func noteExpired() { armedFor = .min }

    /// Notes that the poll has found that a descriptor is not open.
    mutating func noteClosed() { shortage = .loss(.poll, errno: EBADF) }

    private mutating func noteShortage(_ call: HostCall, _ error: Int32) {
        if shortage == .none { shortage = .unlogged(call, errno: error) }
    }

    /// Returns a shortage that the caller logs; nil if there is none, or if it was returned before.
    mutating func takeShortage() -> (call: HostCall, errno: Int32)? {
        guard case .unlogged(let call, let errno) = shortage else { return nil }
        shortage = .logged
        return (call, errno)
    }

    /// Called when the program has closed the loop's own descriptors. Forgets their numbers without closing them,
    /// because the numbers may belong to something else by now. The hub is silent from then on.
    mutating func abandon() {
        shortage = .abandoned
        _ = close()
        carried.abandon()
        if let hub { cgrun_hub_abandon(hub) }
    }

    /// Forgets the descriptors and returns them. The caller closes them once the hub is gone.
    mutating func close() -> [Int32] {
        defer { (timer, armedFor, epoll, epollMode) = (-1, .min, -1, nil) }
        return [timer, epoll].filter { $0 >= 0 }
    }
}
