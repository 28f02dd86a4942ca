// SPDX-License-Identifier: Apache-2.0
// What a host's poll watches for the loop: the records of the hub, and the contexts that are carried.

import CGLib
import CGRun

/// Guarded by the loop's lock.
struct HostPoll {
    /// The loop's hub on the home context. Kept here, since each iteration needs it and asking the context counts
    /// references.
    var hub: UnsafeMutablePointer<GSource>?

    var carried = CarriedContexts()
    /// Contexts that are no longer carried. Released by the next dispatch: the last reference may release sources of
    /// the program, whose notifications are user code.
    var gone: [ServedContext] = []

    /// Becomes readable when the mode's first timer is due; made when there is a timer, -1 before.
    var timerDescriptor: Int32 = -1
    /// What the timer descriptor is armed for. `.min`: it may be readable, and must be armed again before it is
    /// watched.
    var armedFor = Nanoseconds.min
    /// Our own duplicate of the current mode's epoll: its number in the hub's record never changes. -1 before the
    /// first.
    var epollDescriptor: Int32 = -1
    var epollMode: ObjectIdentifier?
    /// No descriptor was left for what the host is to watch. The next dispatch logs it, once.
    var shortage = Shortage.none

    enum Shortage: Equatable {
        case none, toBeSaid, said
        /// A descriptor of the loop's own was closed. The next dispatch logs it, and the hub is silent from then on.
        case loss(errno: Int32)
        case abandoned

        /// Whether the hub is to be dispatched for it.
        var isNews: Bool {
            switch self {
            case .none, .said, .abandoned: false
            case .toBeSaid, .loss: true
            }
        }
    }

    var isAbandoned: Bool { shortage == .abandoned }

    /// The loop's own descriptors were closed by the program: their numbers are forgotten, and not closed again.
    mutating func abandon() {
        shortage = .abandoned
        (timerDescriptor, epollDescriptor) = (-1, -1)
        armedFor = .min
        epollMode = nil
        carried.abandon()
        if let hub { cgrun_hub_abandon(hub) }
    }

    /// The mode's epoll is another one.
    mutating func forgetEpoll(of mode: AnyObject) {
        if epollMode == ObjectIdentifier(mode) { epollMode = nil }
    }

    /// The descriptors to be closed, after the hub is gone.
    mutating func close() -> [Int32] {
        defer {
            (timerDescriptor, epollDescriptor) = (-1, -1)
            armedFor = .min
            epollMode = nil
        }
        return [timerDescriptor, epollDescriptor].filter { $0 >= 0 }
    }
}
