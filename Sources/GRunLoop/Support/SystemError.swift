// SPDX-License-Identifier: Apache-2.0
// The errors of calls that need resources or permissions from the operating system.

import Glibc

extension GRunLoop {
    /// The reason why the operating system refused a resource or a call that an item, a thread or a recording needs. A
    /// call that throws this error has changed nothing, and the loop stays usable.
    ///
    /// There is no corresponding Core Foundation type.
    public enum SystemError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The descriptor is negative or not open.
        case notOpen(descriptor: Int32)
        /// The kernel cannot wait for the descriptor, because its file is always ready: a regular file, a directory or
        /// a device such as `/dev/null`.
        case notPollable(descriptor: Int32)
        /// A run loop cannot listen to this signal, or there is no signal with this number. ``description`` names the
        /// remedy.
        case signalRefused(Int32)
        /// Other code in this process handles the signal, and a source would replace that code's handler.
        case signalHandled(Int32)
        /// The process is not a child of this process, or was already reaped.
        case notAChild(Int32)
        /// The exit status of the child is lost: SIGCHLD is ignored in this process, SA_NOCLDWAIT is set, or other code
        /// in the process has reaped the child.
        case statusLost(Int32)
        /// The process or the system has no descriptor, watch, thread or memory left (`EMFILE`, `ENFILE`, `ENOSPC`,
        /// `ENOMEM`, `ENOBUFS`; `EAGAIN` for threads). A later call may succeed.
        case limitReached(errno: Int32)
        /// A sandbox forbids the system call `call`, or the kernel does not implement it (`EPERM`, `EACCES`, `ENOSYS`).
        case forbidden(call: String, errno: Int32)
        /// The system call `call` failed for another reason; `path` is the file of the call, if there is one.
        case failed(call: String, errno: Int32, path: String? = nil)
        /// The process lacks something that the call needs. The text names the remedy.
        case unsupported(String)
        /// This process was forked and did not exec().
        case forked

        /// A text that names the problem and its remedy. Threads: any.
        public var description: String {
            switch self {
            case .notOpen(let descriptor):
                "descriptor \(descriptor) is not open; add a source while its descriptor is open, and remove the "
                    + "source before the descriptor is closed"
            case .notPollable(let descriptor):
                "a run loop cannot watch descriptor \(descriptor), because it is always ready, as files, directories "
                    + "and /dev/null are; read it directly, or in the closure of a version-0 source"
            case .signalRefused(let signal): SignalRefusal.refused(signal)
            case .signalHandled(let signal): SignalRefusal.handled(signal)
            case .notAChild(let pid):
                "process \(pid) is not a child of this process, or was already reaped; wait for each child once, "
                    + "before other code does"
            case .statusLost(let pid):
                "the status of child \(pid) is lost, because SIGCHLD is ignored, SA_NOCLDWAIT is set, or other code "
                    + "has reaped the child; set SIGCHLD to SIG_DFL, and reap each child in one place"
            case .limitReached(EAGAIN):
                "no thread can be started (\(errorMessage(EAGAIN))); raise the limit of threads, or free memory"
            case .limitReached(let errno):
                "no descriptor, thread or memory is left (\(errorMessage(errno))); close descriptors or raise the "
                    + "limit, and try again"
            case .forbidden(let call, let errno) where ["pidfd_open(2)", "waitid(2)"].contains(call):
                KernelRefusal.message(call, errno) + ", which Linux 5.4 or later has, or use g_child_watch_add()"
            case .forbidden(let call, let errno): KernelRefusal.message(call, errno)
            case .failed(let call, let errno, nil): "\(call) has failed (\(errorMessage(errno)))"
            case .failed(_, let errno, let path?):
                "\(quoted(path)) cannot be written (\(errorMessage(errno))); choose a file in a writable folder with "
                    + "free space"
            case .unsupported(let reason): reason
            case .forked: "\(Fork.reason). \(Fork.remedy)"
            }
        }

        /// Makes the error for an error number of `epoll_ctl(2)`. The caller has ruled out a sandbox, so `EPERM` means
        /// that the file cannot be polled.
        init(errno: Int32, descriptor: Int32) {
            self =
                switch errno {
                case EBADF: .notOpen(descriptor: descriptor)
                case EPERM: .notPollable(descriptor: descriptor)
                default: .init(errno: errno, of: "epoll_ctl(2)")
                }
        }

        /// Makes the error for a system call whose error number is not about a descriptor.
        package init(errno: Int32, of call: String) {
            self =
                switch KernelRefusal(errno) {
                case .shortage: .limitReached(errno: errno)
                case .forbidden: .forbidden(call: call, errno: errno)
                case .other: .failed(call: call, errno: errno)
                }
        }

        /// Makes the error for an error number of `pthread_create(3)`.
        package init(creatingThread errno: Int32) {
            self = errno == EAGAIN ? .limitReached(errno: errno) : .init(errno: errno, of: "pthread_create(3)")
        }
    }
}
