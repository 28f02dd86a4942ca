// SPDX-License-Identifier: Apache-2.0
// Copies and moves a file, with progress.

import CGRunGIO

extension GIO.File {
    /// Copies the file. The destination appears, or is replaced, when the copy is complete. Until then, the copy is in
    /// the same folder, under a name that begins with `.grun-`. For a folder, the function throws
    /// ``GIO/ErrorCode/wouldRecurse``.
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
    ///   ``GIO/call(cancellable:keeping:isolation:_:finish:)``. After an error or a cancellation, the destination is
    ///   unchanged.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_file_copy_async`. This function calls
    /// `g_file_copy` on GIO's thread pool.
    nonisolated(nonsending) public func copy(
        to destination: GIO.File, options: CopyOptions = [], progress: ((CopyProgress) -> Void)? = nil
    ) async throws {
        try await GIO.onPool(progress) { [self] cancellable, report, data, error in
            copyThroughPart(to: destination, options, cancellable, error) {
                g_file_copy(pointer, $0, $1.flags, cancellable, report, data, error) != 0
            } ? () : nil
        }
    }

    /// Moves or renames the file or the folder. If the destination is on another file system, GIO copies a file and
    /// deletes the original. It does not copy a folder; in that case, the function throws
    /// ``GIO/ErrorCode/wouldRecurse``.
    ///
    /// - Parameters:
    ///   - destination: the new file itself, not the folder for it.
    ///   - options: how GIO moves.
    ///   - progress: called in the caller's isolation, if GIO copies the file: see ``copy(to:options:progress:)``.
    /// - Throws: a ``GLibError``, such as ``GIO/ErrorCode/exists``; the errors of
    ///   ``GIO/call(cancellable:keeping:isolation:_:finish:)``. After an error or a cancellation, both files are
    ///   unchanged, with one exception. If GIO has copied the file but cannot delete the original, both files exist.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_file_move_async`. This function calls
    /// `g_file_move` on GIO's thread pool, because GLib before 2.72 has no asynchronous function for moves.
    nonisolated(nonsending) public func move(
        to destination: GIO.File, options: CopyOptions = [], progress: ((CopyProgress) -> Void)? = nil
    ) async throws {
        try await GIO.onPool(progress) { [self] cancellable, report, data, error in
            let renaming = options.union(.renamesOnly)
            if g_file_move(pointer, destination.pointer, renaming.flags, cancellable, nil, nil, error) != 0 {
                return ()
            }
            guard !options.contains(.renamesOnly), GIO.has(error, .notSupported) else { return nil }
            g_clear_error(error)
            let copying = options.union([.copiesLinks, .copiesAllMetadata])
            let isCopied = copyThroughPart(to: destination, copying, cancellable, error) {
                g_file_copy(pointer, $0, $1.flags, cancellable, report, data, error) != 0
            }
            return isCopied && g_file_delete(pointer, nil, error) != 0 ? () : nil
        }
    }

    /// Options for copying and moving a file. The corresponding GLib type is `GFileCopyFlags`.
    public struct CopyOptions: OptionSet, Sendable {
        /// The flags of C.
        public let rawValue: UInt32

        /// Takes the flags of C.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// An existing destination is replaced.
        public static let overwrites = CopyOptions(rawValue: cglib_file_copy_overwrite.rawValue)
        /// A destination that is replaced is kept in a file whose name has a `~` at its end.
        public static let makesBackup = CopyOptions(rawValue: cglib_file_copy_backup.rawValue)
        /// A symbolic link is copied as a link; its target is not copied.
        public static let copiesLinks = CopyOptions(rawValue: cglib_file_copy_nofollow.rawValue)
        /// All attributes of the file are copied, not only the usual attributes.
        public static let copiesAllMetadata = CopyOptions(rawValue: cglib_file_copy_all_metadata.rawValue)
        /// The file is moved only if it need not be copied; otherwise ``GIO/ErrorCode/notSupported`` is thrown.
        public static let renamesOnly = CopyOptions(rawValue: cglib_file_copy_no_fallback_for_move.rawValue)
        /// The new file gets the default permissions of new files, and not the permissions of the original.
        public static let usesDefaultPermissions = CopyOptions(rawValue: cglib_file_copy_default_permissions.rawValue)

        var flags: GFileCopyFlags { GFileCopyFlags(rawValue: rawValue) }
    }

    /// The progress of a copy. The corresponding GLib type is `GFileProgressCallback`.
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

/// Copies to a new file beside the destination, and then renames the new file.
///
/// GIO alone would leave an incomplete new file after an error. After a write error, GIO would even replace an existing
/// file by an incomplete file. GIO may also report a cancellation after it has replaced the file.
private func copyThroughPart(
    to file: GIO.File, _ options: GIO.File.CopyOptions, _ cancellable: UnsafeMutablePointer<GCancellable>?,
    _ error: GIO.ErrorPlace, _ copy: (OpaquePointer, GIO.File.CopyOptions) -> Bool
) -> Bool {
    // If the file exists and must not be replaced, GIO itself reports the error.
    let isRefused = !options.contains(.overwrites) && g_file_query_exists(file.pointer, nil) != 0
    guard !isRefused, let folder = file.parent, let id = takeText(g_uuid_string_random()),
        let part = GRef(full: g_file_get_child(folder.pointer, ".grun-\(id)"))
    else { return copy(file.pointer, options) }
    let isDone =
        copy(part.pointer, options.subtracting([.overwrites, .makesBackup]))
        && g_cancellable_set_error_if_cancelled(cancellable, error) == 0
        && g_file_move(part.pointer, file.pointer, options.union(.renamesOnly).flags, nil, nil, nil, error) != 0
    if !isDone { g_file_delete(part.pointer, nil, nil) }
    return isDone
}
