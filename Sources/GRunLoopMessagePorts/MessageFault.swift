// SPDX-License-Identifier: Apache-2.0
// The meaning of system call errors for message ports. docs/internals/message-errors.md has the same table.

import GRunLoop
import Glibc

/// The system calls of message ports, grouped by the meaning of their errors.
enum MessageCall: String, CaseIterable {
    case socket, connect, accept, send, receive, memory, map, watch, duplicate, name, credentials, queue
}

/// The class of a system call's error. The class decides how message ports react to the error.
enum MessageFault: String, CaseIterable {
    /// The error is temporary, and an event reports its end: wait for the event.
    case room
    /// The error is temporary, and no event reports its end: try again after a while.
    case shortage
    /// The error is permanent: report it to the caller, and continue with other messages.
    case permanent
    /// The other end has gone, or breaks the rules: end the connection.
    case gone
    /// The error shows a bug in the library. The error is treated as ``permanent``, so that the caller gets the error.
    case defect

    static func of(_ error: Int32, in call: MessageCall) -> MessageFault {
        switch error {
        case EMFILE, ENFILE, ENOMEM, ENOBUFS: .shortage
        case EFAULT: .defect
        case ENOTSOCK where call != .connect: .defect
        default: ofCall(error, call)
        }
    }

    /// Returns whether a message that was not sent because of this error may be sent later.
    static func isShortage(_ error: Int32) -> Bool {
        of(error, in: .send) == .shortage || of(error, in: .memory) == .shortage
    }

    private static func ofCall(_ error: Int32, _ call: MessageCall) -> MessageFault {
        switch (call, error) {
        case (.send, EAGAIN), (.receive, EAGAIN), (.accept, EAGAIN): .room
        // The kernel limits the descriptors of a user that are in messages and not received yet. Descriptors of the
        // user's other processes also count.
        case (.send, ETOOMANYREFS): .shortage
        case (.send, EPIPE), (.send, ECONNRESET), (.send, ENOTCONN), (.send, ECONNREFUSED): .gone
        case (.send, EISCONN), (.send, EOPNOTSUPP), (.send, EDESTADDRREQ): .defect
        case (.receive, EBADF), (.receive, EINVAL): .defect
        case (.receive, _): .gone
        // The queue of the listener is full, and no event reports when this queue has room.
        case (.connect, EAGAIN): .shortage
        case (.connect, ENOENT), (.connect, ECONNREFUSED), (.connect, ENOTSOCK), (.connect, EPROTOTYPE): .gone
        case (.connect, EBADF), (.connect, EINVAL), (.connect, EAFNOSUPPORT), (.connect, EALREADY): .defect
        // cgrun_port_accept() also returns ECONNABORTED for a process of another user.
        case (.accept, ECONNABORTED): .gone
        case (.accept, EBADF), (.accept, EINVAL), (.accept, EOPNOTSUPP): .defect
        case (.memory, ENOSPC), (.memory, EDQUOT): .shortage
        case (.memory, EBADF), (.memory, EINVAL), (.memory, EBUSY): .defect
        // EAGAIN: after mlockall(), mapped memory is locked in RAM, and RLIMIT_MEMLOCK allows no more locked memory.
        case (.map, EAGAIN): .shortage
        // cgrun_memory_map() returns EBADMSG for memory that the sender could change, or that has another size.
        case (.map, EBADMSG): .gone
        // ENOSPC: the user's epolls already watch as many descriptors as max_user_watches allows.
        case (.watch, ENOSPC): .shortage
        case (.watch, EBADF), (.watch, EINVAL), (.watch, EEXIST), (.watch, ENOENT), (.watch, ELOOP): .defect
        case (.credentials, EBADF), (.credentials, ENOPROTOOPT), (.credentials, EINVAL): .defect
        case (.queue, EBADF), (.queue, EINVAL), (.queue, ENOTTY): .defect
        default: .permanent
        }
    }
}
