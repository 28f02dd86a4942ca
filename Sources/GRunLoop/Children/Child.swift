// SPDX-License-Identifier: Apache-2.0
// A child of this process, by a descriptor that is readable when it has ended.

import CGRun
import Glibc

/// Threads: any.
final class Child: Sendable {
    let pid: Int32
    let descriptor: Int32

    /// - Throws: where it can be told already that its status will never be known. Else the wait would have no end, or
    ///   only when a stranger ends.
    init(_ pid: Int32) throws(GRunLoop.ChildError) {
        // Zero and less mean groups elsewhere.
        guard pid > 0 else { throw .notAChild(pid) }
        let descriptor = cgrun_child_open(pid)
        guard descriptor >= 0 else { throw Self.error(errno, of: pid) }
        self.pid = pid
        self.descriptor = descriptor
        // A descriptor can be had of any process: the kernel says whose child it is when one waits.
        switch look(reaping: false) {
        case .success: break
        case .failure(.statusLost) where !cgrun_children_are_discarded() || !cgrun_is_readable(descriptor):
            throw .notAChild(pid)
        case .failure(let error): throw error
        case nil: if cgrun_children_are_discarded() { throw .statusLost(pid) }
        }
    }

    deinit {
        cgrun_close(descriptor)
    }

    /// Whether there is anything to reap, or never will be.
    var hasEnded: Bool { look(reaping: false) != nil }

    /// How it has ended, of which the kernel knows nothing any more after this; nil if it has not.
    func reap() -> Result<GRunLoop.ExitStatus, GRunLoop.ChildError>? { look(reaping: true) }

    private func look(reaping: Bool) -> Result<GRunLoop.ExitStatus, GRunLoop.ChildError>? {
        var status: Int32 = 0
        return switch cgrun_child_wait(descriptor, reaping, &status) {
        case 0: nil
        case 1: .success(GRunLoop.ExitStatus(waitStatus: status))
        // Linux 5.3 has the descriptors, and cannot wait for them (EINVAL).
        default: .failure(errno == ECHILD ? .statusLost(pid) : .unsupported(errno: errno))
        }
    }

    private static func error(_ errno: Int32, of pid: Int32) -> GRunLoop.ChildError {
        switch errno {
        case EMFILE, ENFILE, ENOSPC, ENOMEM: .limitReached(errno: errno)
        // ESRCH: nobody has the number. The others: a thread that is no process.
        case ESRCH, EINVAL, ENOENT: cgrun_children_are_discarded() ? .statusLost(pid) : .notAChild(pid)
        default: .unsupported(errno: errno)
        }
    }
}
