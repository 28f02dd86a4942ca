// SPDX-License-Identifier: Apache-2.0
// A child of this process, and a descriptor (pidfd) that becomes readable when the child has ended.

import CGRun
import Glibc

/// A child process and its descriptor, which is closed when this object is released. Threads: any.
final class Child: Sendable {
    let pid: Int32
    let descriptor: Int32

    /// - Throws: an error if the exit status can certainly never be read. Without this error, the source could wait
    ///   forever, or report the end of a process that is not a child.
    init(_ pid: Int32) throws(GRunLoop.SystemError) {
        // Process ids are positive. In other calls, such as waitpid(2), zero and negative numbers mean process groups.
        guard pid > 0 else { throw .notAChild(pid) }
        let descriptor = cgrun_child_open(pid)
        guard descriptor >= 0 else { throw Self.error(errno, of: pid) }
        self.pid = pid
        self.descriptor = descriptor
        // pidfd_open(2) opens any process. Only a wait reveals whether the opened process is a child of this process.
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

    /// True if the child has ended, or if its status can never be read. Reading this property does not reap the child.
    var hasEnded: Bool { look(reaping: false) != nil }

    /// Reaps the child. Returns its status, or the reason why the status is unknown; nil while the child runs or a
    /// debugger holds it. After the child is reaped, the kernel has no record of it.
    func reap() -> Result<GRunLoop.ExitStatus, GRunLoop.SystemError>? { look(reaping: true) }

    private func look(reaping: Bool) -> Result<GRunLoop.ExitStatus, GRunLoop.SystemError>? {
        var status: Int32 = 0
        return switch cgrun_child_wait(descriptor, reaping, &status) {
        case 0: nil
        case 1: .success(GRunLoop.ExitStatus(waitStatus: status))
        // Linux 5.3 can open a pidfd, but cannot wait for it (EINVAL).
        default: .failure(errno == ECHILD ? .statusLost(pid) : .forbidden(call: "waitid(2)", errno: errno))
        }
    }

    private static func error(_ errno: Int32, of pid: Int32) -> GRunLoop.SystemError {
        switch errno {
        // ESRCH: no process has the number. EINVAL and ENOENT: the number belongs to a thread, not to a process.
        case ESRCH, EINVAL, ENOENT: cgrun_children_are_discarded() ? .statusLost(pid) : .notAChild(pid)
        default: .init(errno: errno, of: "pidfd_open(2)")
        }
    }
}
