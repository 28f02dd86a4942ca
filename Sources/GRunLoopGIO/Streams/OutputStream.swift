// SPDX-License-Identifier: Apache-2.0
// A stream of bytes to write.

public import CGRunGIO

extension GIO {
    /// A stream of bytes to write: a file, a pipe, a socket, or a filter on another stream.
    ///
    /// ```swift
    /// let report = try await file.replace()
    /// try await report.write("first line\n")
    /// try await report.close()
    /// ```
    ///
    /// Only one task at a time may use a stream. Otherwise the second call throws ``GIO/ErrorCode/pending``. Call
    /// ``close()``, because a stream that is only released reports no error. If a stream of
    /// ``File/replace(etag:makeBackup:options:)`` is released without a close, the file keeps its old content.
    ///
    /// Threads: each function with `async` needs a thread that runs a loop: see
    /// ``GIO/call(cancellable:keeping:isolation:_:finish:)``. The corresponding GLib type is `GOutputStream`.
    public final class OutputStream: Sendable {
        /// The object, for functions of C. The pointer is valid as long as the `OutputStream`. Call no function of C
        /// while a task uses the stream. Threads: any.
        public nonisolated(unsafe) let pointer: UnsafeMutablePointer<GOutputStream>
        let gate = StreamGate()
        private let usesThreads: Bool
        private nonisolated(unsafe) var pair: GRef<UnsafeMutablePointer<GIOStream>>?
        private let isDiscardedUnlessClosed: Bool

        init(full pointer: UnsafeMutablePointer<GOutputStream>, isDiscardedUnlessClosed: Bool) {
            self.pointer = pointer
            self.isDiscardedUnlessClosed = isDiscardedUnlessClosed
            let instance: UnsafeMutablePointer<GTypeInstance> = cast(pointer)
            let isPollable =
                g_type_check_instance_is_a(instance, g_pollable_output_stream_get_type()) != 0
                && g_pollable_output_stream_can_poll(OpaquePointer(pointer)) != 0
            let hasDefault = withClass(of: instance, g_output_stream_get_type()) { (own: GOutputStreamClass, base) in
                unsafeBitCast(own.write_async, to: Int.self) == unsafeBitCast(base.write_async, to: Int.self)
            }
            usesThreads = hasDefault && !isPollable
            _ = ignoresBrokenPipes
        }

        /// Takes over a reference, as from a function of C that returns *transfer full*. Threads: any.
        public convenience init(full pointer: UnsafeMutablePointer<GOutputStream>) {
            self.init(full: pointer, isDiscardedUnlessClosed: false)
        }

        /// Adds a reference to the result of a C function that returns *transfer none*. Threads: any.
        public convenience init(retaining pointer: UnsafeMutablePointer<GOutputStream>) {
            g_object_ref(pointer)
            self.init(full: pointer)
        }

        /// Also retains the pair of streams, because GIO closes both streams when it releases the pair.
        convenience init(
            retaining pointer: UnsafeMutablePointer<GOutputStream>, of pair: UnsafeMutablePointer<GIOStream>
        ) {
            self.init(retaining: pointer)
            self.pair = GRef(retaining: pair)
        }

        deinit {
            if isDiscardedUnlessClosed { discard(pointer) }
            g_object_unref(pointer)
        }

        /// Whether the stream is closed. Threads: any. The corresponding GLib function is `g_output_stream_is_closed`.
        public var isClosed: Bool { g_output_stream_is_closed(pointer) != 0 }

        /// The entity tag of the file, after ``close()``; nil if the stream does not write to a file, or if the file
        /// system has no tags. Threads: any. The corresponding GLib function is `g_file_output_stream_get_etag`.
        public var etag: String? {
            guard g_type_check_instance_is_a(cast(pointer), g_file_output_stream_get_type()) != 0 else { return nil }
            return takeText(g_file_output_stream_get_etag(cast(pointer)))
        }

