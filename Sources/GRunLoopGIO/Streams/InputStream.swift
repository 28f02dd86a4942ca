// SPDX-License-Identifier: Apache-2.0
// A stream of bytes to read.

public import CGRunGIO

extension GIO {
    /// A stream of bytes to read: a file, a pipe, a socket, or a filter on another stream.
    ///
    /// ```swift
    /// let log = try await file.read()
    /// for try await line in log.lines { print(line) }
    /// ```
    ///
    /// Only one task at a time may use a stream. Otherwise the second call throws ``GIO/ErrorCode/pending``. The
    /// release of the last reference closes the stream, but reports no error.
    ///
    /// Threads: each function with `async` needs a thread that runs a loop: see
    /// ``GIO/call(cancellable:keeping:isolation:_:finish:)``. The corresponding GLib type is `GInputStream`.
    public final class InputStream: Sendable {
        /// The object, for functions of C. The pointer is valid as long as the `InputStream`. Call no function of C
        /// while a task uses the stream. Threads: any.
        public nonisolated(unsafe) let pointer: UnsafeMutablePointer<GInputStream>
        let gate = StreamGate()
        let way: Way
        private nonisolated(unsafe) var pair: GRef<UnsafeMutablePointer<GIOStream>>?
        /// The gate guards the following properties: the memory for GIO, and the time until which reads need not
        /// suspend.
        nonisolated(unsafe) var memory: StreamMemory?
        nonisolated(unsafe) var sliceEnd = 0
        /// False after the kernel has refused a read that uses only the page cache.
        nonisolated(unsafe) var mayReadCached = true

        /// Takes over a reference, as from a function of C that returns *transfer full*. Threads: any.
        public init(full pointer: UnsafeMutablePointer<GInputStream>) {
            self.pointer = pointer
            way = Way(pointer)
            beginSlice()
        }

        /// Adds a reference to the result of a C function that returns *transfer none*. Threads: any.
        public convenience init(retaining pointer: UnsafeMutablePointer<GInputStream>) {
            g_object_ref(pointer)
            self.init(full: pointer)
        }

        /// Also retains the pair of streams, because GIO closes both streams when it releases the pair.
        convenience init(
            retaining pointer: UnsafeMutablePointer<GInputStream>, of pair: UnsafeMutablePointer<GIOStream>
        ) {
            self.init(retaining: pointer)
            self.pair = GRef(retaining: pair)
        }

        deinit { g_object_unref(pointer) }

        /// Whether the stream is closed. Threads: any. The corresponding GLib function is `g_input_stream_is_closed`.
        public var isClosed: Bool { g_input_stream_is_closed(pointer) != 0 }

        /// Reads the rest of the stream.
        ///
        /// - Throws: a ``GLibError``; the errors of ``GIO/call(cancellable:keeping:isolation:_:finish:)``. The bytes
        ///   that were read before the error are lost.
        ///
        /// Threads: a thread that runs a loop. The corresponding GLib function is `g_input_stream_read_async`.
        nonisolated(nonsending) public func readAll() async throws -> [UInt8] {
            // Enters the gate only once, so that no other task reads between two pieces.
            try gate.enter()
            defer { gate.leave() }
            if way != .async { return try await GIO.onPool { [self] in readToEnd(pointer, expecting: 0, $0, $1) } }
            var bytes: [UInt8] = []
            while true {
                let piece = try await readInLoop(1 << 16)
                if piece.isEmpty { return bytes }
                bytes += piece
            }
        }

        /// Skips bytes. In a file, the bytes are skipped without being read.
        ///
        /// - Parameter count: the largest number of bytes, at least zero.
        /// - Returns: how many bytes were skipped, which may be fewer; zero at the end of the stream.
        /// - Throws: a ``GLibError``; the errors of ``GIO/call(cancellable:keeping:isolation:_:finish:)``.
        ///
        /// Threads: a thread that runs a loop. The corresponding GLib function is `g_input_stream_skip_async`.
        @discardableResult nonisolated(nonsending) public func skip(_ count: Int) async throws -> Int {
            guard count >= 0 else { throw StreamGate.negativeCount }
            try gate.enter()
            defer { gate.leave() }
            return try await GIO.call(keeping: self) {
                g_input_stream_skip_async(pointer, gsize(count), 0, $0, $1, $2)
            } finish: { _, result, error in
                g_input_stream_skip_finish(pointer, result, error)
            }
        }

        /// Closes the stream. Closing a closed stream has no effect. Cancelling the task does not cancel this function.
        ///
        /// - Throws: a ``GLibError``; the stream is closed nevertheless, except after ``GIO/ErrorCode/pending``. Also
        ///   throws ``GIO/WrongThreadError`` and `GRunLoop.LoopEndedError`.
        ///
        /// Threads: a thread that runs a loop. The corresponding GLib function is `g_input_stream_close_async`.
        nonisolated(nonsending) public func close() async throws {
            try gate.enter()
            defer { gate.leave() }
            try await GIO.callToTheEnd(keeping: self) {
                g_input_stream_close_async(pointer, 0, nil, $0, $1)
            } finish: { _, result, error in
                _ = g_input_stream_close_finish(pointer, result, error)
            }
        }
    }
}
