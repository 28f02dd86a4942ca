// SPDX-License-Identifier: Apache-2.0
// Copies and moves a file, with progress.

import CGRunGIO

extension GIO.File {
    /// Copies the file. A folder is not copied: the function then throws ``GIO/ErrorCode/wouldRecurse``.
    ///
    /// ```swift
    /// try await video.copy(to: backup, options: .overwrites) { progress in
    ///     bar.fraction = progress.fraction ?? 0
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - destination: the new file itself, not the folder for it.
    ///   - options: how GIO copies.
    ///   - progress: called in the caller's isolation. Reports that come while the caller's loop is busy become one
    ///     report. The last report comes before the function returns.
    /// - Throws: a ``GLibError``, such as ``GIO/ErrorCode/exists``; the errors of
    ///   ``GIO/call(cancellable:keeping:isolation:_:finish:)``. After an error or a cancellation, an existing file is
    ///   as it was, and the incomplete part of a new file is deleted.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_file_copy_async`. This function calls
    /// `g_file_copy` on GIO's thread pool.
    nonisolated(nonsending) public func copy(
        to destination: GIO.File, options: CopyOptions = [], progress: ((CopyProgress) -> Void)? = nil
    ) async throws {
        try await GIO.onPool(progress) { [self] cancellable, report, data, error in
            removingPart(of: destination, error) {
                g_file_copy(pointer, destination.pointer, options.flags, cancellable, report, data, error)
            }
        }
    }

    /// Moves or renames the file or the folder. If the destination is on another file system, GIO copies a file and
    /// deletes the original. A folder is not copied: the function then throws ``GIO/ErrorCode/wouldRecurse``.
    ///
    /// - Parameters:
    ///   - destination: the new file itself, not the folder for it.
    ///   - options: how GIO moves.
    ///   - progress: called in the caller's isolation, if GIO copies the file: see ``copy(to:options:progress:)``.
    /// - Throws: a ``GLibError``, such as ``GIO/ErrorCode/exists``; the errors of
    ///   ``GIO/call(cancellable:keeping:isolation:_:finish:)``. After an error or a cancellation, the original is as it
    ///   was, and so is an existing file at the destination.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_file_move_async`. This function calls
    /// `g_file_move` on GIO's thread pool, because GLib before 2.72 has no asynchronous one.
    nonisolated(nonsending) public func move(
        to destination: GIO.File, options: CopyOptions = [], progress: ((CopyProgress) -> Void)? = nil
    ) async throws {
        try await GIO.onPool(progress) { [self] cancellable, report, data, error in
            removingPart(of: destination, error) {
                g_file_move(pointer, destination.pointer, options.flags, cancellable, report, data, error)
            }
        }
    }

    /// How GIO copies and moves a file. The corresponding GLib type is `GFileCopyFlags`.
    public struct CopyOptions: OptionSet, Sendable {
        /// The flags of C.
        public let rawValue: UInt32

        /// Takes the flags of C.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// An existing destination is replaced.
        public static let overwrites = CopyOptions(rawValue: cglib_file_copy_overwrite.rawValue)
        /// A destination that is replaced is kept in a file whose name has a `~` at its end.
        public static let makesBackup = CopyOptions(rawValue: cglib_file_copy_backup.rawValue)
        /// A symbolic link itself is copied, not its target.
        public static let copiesLinks = CopyOptions(rawValue: cglib_file_copy_nofollow.rawValue)
        /// All attributes of the file are copied, not only the usual ones.
        public static let copiesAllMetadata = CopyOptions(rawValue: cglib_file_copy_all_metadata.rawValue)
        /// The file is moved only if it need not be copied; otherwise ``GIO/ErrorCode/notSupported`` is thrown.
        public static let renamesOnly = CopyOptions(rawValue: cglib_file_copy_no_fallback_for_move.rawValue)
        /// The new file has the permissions of any new file, not those of the original.
        public static let usesDefaultPermissions = CopyOptions(rawValue: cglib_file_copy_default_permissions.rawValue)

        var flags: GFileCopyFlags { GFileCopyFlags(rawValue: rawValue) }
    }

    /// How much of a file is copied. The corresponding GLib type is `GFileProgressCallback`.
    public struct CopyProgress: Hashable, Sendable {
        /// The number of bytes that are copied.
        public let completed: Int64
        /// The number of bytes of the file; zero if the number is not known, or if the file is empty.
        public let total: Int64

        /// Creates a report.
        public init(completed: Int64, total: Int64) {
            (self.completed, self.total) = (completed, total)
        }

        /// The part that is copied, from 0 to 1; nil if ``total`` is not positive.
        public var fraction: Double? { total > 0 ? min(1, Double(completed) / Double(total)) : nil }
    }
}

/// Calls a function that creates a file. If the function fails, deletes the incomplete part of a new file. GIO itself
/// only keeps an existing file as it was.
private func removingPart(of file: GIO.File, _ error: GIO.ErrorPlace, _ body: () -> gboolean) -> Void? {
    let isNew = g_file_query_exists(file.pointer, nil) == 0
    if body() != 0 { return () }
    // Another program may have created the file after the query. Then the function has not begun to write.
    if isNew, g_error_matches(error.pointee, g_io_error_quark(), gint(G_IO_ERROR_EXISTS.rawValue)) == 0 {
        g_file_delete(file.pointer, nil, nil)
    }
    return nil
}
