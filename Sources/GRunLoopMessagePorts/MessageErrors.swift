// SPDX-License-Identifier: Apache-2.0
// The errors of message ports, and of the messages that are sent to them.

public import GRunLoop
import Glibc

extension GRunLoop {
    /// The reason why a message port cannot be created, named or found. The failed call has changed nothing.
    ///
    /// The corresponding Core Foundation functions return NULL or false.
    public enum MessagePortError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The name is empty, longer than 128 bytes of UTF-8, or has a NUL.
        case invalidName(String)
        /// A port in this process or in another process already has this name.
        case taken(String)
        /// No port has this name.
        case notFound(String)
        /// `XDG_RUNTIME_DIR` is not set, or is not an absolute path.
        case noRuntimeDirectory
        /// The directory for the names belongs to another user, or other users may enter it.
        case unsafeDirectory(path: String)
        /// The name belongs to another user.
        case notPermitted(String)
        /// This process cannot distinguish its user from other users: see `SECURITY.md`.
        case unknownUsers
        /// The port is invalid.
        case invalidPort
        /// The process, the user or the system has no descriptor, memory or epoll watch left (for example `EMFILE`,
        /// `ENFILE`, `ENOMEM`, `ENOSPC`).
        case limitReached(errno: Int32)
        /// The directory for the names cannot be made, read or written, or there is no `/proc`.
        case system(errno: Int32, path: String)
        /// A sandbox forbids the system call `call`, or the kernel does not implement it (`EPERM`, `EACCES`, `ENOSYS`).
        case forbidden(call: String, errno: Int32)
        /// This process was forked and did not exec().
        case forked

        /// The problem and its remedy, as one sentence. Threads: any.
        public var description: String {
            switch self {
            case .invalidName(let name):
                "\(Self.quoted(name)) cannot be the name of a message port; use 1 to \(PortName.longest) bytes of "
                    + "UTF-8 without a NUL, for example org.example.clock"
            case .taken(let name):
                "a message port already has the name \(Self.quoted(name)); invalidate that port, end its process, or "
                    + "use another name"
            case .notFound(let name):
                "no message port is named \(Self.quoted(name)); start the process of the port, as the same user and "
                    + "with the same XDG_RUNTIME_DIR, and try again"
            case .noRuntimeDirectory:
                "message ports need XDG_RUNTIME_DIR, which is not set to an absolute path; log in through a session "
                    + "manager, or set it to a directory of this user with mode 0700"
            case .unsafeDirectory(let path):
                "\(path) must be a directory of this user with mode 0700, because otherwise other users could read "
                    + "messages; correct it with chown and chmod"
            case .notPermitted(let name):
                "another user's file has the name \(Self.quoted(name)), and message ports connect only processes of "
                    + "one user; remove the file, or use D-Bus"
            case .unknownUsers:
                "this process runs as the overflow user of its user namespace, so the kernel cannot distinguish the "
                    + "user from others; map the user in /proc/self/uid_map"
            case .invalidPort: "the message port is invalid, and cannot get a name; make another port"
            case .limitReached(let errno):
                "no descriptor or memory is left for a message port (\(errorMessage(errno))); close descriptors or "
                    + "raise the limit"
            case .system(let errno, let path) where path.hasPrefix("/proc/"):
                "message ports need \(path), which cannot be used (\(errorMessage(errno))); mount /proc"
            case .system(let errno, let path) where [EPERM, EACCES, ENOSYS].contains(errno):
                "message ports cannot keep their names in \(path) (\(errorMessage(errno))); correct the permissions "
                    + "there, or have the sandbox allow calls such as flock(2) and bind(2)"
            case .system(let errno, let path):
                "message ports cannot keep their names in \(path) (\(errorMessage(errno))); remove the cause, or set "
                    + "XDG_RUNTIME_DIR to a directory of this user with mode 0700"
            case .forbidden(let call, let errno): KernelRefusal.message(call, errno)
            case .forked: "\(Fork.reason). \(Fork.remedy)"
            }
        }

        private static func quoted(_ name: String) -> String {
            let shown = name.utf8.count > 2 * PortName.longest ? String(name.prefix(PortName.longest)) + "..." : name
            return shown.debugDescription
        }

