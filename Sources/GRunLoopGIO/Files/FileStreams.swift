// SPDX-License-Identifier: Apache-2.0
// Opens a file as a stream.

import CGRunGIO

extension GIO.File {
    /// Opens the file for reading.
    ///
    /// - Throws: a ``GLibError``, such as ``GIO/ErrorCode/notFound`` or ``GIO/ErrorCode/isDirectory``; the errors of
    ///   ``GIO/call(cancellable:keeping:isolation:_:finish:)``.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_file_read_async`.
    nonisolated(nonsending) public func read() async throws -> GIO.InputStream {
        let stream = try await GIO.call {
            g_file_read_async(pointer, 0, $0, $1, $2)
        } finish: { _, result, error in
            g_file_read_finish(pointer, result, error).map { GIO.InputStream(full: cast($0)) }
        }
        return try stream.orFailure()
    }

    /// Creates the file, and opens it for writing.
    ///
    /// - Throws: ``GIO/ErrorCode/exists`` if the file exists already; other ``GLibError``s; the errors of
    ///   ``GIO/call(cancellable:keeping:isolation:_:finish:)``.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_file_create_async`.
    nonisolated(nonsending) public func create(options: CreateOptions = []) async throws -> GIO.OutputStream {
        let stream = try await GIO.call {
            g_file_create_async(pointer, options.flags, 0, $0, $1, $2)
        } finish: { _, result, error in
            g_file_create_finish(pointer, result, error).map { GIO.OutputStream(full: cast($0)) }
        }
        return try stream.orFailure()
    }

    /// Opens the file for writing at its end. If the file does not exist, creates it.
    ///
    /// - Throws: a ``GLibError``, such as ``GIO/ErrorCode/permissionDenied``; the errors of
    ///   ``GIO/call(cancellable:keeping:isolation:_:finish:)``.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_file_append_to_async`.
    nonisolated(nonsending) public func append(options: CreateOptions = []) async throws -> GIO.OutputStream {
        let stream = try await GIO.call {
            g_file_append_to_async(pointer, options.flags, 0, $0, $1, $2)
        } finish: { _, result, error in
            g_file_append_to_finish(pointer, result, error).map { GIO.OutputStream(full: cast($0)) }
        }
        return try stream.orFailure()
    }

    /// Opens a stream for the new content of the file. ``GIO/OutputStream/close()`` replaces the old content by the new
    /// content.
    ///
    /// If the stream is released without ``GIO/OutputStream/close()``, for example after an error, the old content
    /// stays. GIO itself would replace the old content by the incomplete new content. For links there is the same
    /// exception as for ``replaceContents(_:etag:makeBackup:options:)-([UInt8],_,_,_)``.
    ///
    /// - Parameters:
    ///   - etag: the entity tag that the file must still have, from an earlier stream or from ``GIO/FileInfo/etag``.
    ///     Nil replaces any content.
    ///   - makeBackup: whether the old content is kept in a file whose name has a `~` at its end.
    ///   - options: how GIO creates the new file.
    /// - Throws: ``GIO/ErrorCode/wrongEtag`` if another program has changed the file; other ``GLibError``s; the errors
    ///   of ``GIO/call(cancellable:keeping:isolation:_:finish:)``.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_file_replace_async`.
    nonisolated(nonsending) public func replace(
        etag: String? = nil, makeBackup: Bool = false, options: CreateOptions = []
    ) async throws -> GIO.OutputStream {
        let etag = try etag.map(withoutNUL)
        // g_file_replace_async() drops its stream if the task is cancelled late, or if the loop ends. GIO would then
        // replace the file by an empty file.
        return try await GIO.onPool { [self] cancellable, error in
            g_file_replace(pointer, etag, makeBackup ? 1 : 0, options.flags, cancellable, error).map {
                GIO.OutputStream(full: cast($0), isDiscardedUnlessClosed: true)
            }
        }
    }
}
