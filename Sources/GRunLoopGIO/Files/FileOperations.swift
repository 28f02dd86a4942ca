// SPDX-License-Identifier: Apache-2.0
// Reads facts about a file, and creates and deletes files and folders.

import CGRunGIO

extension GIO.File {
    /// Reads facts about the file.
    ///
    /// - Parameters:
    ///   - attributes: the attributes to read, such as `standard::*,owner::user`. Reading
    ///     `standard::content-type` opens the file; `standard::fast-content-type` does not.
    ///   - followsLinks: if true, the facts of a symbolic link describe its target; if false, the link itself.
    /// - Throws: a ``GLibError``, such as ``GIO/ErrorCode/notFound``; the errors of
    ///   ``GIO/call(cancellable:keeping:isolation:_:finish:)``.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_file_query_info_async`.
    nonisolated(nonsending) public func info(
        _ attributes: String = "standard::*,time::*,etag::value,unix::mode", followsLinks: Bool = true
    ) async throws -> GIO.FileInfo {
        let attributes = try withoutNUL(attributes)
        let info = try await GIO.call {
            g_file_query_info_async(pointer, attributes, Self.query(followsLinks), 0, $0, $1, $2)
        } finish: { _, result, error in
            g_file_query_info_finish(pointer, result, error).map { GIO.FileInfo(full: $0, of: self) }
        }
        return try info.orFailure()
    }

    /// Returns whether the file exists. A symbolic link counts as existing only if its target exists.
    ///
    /// - Throws: any error except ``GIO/ErrorCode/notFound`` and ``GIO/ErrorCode/notDirectory``: see
    ///   ``info(_:followsLinks:)``.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_file_query_exists`.
    nonisolated(nonsending) public func exists() async throws -> Bool {
        do {
            // If the target of a symbolic link does not exist, GIO returns facts about the link itself.
            return try await info(G_FILE_ATTRIBUTE_STANDARD_TYPE).type != .symbolicLink
        } catch GIO.ErrorCode.notFound, GIO.ErrorCode.notDirectory {
            return false
        }
    }

    /// Deletes the file, or the folder if it is empty.
    ///
    /// - Throws: a ``GLibError``, such as ``GIO/ErrorCode/notFound`` or ``GIO/ErrorCode/notEmpty``; the errors of
    ///   ``GIO/call(cancellable:keeping:isolation:_:finish:)``.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_file_delete_async`.
    nonisolated(nonsending) public func delete() async throws {
        try await GIO.call {
            g_file_delete_async(pointer, 0, $0, $1, $2)
        } finish: { _, result, error in
            _ = g_file_delete_finish(pointer, result, error)
        }
    }

    /// Moves the file or the folder to the trash.
    ///
    /// - Throws: ``GIO/ErrorCode/notSupported`` if the file system has no trash, as is usual for `/tmp`; other
    ///   ``GLibError``s; the errors of ``GIO/call(cancellable:keeping:isolation:_:finish:)``.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_file_trash_async`.
    nonisolated(nonsending) public func trash() async throws {
        try await GIO.call {
            g_file_trash_async(pointer, 0, $0, $1, $2)
        } finish: { _, result, error in
            _ = g_file_trash_finish(pointer, result, error)
        }
    }

    /// Creates the folder.
    ///
    /// - Parameter withIntermediates: whether missing parent folders are also created. If the task is cancelled, some
    ///   of these folders may remain.
    /// - Throws: a ``GLibError``, such as ``GIO/ErrorCode/exists`` or ``GIO/ErrorCode/notFound``; the errors of
    ///   ``GIO/call(cancellable:keeping:isolation:_:finish:)``.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib functions are `g_file_make_directory_async` and
    /// `g_file_make_directory_with_parents`.
    nonisolated(nonsending) public func makeDirectory(withIntermediates: Bool = false) async throws {
        guard !withIntermediates else {
            return try await GIO.onPool { [self] cancellable, error in
                g_file_make_directory_with_parents(pointer, cancellable, error) != 0 ? () : nil
            }
        }
        try await GIO.call {
            g_file_make_directory_async(pointer, 0, $0, $1, $2)
        } finish: { _, result, error in
            _ = g_file_make_directory_finish(pointer, result, error)
        }
    }

    static func query(_ followsLinks: Bool) -> GFileQueryInfoFlags {
        followsLinks ? GFileQueryInfoFlags(rawValue: 0) : cglib_file_query_nofollow
    }
}

extension Optional {
    /// Returns the value of a C function, or throws the error that the function has stored.
    func orFailure() throws(GLibError) -> Wrapped {
        guard let self else { throw GLibError(.failed, "GIO has returned neither a value nor an error") }
        return self
    }
}