        init(errno: Int32, path: String) {
            self =
                MessageFault.of(errno, in: .name) == .shortage
                ? .limitReached(errno: errno) : .system(errno: errno, path: path)
        }

        /// Makes the error from the errno of a system call that involves no file.
        init(errno: Int32, of call: String) {
            if case .forbidden = KernelRefusal(errno) {
                self = .forbidden(call: call, errno: errno)
            } else {
                self = .limitReached(errno: errno)
            }
        }
    }

    /// The reason why a message was not sent, or has no reply.
    ///
    /// The corresponding Core Foundation values are the results of `CFMessagePortSendRequest`.
    public enum MessageRequestError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The port's queue was full until the send timeout. The message was not sent.
        case sendTimeout
        /// No reply came before the receive timeout. A reply that comes later is dropped.
        case receiveTimeout
        /// The port is invalid, or became invalid before the message was sent. The receiver has not handled the
        /// message.
        case isInvalid
        /// The message was not sent, for one of these reasons:
        ///
        /// - It has more than 1,610,612,736 bytes or more than 16 descriptors (`EMSGSIZE`).
        /// - One of its descriptors is not open (`EBADF`).
        /// - Memory or descriptors were short until the send timeout: in this process (`EMFILE`) or in the system
        ///   (`ENFILE`, `ENOMEM`, `ENOBUFS`, `ENOSPC`, `EDQUOT`).
        /// - Until the send timeout, messages in transit held too many descriptors of the user (`ETOOMANYREFS`).
        /// - The loop cannot run in the reply mode (`EINVAL`), or no descriptor is left for a wait in that mode
        ///   (`EMFILE`).
        /// - A sandbox forbids a system call, or the kernel does not implement it (`EPERM`, `EACCES`, `ENOSYS`).
        case transportError(errno: Int32)
        /// The port became invalid after the message was sent, for example because its process ended.
        ///
        /// The receiver may have handled the message. If a message must not be handled twice, put a number into the
        /// message. The receiver can then recognize a message that you send again.
        case becameInvalid
        /// The receiver released the message without a reply.
        case unanswered
        /// The task, the request or the wait was cancelled.
        case cancelled
        /// The loop's thread has ended.
        case loopEnded

        /// The number of the error: -1 to -5 as in Core Foundation, -6 to -8 for the cases that Core Foundation does
        /// not have. Threads: any.
        public var code: Int32 {
            switch self {
            case .sendTimeout: -1
            case .receiveTimeout: -2
            case .isInvalid: -3
            case .transportError: -4
            case .becameInvalid: -5
            case .unanswered: -6
            case .cancelled: -7
            case .loopEnded: -8
            }
        }

        /// The problem and its remedy, as one sentence. Threads: any.
        public var description: String {
            switch self {
            case .sendTimeout:
                "the message was not sent before the timeout, because the port's queue is full; make the receiver run "
                    + "the port's mode, send less often, or wait longer"
            case .receiveTimeout:
                "no reply came before the timeout; make the receiver run the port's mode, or wait longer"
            case .isInvalid: "the message port is invalid; look it up again"
            case .transportError(EMSGSIZE):
                "a message has at most 1,610,612,736 bytes and 16 descriptors; send several messages, or the "
                    + "descriptor of a file"
            case .transportError(EBADF): "a descriptor of the message is not open; keep it open until the call returns"
            case .transportError(EINVAL): "the loop cannot wait in this mode; pass one mode instead of .common"
            case .transportError(let errno) where MessageFault.isShortage(errno):
                "no descriptor or memory is left for the message (\(errorMessage(errno))); close descriptors, raise "
                    + "the limit, or wait longer"
            case .transportError(let errno) where [EPERM, EACCES, ENOSYS].contains(errno):
                KernelRefusal.message("one of sendmsg(2), memfd_create(2), epoll_create1(2) and epoll_ctl(2)", errno)
            case .transportError(let errno):
                "the message was not sent, because a system call has failed unexpectedly (\(errorMessage(errno))); "
                    + "look up this error"
            case .becameInvalid:
                "the message port has become invalid, because its process has ended or has closed the connection; look "
                    + "the port up again"
            case .unanswered: "the receiver released the message without a reply"
            case .cancelled: "the request was cancelled"
            case .loopEnded: "\(LoopEndedError())"
            }
        }
    }
}
