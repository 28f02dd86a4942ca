// SPDX-License-Identifier: Apache-2.0
// The errors of descriptors and of ended loops, which are thrown, and the reports of misuse, which are logged or end
// the process.

import CGRun
import Glibc

extension GRunLoop {
    /// Why a descriptor cannot be watched. The loop stays usable.
    ///
    /// Core Foundation has no such error.
    public enum DescriptorError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The number is negative, or no open descriptor has it.
        case invalid(descriptor: Int32)
        /// The kernel cannot wait for the descriptor, because it is always ready: it is a regular file, a directory or
        /// a device such as `/dev/null`.
        case notPollable(descriptor: Int32)
        /// The process or the system has no descriptor, watch or memory left (`EMFILE`, `ENFILE`, `ENOSPC`, `ENOMEM`,
        /// `ENOBUFS`).
        case limitReached(errno: Int32)
        /// A sandbox forbids the system call `call`, or the kernel does not have it (`EPERM`, `EACCES`, `ENOSYS`).
        case forbidden(call: String, errno: Int32)
        /// Any other error of the kernel.
        case system(errno: Int32)

        /// What is wrong and what to do, as one sentence.
        public var description: String {
            switch self {
            case .invalid(let descriptor):
                "descriptor \(descriptor) is not open; add a source while its descriptor is open, and remove the "
                    + "source before closing it"
            case .notPollable(let descriptor):
                "descriptor \(descriptor) cannot be waited for: it is a regular file, a directory or a device as "
                    + "/dev/null, always ready; read it directly or from a version-0 source"
            case .limitReached(let errno):
                "no descriptor is left for the run loop to wait with (\(Self.message(errno))); close some or "
                    + "raise the limit, and add the source again"
            case .forbidden(let call, let errno): KernelRefusal.message(call, errno)
            case .system(let errno):
                "the kernel refused to watch the descriptor (\(Self.message(errno)))"
            }
        }

        /// Makes the error for an error number of `epoll_ctl(2)`. The kernel itself returns `EPERM` for a file that
        /// cannot be polled.
        init(errno: Int32, descriptor: Int32) {
            self =
                switch errno {
                case EBADF: .invalid(descriptor: descriptor)
                case EPERM: .notPollable(descriptor: descriptor)
                default: .init(errno: errno, of: "epoll_ctl(2)")
                }
        }

        /// Makes the error for a call whose error number says nothing about a descriptor.
        init(errno: Int32, of call: String) {
            self =
                switch KernelRefusal(errno) {
                case .shortage: .limitReached(errno: errno)
                case .forbidden: .forbidden(call: call, errno: errno)
                case .other: .system(errno: errno)
                }
        }

        private static func message(_ errno: Int32) -> String {
            String(cString: strerror(errno))
        }
    }

    /// The loop's thread has ended, so what was asked of the loop can never happen.
    public struct LoopEndedError: Error, Hashable, Sendable, CustomStringConvertible {
        /// Makes the error, for code that ends an operation in a handler of ``GRunLoop/addEndHandler(_:)``.
        public init() {}

        /// The meaning of the error, as one sentence.
        public var description: String { "the run loop's thread has ended; nothing can be performed on it any more" }
    }
}

/// Reports misuse of the library to GLib's log, domain "GRunLoop". A GTK program sees the messages where it sees GTK's
/// messages, and can make them fatal with `G_DEBUG=fatal-criticals`.
package enum Log {
    /// Logs a wrong call, which did nothing. The message names the function that the program called, in Swift or in C.
    package static func misuse(_ call: String, _ problem: String) {
        let caller = cgrun_get_caller().map { functionName(String(cString: $0)) }
        critical("\(caller ?? "GRunLoop.\(call)"): \(problem)")
    }

    /// Logs that something is wrong, but not a call.
    static func critical(_ message: String) {
        cgrun_log_critical(message)
    }

    /// Prints the message to standard error and ends the process, in every build: a release build drops the text of a
    /// `precondition`. Calls no log handler, so that a lock may be held.
    package static func fatal(_ message: String) -> Never { cgrun_end_process("GRunLoop: \(message)") }

    /// Ends the process because of a wrong call that cannot be ignored. `call` names the function.
    package static func fatal(_ call: String, _ problem: String) -> Never {
        cgrun_end_process("GRunLoop.\(call): \(problem)")
    }

    /// Logs a warning, for example that a call could do only a part of its work.
    package static func warning(_ message: String) {
        cgrun_log_warning(message)
    }

    /// Returns a function's name without its argument labels.
    static func functionName(_ signature: String) -> String {
        String(signature.prefix { $0 != "(" })
    }
}
