// SPDX-License-Identifier: Apache-2.0
// The file descriptors of a message.

import CGRunGIO

extension DBus {
    /// The file descriptors of a message. The arguments name each descriptor by a ``Handle``.
    ///
    /// Releasing the list closes the descriptors that it owns.
    ///
    /// Threads: any, but add descriptors before another thread uses the list. The corresponding GLib type is
    /// `GUnixFDList`.
    public final class Descriptors: Sendable {
        nonisolated(unsafe) let list: UnsafeMutablePointer<GUnixFDList>

        /// Creates an empty list. Threads: any.
        public init() { list = g_unix_fd_list_new() }

        init?(full list: UnsafeMutablePointer<GUnixFDList>?) {
            guard let list else { return nil }
            self.list = list
        }

        deinit { g_object_unref(list) }

        /// The number of descriptors. Threads: any. The corresponding GLib function is `g_unix_fd_list_get_length`.
        public var count: Int { Int(g_unix_fd_list_get_length(list)) }

        /// Adds a copy of a descriptor. The caller still owns the original, and may close it.
        ///
        /// - Returns: the handle for the arguments of the message.
        /// - Throws: a ``GLibError`` if the descriptor cannot be duplicated.
        ///
        /// Threads: any. The corresponding GLib function is `g_unix_fd_list_append`.
        public func append(_ descriptor: Int32) throws(GLibError) -> Handle {
            Handle(index: try GLibError.check { g_unix_fd_list_append(list, descriptor, $0) })
        }

        /// Returns a copy of the descriptor of a handle. The caller closes the copy. It is closed on exec.
        ///
        /// - Throws: a ``GLibError``: ``GIO/ErrorCode/invalidArgument`` if the message has no such descriptor; another
        ///   error if the descriptor cannot be duplicated.
        ///
        /// Threads: any. The corresponding GLib function is `g_unix_fd_list_get`.
        public func duplicate(_ handle: Handle) throws(GLibError) -> Int32 {
            guard handle.index >= 0, handle.index < count else {
                throw GLibError(.invalidArgument, "The message has no file descriptor \(handle.index)")
            }
            return try GLibError.check { g_unix_fd_list_get(list, handle.index, $0) }
        }
    }
}
