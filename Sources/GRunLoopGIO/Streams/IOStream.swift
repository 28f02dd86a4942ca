// SPDX-License-Identifier: Apache-2.0
// A pair of streams, such as the streams of a socket.

public import CGRunGIO

extension GIO {
    /// A stream to read and a stream to write, such as the two streams of a socket.
    ///
    /// One task may read while another task writes. The streams are closed when all references to the `IOStream` and to
    /// both streams are released. Such a close reports no error.
    ///
    /// Threads: each function with `async` needs a thread that runs a loop: see
    /// ``GIO/call(cancellable:keeping:isolation:_:finish:)``. The corresponding GLib type is `GIOStream`.
    public final class IOStream: Sendable {
        /// The object, for functions of C. The pointer is valid as long as the `IOStream`. Threads: any.
        public nonisolated(unsafe) let pointer: UnsafeMutablePointer<GIOStream>
        /// The stream to read. Threads: any. The corresponding GLib function is `g_io_stream_get_input_stream`.
        public let input: InputStream
        /// The stream to write. Threads: any. The corresponding GLib function is `g_io_stream_get_output_stream`.
        public let output: OutputStream

        /// Takes over a reference, as from a function of C that returns *transfer full*. Threads: any.
        public init(full pointer: UnsafeMutablePointer<GIOStream>) {
            self.pointer = pointer
            input = InputStream(retaining: g_io_stream_get_input_stream(pointer), of: pointer)
            output = OutputStream(retaining: g_io_stream_get_output_stream(pointer), of: pointer)
        }

        /// Adds a reference to the result of a C function that returns *transfer none*. Threads: any.
        public convenience init(retaining pointer: UnsafeMutablePointer<GIOStream>) {
            g_object_ref(pointer)
            self.init(full: pointer)
        }

        deinit { g_object_unref(pointer) }

        /// Whether the stream is closed. Threads: any. The corresponding GLib function is `g_io_stream_is_closed`.
        public var isClosed: Bool { g_io_stream_is_closed(pointer) != 0 }

        /// Closes both streams. Closing a closed stream has no effect. Cancelling the task does not cancel this
        /// function.
        ///
        /// - Throws: ``GIO/ErrorCode/pending`` while a task reads or writes; in this case the streams stay open. After
        ///   another ``GLibError``, the streams are closed nevertheless. Also throws ``GIO/WrongThreadError`` and
        ///   `GRunLoop.LoopEndedError`.
        ///
        /// Threads: a thread that runs a loop. The corresponding GLib function is `g_io_stream_close_async`.
        nonisolated(nonsending) public func close() async throws {
            try input.gate.enter()
            defer { input.gate.leave() }
            try output.gate.enter()
            defer { output.gate.leave() }
            try await GIO.callToTheEnd(keeping: self) {
                g_io_stream_close_async(pointer, 0, nil, $0, $1)
            } finish: { _, result, error in
                _ = g_io_stream_close_finish(pointer, result, error)
            }
        }
    }
}
