// SPDX-License-Identifier: Apache-2.0
// Why the system refuses what an item, a thread or a recording needs.

import Glibc

extension GRunLoop {
    /// Why the system refuses what an item, a thread or a recording needs. A call that throws this error has changed
    /// nothing, and the loop stays usable.
    ///
    /// Core Foundation has no such error.
    public enum SystemError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The number is negative, or no open descriptor has it.
        case notOpen(descriptor: Int32)
        /// The kernel cannot wait for the descriptor, because it is always ready: it is a regular file, a directory or
        /// a device such as `/dev/null`.
        case notPollable(descriptor: Int32)
        /// A run loop cannot listen to this signal, or no signal has this number; ``description`` says what to do
        /// instead.
        case signalRefused(Int32)
        /// Code in this process has a handler for the signal, and that handler would not be called any more.
        case signalHandled(Int32)
        /// No child of this process has the number: the process is not a child, or was reaped already.
        case notAChild(Int32)
        /// The kernel does not keep the status of the child, or has not kept it: SIGCHLD is ignored in this process,
        /// SA_NOCLDWAIT is set, or other code in the process has reaped the child.
        case statusLost(Int32)
        /// The process or the system has no descriptor, watch, thread or memory left (`EMFILE`, `ENFILE`, `ENOSPC`,
        /// `ENOMEM`, `ENOBUFS`; `EAGAIN` for threads). A later call may succeed.
        case limitReached(errno: Int32)
        /// A sandbox forbids the system call `call`, or the kernel does not have it (`EPERM`, `EACCES`, `ENOSYS`).
        case forbidden(call: String, errno: Int32)
        /// The system call `call` has failed for another reason; `path` is the file that the call was about.
        case failed(call: String, errno: Int32, path: String? = nil)
        /// The process lacks what the call needs; the text says what to do.
        case unsupported(String)
        /// This process was forked and did not exec().
        case forked

        /// The problem and its remedy. Threads: any.
        public var description: String {
            switch self {
            case .notOpen(let descriptor):
                "descriptor \(descriptor) is not open; add a source while its descriptor is open, and remove the "
                    + "source before closing it"
            case .notPollable(let descriptor):
                "descriptor \(descriptor) cannot be waited for: it is a regular file, a directory or a device such as "
                    + "/dev/null, which is always ready; read it directly or from a version-0 source"
            case .signalRefused(let signal): SignalRefusal.refused(signal)
            case .signalHandled(let signal): SignalRefusal.handled(signal)
            case .notAChild(let pid):
                "process \(pid) is no child of this process, or was reaped already; wait for each child once, before "
                    + "anybody else reaps it"
            case .statusLost(let pid):
                "how child \(pid) ends is lost: SIGCHLD is ignored in this process, SA_NOCLDWAIT is set, or somebody "
                    + "else has reaped the child; let SIGCHLD be SIG_DFL, and let each child have one owner"
            case .limitReached(EAGAIN):
                "no thread can be started (\(errorMessage(EAGAIN))); raise the limit of threads, or free memory"
            case .limitReached(let errno):
                "no descriptor, thread or memory is left (\(errorMessage(errno))); close descriptors or raise the "
                    + "limit, and try again"
            case .forbidden(let call, let errno) where ["pidfd_open(2)", "waitid(2)"].contains(call):
                KernelRefusal.message(call, errno) + ", which needs Linux 5.4; otherwise use g_child_watch_add()"
            case .forbidden(let call, let errno): KernelRefusal.message(call, errno)
            case .failed(let call, let errno, nil): "\(call) has failed (\(errorMessage(errno)))"
            case .failed(_, let errno, let path?):
                "\(quoted(path)) cannot be written to (\(errorMessage(errno))); give it a name in a folder that can be "
                    + "written to and has room"
            case .unsupported(let reason): reason
            case .forked: "\(Fork.reason). \(Fork.remedy)"
            }
        }

        /// Makes the error for an error number of `epoll_ctl(2)`. The kernel itself returns `EPERM` for a file that
        /// cannot be polled.
        init(errno: Int32, descriptor: Int32) {
            self =
                switch errno {
                case EBADF: .notOpen(descriptor: descriptor)
                case EPERM: .notPollable(descriptor: descriptor)
                default: .init(errno: errno, of: "epoll_ctl(2)")
                }
        }

        /// Makes the error for a call whose error number says nothing about a descriptor.
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
