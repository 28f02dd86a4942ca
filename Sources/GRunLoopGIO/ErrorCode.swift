// SPDX-License-Identifier: Apache-2.0
// The error codes of GIO under Swift names.

public import CGRunGIO

extension GIO {
    /// The codes of GIO's error domain.
    ///
    /// A `catch` can name a code:
    ///
    /// ```swift
    /// do {
    ///     try await file.delete()
    /// } catch GIO.ErrorCode.notFound {
    ///     // There was nothing to delete.
    /// }
    /// ```
    ///
    /// The constants of C, such as `G_IO_ERROR_NOT_FOUND`, also work, but only if they come from the module `CGRunGIO`.
    /// The constants of another module, such as the C module of a GTK binding, have another type. The corresponding
    /// GLib type is `GIOErrorEnum`.
    public struct ErrorCode: RawRepresentable, Hashable, Sendable, GLibErrorCode {
        /// The code of C.
        public let rawValue: Int32

        /// Makes a code that only a newer GLib has, from the code's value in C. Threads: any.
        public init(rawValue: Int32) { self.rawValue = rawValue }

        /// The operation failed for a reason that has no other code.
        public static let failed = ErrorCode(rawValue: 0)
        /// There is no such file, program or name.
        public static let notFound = ErrorCode(rawValue: 1)
        /// The file exists already.
        public static let exists = ErrorCode(rawValue: 2)
        /// The file is a folder.
        public static let isDirectory = ErrorCode(rawValue: 3)
        /// The file is not a folder.
        public static let notDirectory = ErrorCode(rawValue: 4)
        /// The folder is not empty.
        public static let notEmpty = ErrorCode(rawValue: 5)
        /// The file is not a regular file.
        public static let notRegularFile = ErrorCode(rawValue: 6)
        /// The file is not a symbolic link.
        public static let notSymbolicLink = ErrorCode(rawValue: 7)
        /// The file cannot be mounted.
        public static let notMountableFile = ErrorCode(rawValue: 8)
        /// The file name is too long.
        public static let filenameTooLong = ErrorCode(rawValue: 9)
        /// The file name has characters that are not allowed.
        public static let invalidFilename = ErrorCode(rawValue: 10)
        /// The file has too many symbolic links.
        public static let tooManyLinks = ErrorCode(rawValue: 11)
        /// No space is left on the device.
        public static let noSpace = ErrorCode(rawValue: 12)
        /// An argument is invalid.
        public static let invalidArgument = ErrorCode(rawValue: 13)
        /// The permission is denied.
        public static let permissionDenied = ErrorCode(rawValue: 14)
        /// The operation is not supported.
        public static let notSupported = ErrorCode(rawValue: 15)
        /// The file is not mounted.
        public static let notMounted = ErrorCode(rawValue: 16)
        /// The file is mounted already.
        public static let alreadyMounted = ErrorCode(rawValue: 17)
        /// The stream or the object is closed.
        public static let closed = ErrorCode(rawValue: 18)
        /// The operation was cancelled.
        public static let cancelled = ErrorCode(rawValue: 19)
        /// Another operation on the object is pending.
        public static let pending = ErrorCode(rawValue: 20)
        /// The file system is read-only.
        public static let readOnly = ErrorCode(rawValue: 21)
        /// The backup cannot be created.
        public static let cannotCreateBackup = ErrorCode(rawValue: 22)
        /// The entity tag is not the expected tag.
        public static let wrongEtag = ErrorCode(rawValue: 23)
        /// The time limit has passed.
        public static let timedOut = ErrorCode(rawValue: 24)
        /// The operation does not work on a whole folder.
        public static let wouldRecurse = ErrorCode(rawValue: 25)
        /// The file is busy.
        public static let busy = ErrorCode(rawValue: 26)
        /// The operation would block.
        public static let wouldBlock = ErrorCode(rawValue: 27)
        /// The host was not found.
        public static let hostNotFound = ErrorCode(rawValue: 28)
        /// The operation would merge two folders.
        public static let wouldMerge = ErrorCode(rawValue: 29)
        /// The operation failed, and the user knows this already.
        public static let failedHandled = ErrorCode(rawValue: 30)
        /// No descriptor is left.
        public static let tooManyOpenFiles = ErrorCode(rawValue: 31)
        /// The object is not initialized.
        public static let notInitialized = ErrorCode(rawValue: 32)
        /// The address is in use.
        public static let addressInUse = ErrorCode(rawValue: 33)
        /// More input is needed.
        public static let partialInput = ErrorCode(rawValue: 34)
        /// The input is invalid.
        public static let invalidData = ErrorCode(rawValue: 35)
        /// A peer on D-Bus has returned an error that is not known here.
        public static let dbusError = ErrorCode(rawValue: 36)
        /// The host cannot be reached.
        public static let hostUnreachable = ErrorCode(rawValue: 37)
        /// The network cannot be reached.
        public static let networkUnreachable = ErrorCode(rawValue: 38)
        /// The connection was refused.
        public static let connectionRefused = ErrorCode(rawValue: 39)
        /// The connection to the proxy failed.
        public static let proxyFailed = ErrorCode(rawValue: 40)
        /// The proxy refused the credentials.
        public static let proxyAuthFailed = ErrorCode(rawValue: 41)
        /// The proxy needs credentials.
        public static let proxyNeedsAuth = ErrorCode(rawValue: 42)
        /// The proxy does not allow the connection.
        public static let proxyNotAllowed = ErrorCode(rawValue: 43)
        /// The other side has closed the connection, or has closed a pipe.
        public static let connectionClosed = ErrorCode(rawValue: 44)
        /// The other side has closed the pipe: the same code as ``connectionClosed``.
        public static let brokenPipe = connectionClosed
        /// The socket is not connected.
        public static let notConnected = ErrorCode(rawValue: 45)
        /// The message is too large.
        public static let messageTooLarge = ErrorCode(rawValue: 46)
        /// There is no such device.
        public static let noSuchDevice = ErrorCode(rawValue: 47)
        /// The socket has no destination.
        public static let destinationUnset = ErrorCode(rawValue: 48)

        /// The domain of GIO's errors. Threads: any. The corresponding GLib function is `g_io_error_quark`.
        public static var errorDomain: GQuark { g_io_error_quark() }
    }
}
