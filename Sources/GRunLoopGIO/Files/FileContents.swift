// SPDX-License-Identifier: Apache-2.0
// Reads and replaces the whole content of a file.

import CGRunGIO

extension GIO.File {
    /// Reads the whole file.
    ///
    /// - Throws: a ``GLibError``, such as ``GIO/ErrorCode/notFound`` or ``GIO/ErrorCode/isDirectory``; the errors of
    ///   ``GIO/call(cancellable:keeping:isolation:_:finish:)``.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_file_load_contents_async`. This
    /// function reads directly into the array, on GIO's thread pool. If the size of the file is known, it reads the
    /// file in one piece.
    nonisolated(nonsending) public func contents() async throws -> [UInt8] {
        try await GIO.onPool { [self] cancellable, error -> [UInt8]? in
            guard let stream = g_file_read(pointer, cancellable, error) else { return nil }
            defer { g_object_unref(stream) }
            var size = 0
            if let info = g_file_input_stream_query_info(stream, G_FILE_ATTRIBUTE_STANDARD_SIZE, cancellable, nil) {
                size = Int(clamping: g_file_info_get_attribute_uint64(info, G_FILE_ATTRIBUTE_STANDARD_SIZE))
                g_object_unref(UnsafeMutableRawPointer(info))
            }
            return readToEnd(cast(stream), expecting: size, cancellable, error)
        }
    }

    /// Reads the whole file as UTF-8. A NUL is an ordinary character.
    ///
    /// - Throws: ``GIO/ErrorCode/invalidData`` if the content is not UTF-8; the errors of ``contents()``.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_file_load_contents_async`.
    nonisolated(nonsending) public func text() async throws -> String {
        guard let text = String(validating: try await contents(), as: UTF8.self) else {
            throw GLibError(.invalidData, "the content of \(displayName) is not UTF-8")
        }
        return text
    }

    /// Replaces the content of the file, or creates the file. The replacement is atomic: another program sees either
    /// the old content or the new content.
    ///
    /// There is an exception. If the file is a symbolic link, has several hard links, or is in a read-only folder, GIO
    /// writes into the existing file. In this case, an error leaves the file incomplete. With
    /// ``CreateOptions/replacesDestination``, GIO replaces a link by a new file.
    ///
    /// - Parameters:
    ///   - bytes: the new content.
    ///   - etag: the entity tag that the file must still have, from an earlier replacement or from ``FileInfo/etag``.
    ///     Nil replaces any content.
    ///   - makeBackup: whether the old content is kept in a file whose name has a `~` at its end.
    ///   - options: how GIO creates the new file.
    /// - Returns: the new entity tag; nil if the file system has none.
    /// - Throws: ``GIO/ErrorCode/wrongEtag`` if another program has changed the file; other ``GLibError``s; the errors
    ///   of ``GIO/call(cancellable:keeping:isolation:_:finish:)``. If the function throws, the old content stays.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_file_replace_contents_async`.
    @discardableResult nonisolated(nonsending) public func replaceContents(
        _ bytes: [UInt8], etag: String? = nil, makeBackup: Bool = false, options: CreateOptions = []
    ) async throws -> String? {
        let etag = try etag.map(withoutNUL)
        // This code does not call g_file_replace_contents(), which leaves an incomplete file if it cannot write all
        // bytes.
        return try await GIO.onPool { [self] cancellable, error -> String?? in
            let flags = options.flags
            guard let stream = g_file_replace(pointer, etag, makeBackup ? 1 : 0, flags, cancellable, error) else {
                return nil
            }
            defer { g_object_unref(stream) }
            let output: UnsafeMutablePointer<GOutputStream> = cast(stream)
            // g_output_stream_close() may report a cancellation even after it has replaced the file.
            if writeAll(bytes, to: output, cancellable, error),
                g_cancellable_set_error_if_cancelled(cancellable, error) == 0,
                g_output_stream_close(output, nil, error) != 0
            {
                return .some(takeText(g_file_output_stream_get_etag(stream)))
            }
            discard(output)
            return nil
        }
    }

    /// Replaces the content of the file by a text in UTF-8.
    ///
    /// - Returns: the new entity tag: see ``replaceContents(_:etag:makeBackup:options:)-([UInt8],_,_,_)``.
    /// - Throws: the errors of that function.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_file_replace_contents_async`.
    @discardableResult nonisolated(nonsending) public func replaceContents(
        _ text: String, etag: String? = nil, makeBackup: Bool = false, options: CreateOptions = []
    ) async throws -> String? {
        try await replaceContents(Array(text.utf8), etag: etag, makeBackup: makeBackup, options: options)
    }

    /// Options for the creation of a file. The corresponding GLib type is `GFileCreateFlags`.
    public struct CreateOptions: OptionSet, Sendable {
        /// The flags of C.
        public let rawValue: UInt32

        /// Takes the flags of C.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Only the current user may access the new file.
        public static let isPrivate = CreateOptions(rawValue: cglib_file_create_private.rawValue)
        /// The new file does not get the owner, the permissions and the links of the old file.
        public static let replacesDestination = CreateOptions(rawValue: cglib_file_create_replace_destination.rawValue)

        var flags: GFileCreateFlags { GFileCreateFlags(rawValue: rawValue) }
    }
}

/// Reads a stream to its end, on the calling thread. On failure, stores an error and returns nil.
///
/// - Parameter size: the probable number of bytes. Zero means that the number is not known.
func readToEnd(
    _ stream: UnsafeMutablePointer<GInputStream>, expecting size: Int,
    _ cancellable: UnsafeMutablePointer<GCancellable>?, _ error: GIO.ErrorPlace
) -> [UInt8]? {
    var bytes: [UInt8] = []
    // The capacity is one byte larger than the file, so that the first read also finds the end. The capacity is
    // limited, because the file may be sparse and huge.
    var capacity = max(min(size, 1 << 30) + 1, 1 << 16)
    while true {
        var isAtEnd = false
        let piece = [UInt8](unsafeUninitializedCapacity: capacity) { memory, count in
            while count < memory.count, !isAtEnd {
                // A cancellation takes effect only between two read calls, so each call reads a limited piece.
                let rest = UnsafeMutableBufferPointer(rebasing: memory[count...].prefix(1 << 24))
                let got = g_input_stream_read(stream, rest.baseAddress, gsize(rest.count), cancellable, error)
                if got > 0 { count += got } else { isAtEnd = true }
            }
        }
        if error.pointee != nil { return nil }
        if bytes.isEmpty { bytes = piece } else { bytes += piece }
        if isAtEnd { return bytes }
        capacity = max(1 << 16, bytes.count / 2)
    }
}

/// Returns a pointer to the same object, with the type of another C class.
func cast<From, To>(_ object: UnsafeMutablePointer<From>) -> UnsafeMutablePointer<To> {
    UnsafeMutableRawPointer(object).assumingMemoryBound(to: To.self)
}
