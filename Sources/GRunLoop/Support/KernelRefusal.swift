// SPDX-License-Identifier: Apache-2.0
// The reason for a failed system call: a shortage, a sandbox or another reason.

import Glibc

/// The reason for the failure of a system call that the library made correctly.
package enum KernelRefusal {
    /// The process or the system has no descriptor, watch or memory left.
    case shortage
    /// A sandbox, such as a seccomp filter, forbids the call, or the kernel does not implement it.
    case forbidden
    case other

    package init(_ error: Int32) {
        switch error {
        case EMFILE, ENFILE, ENOMEM, ENOSPC, ENOBUFS: self = .shortage
        case EPERM, EACCES, ENOSYS: self = .forbidden
        default: self = .other
        }
    }

    /// Returns a message about a forbidden call and the remedy, without a full stop.
    package static func message(_ call: String, _ error: Int32) -> String {
        "the kernel or a sandbox forbids \(call) (\(errorMessage(error))); have the sandbox allow this system call"
    }
}

/// The reason why a descriptor is not watched correctly. The reason is logged after the loop's lock is released.
enum WatchLoss {
    /// The descriptor was closed while it was watched. Its number may belong to another file now.
    case closed
    /// A sandbox forbids `epoll_ctl(2)`, so the kernel still watches for the former conditions.
    case forbidden(errno: Int32)

    init(_ error: GRunLoop.SystemError) {
        self = if case .forbidden(_, let errno) = error { .forbidden(errno: errno) } else { .closed }
    }
}
