// SPDX-License-Identifier: Apache-2.0
// The descriptors and contexts that a host's poll watches for the loop.

import CGRun
import CGRunGLib
import Glibc

/// The descriptors and contexts that a host's poll watches for the loop. Guarded by the loop's lock.
struct HostPoll {
    /// The loop's hub on the home context; nil if the loop has no home context. `GRunLoop.home` sets this copy. Each
    /// iteration of the host reads the copy, because reading the hub from `home` would retain and release `home`.
    var hub: UnsafeMutablePointer<GSource>?

    var carried = CarriedContexts()
    /// Contexts that are no longer carried, and that the next dispatch releases. `prepare` must not release them,
    /// because releasing a context may call destroy notifications of the program's sources.
    var gone: [ServedContext] = []

    /// A timerfd that becomes readable when the mode's first timer is due. -1 until the timerfd is first needed.
    private var timer: Int32 = -1
    /// The expiry time of the timerfd. `.min` means that the timerfd must be armed again before the host's poll watches
    /// it, for example because it is readable.
    private(set) var armedFor = Nanoseconds.min
    /// Whether the loop is in virtual time. In virtual time the timerfd is not armed, because the kernel knows only
    /// real clocks.
    var isTimeVirtual = false { didSet { armedFor = .min } }
    /// A duplicate of the current mode's epoll; -1 if none was made yet. The duplicates of all modes have the same
    /// number, so the hub's poll record never changes.
    private var epoll: Int32 = -1
    private var epollMode: ObjectIdentifier?
    private(set) var shortage = Shortage.none

    enum Shortage: Equatable {
        case none, logged
        /// The kernel has refused to make a descriptor that the host's poll needs. The next dispatch logs this shortage
        /// once.
        case unlogged(HostCall, errno: Int32)
        /// One of the loop's own descriptors was closed, or a sandbox forbids its use. The next dispatch logs this
        /// loss, and makes the hub dormant, without poll records.
        case loss(HostCall, errno: Int32)
        case abandoned

        /// Whether the hub must be dispatched to log the shortage.
        var needsDispatch: Bool {
            switch self {
            case .none, .logged, .abandoned: false
            case .unlogged, .loss: true
            }
        }
    }

    enum HostCall: String {
        case fcntl, dup3, timerfdCreate = "timerfd_create", timerfdSettime = "timerfd_settime", poll
    }

    var isAbandoned: Bool { shortage == .abandoned }

    /// Returns a duplicate of the mode's epoll for the host to watch. Returns -1 if the kernel refuses to make it.
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

    /// Called when the mode has a new epoll, which needs a new duplicate.
    mutating func forgetEpoll(of mode: AnyObject) {
        if epollMode == ObjectIdentifier(mode) { epollMode = nil }
    }

    /// Arms the timerfd, and returns it for the host to watch. Returns -1 and arms nothing if the time is `.never`, if
    /// the loop is in virtual time, or if the kernel refuses the timerfd.
    mutating func arm(for time: Nanoseconds) -> Int32 {
        guard time != .never else {
            armedFor = .min
            return -1
        }
        guard time != armedFor else { return timer }
        if isTimeVirtual { return -1 }
        if timer < 0 { timer = cgrun_timer_new() }
        guard timer >= 0 else {
            noteShortage(.timerfdCreate, errno)
            return -1
        }
        // Arming the timerfd also clears an expiry that was not read.
        guard cgrun_timer_arm(timer, max(1, time)) else {
            shortage = .loss(.timerfdSettime, errno: errno)
            return -1
        }
        armedFor = time
        return timer
    }

    mutating func noteExpired() { armedFor = .min }

    /// Called when the host's poll has found a closed descriptor.
    mutating func noteClosed() { shortage = .loss(.poll, errno: EBADF) }

    private mutating func noteShortage(_ call: HostCall, _ error: Int32) {
        if shortage == .none { shortage = .unlogged(call, errno: error) }
    }

    /// Returns the shortage for the caller to log; nil if there is none, or if it was returned before.
    mutating func takeShortage() -> (call: HostCall, errno: Int32)? {
        guard case .unlogged(let call, let errno) = shortage else { return nil }
        shortage = .logged
        return (call, errno)
    }

    /// Makes the hub dormant, without poll records, because the loop has lost a descriptor of its own. Drops the
    /// descriptor numbers without closing them, because the numbers may belong to other files by now.
    mutating func abandon() {
        shortage = .abandoned
        _ = close()
        carried.abandon()
        if let hub { cgrun_hub_abandon(hub) }
    }

    /// Removes and returns the descriptors. The caller closes them after the hub has left its context.
    mutating func close() -> [Int32] {
        defer { (timer, armedFor, epoll, epollMode) = (-1, .min, -1, nil) }
        return [timer, epoll].filter { $0 >= 0 }
    }
}