        /// Writes all of the bytes.
        ///
        /// After an error, do not close a stream of ``File/replace(etag:makeBackup:options:)``: release it, so that the
        /// old content stays.
        ///
        /// - Throws: a ``GLibError``, such as ``GIO/ErrorCode/noSpace`` or ``GIO/ErrorCode/brokenPipe``; the errors of
        ///   ``GIO/call(cancellable:keeping:isolation:_:finish:)``. After an error, any number of the bytes may have
        ///   been written.
        ///
        /// Threads: a thread that runs a loop. The corresponding GLib function is `g_output_stream_write_all_async`.
        nonisolated(nonsending) public func write(_ bytes: some Sequence<UInt8>) async throws {
            // If `bytes` is an array, this conversion does not copy it.
            let bytes = [UInt8](bytes)
            try gate.enter()
            defer { gate.leave() }
            guard usesThreads else { return try await writeInLoop(StreamMemory(bytes)) }
            try await GIO.onPool { [self] in writeAll(bytes, to: pointer, $0, $1) ? () : nil }
        }

        /// Writes all of the text in UTF-8, without a NUL at its end.
        ///
        /// - Throws: the errors of the function that writes bytes.
        ///
        /// Threads: a thread that runs a loop. The corresponding GLib function is `g_output_stream_write_all_async`.
        nonisolated(nonsending) public func write(_ text: String) async throws { try await write(text.utf8) }

        nonisolated(nonsending) private func writeInLoop(_ memory: StreamMemory) async throws {
            try await GIO.call(keeping: memory) {
                g_output_stream_write_all_async(
                    pointer, memory.bytes.baseAddress, gsize(memory.bytes.count), 0, $0, $1, $2)
            } finish: { _, result, error in
                _ = g_output_stream_write_all_finish(pointer, result, nil, error)
            }
        }

        /// Writes the bytes that a buffered stream still holds. After the call, the bytes may not be on a disk yet.
        ///
        /// - Throws: a ``GLibError``; the errors of ``GIO/call(cancellable:keeping:isolation:_:finish:)``.
        ///
        /// Threads: a thread that runs a loop. The corresponding GLib function is `g_output_stream_flush_async`.
        nonisolated(nonsending) public func flush() async throws {
            try gate.enter()
            defer { gate.leave() }
            try await GIO.call(keeping: self) {
                g_output_stream_flush_async(pointer, 0, $0, $1, $2)
            } finish: { _, result, error in
                _ = g_output_stream_flush_finish(pointer, result, error)
            }
        }

        /// Flushes and closes the stream. Closing a closed stream has no effect. Cancelling the task does not cancel
        /// this function.
        ///
        /// - Throws: a ``GLibError``; the stream is closed nevertheless, except after ``GIO/ErrorCode/pending``. Also
        ///   throws ``GIO/WrongThreadError`` and `GRunLoop.LoopEndedError`.
        ///
        /// Threads: a thread that runs a loop. The corresponding GLib function is `g_output_stream_close_async`.
        nonisolated(nonsending) public func close() async throws {
            try gate.enter()
            defer { gate.leave() }
            // GLib refuses to close a closed output stream asynchronously.
            guard !isClosed else { return }
            try await GIO.callToTheEnd(keeping: self) {
                g_output_stream_close_async(pointer, 0, nil, $0, $1)
            } finish: { _, result, error in
                _ = g_output_stream_close_finish(pointer, result, error)
            }
        }
    }
}

/// Writes all of the bytes on the calling thread. On failure, stores an error and returns false.
func writeAll(
    _ bytes: [UInt8], to stream: UnsafeMutablePointer<GOutputStream>,
    _ cancellable: UnsafeMutablePointer<GCancellable>?, _ error: GIO.ErrorPlace
) -> Bool {
    // The address of an empty array may be NULL, which GIO refuses.
    bytes.isEmpty
        || bytes.withUnsafeBytes {
            g_output_stream_write_all(stream, $0.baseAddress, gsize($0.count), nil, cancellable, error)
        } != 0
}

/// Closes a stream that replaces a file so that the file keeps its old content. Does nothing if the stream is already
/// closed. The close is cancelled, because GIO then removes the new content. Otherwise GIO would replace the old
/// content when it releases the stream.
func discard(_ stream: UnsafeMutablePointer<GOutputStream>) {
    let cancellable = g_cancellable_new()
    g_cancellable_cancel(cancellable)
    g_output_stream_close(stream, cancellable, nil)
    g_object_unref(cancellable)
}
