// SPDX-License-Identifier: Apache-2.0
// The pieces of a stream, as an asynchronous sequence.

extension GIO.InputStream {
    /// Returns the rest of the stream in pieces, for `for try await`. A piece is read only when the task asks for it.
    ///
    /// - Parameter size: the largest size of a piece in bytes. Zero and negative numbers count as 1. With pieces of 256
    ///   KiB, reading a cached file is about as fast as a loop in C.
    ///
    /// Threads: any.
    public func chunks(of size: Int = 1 << 18) -> Chunks { Chunks(stream: self, size: max(1, size)) }

    /// The pieces of a stream: see ``chunks(of:)``. Only one task at a time may iterate. Threads: any.
    public struct Chunks: AsyncSequence, Sendable {
        let stream: GIO.InputStream
        let size: Int

        /// Makes an iterator, which begins at the stream's current position. Threads: any.
        public func makeAsyncIterator() -> Iterator { Iterator(stream: stream, size: size) }

        /// Reads a stream in pieces. The iterator does not close the stream.
        public struct Iterator: AsyncIteratorProtocol {
            let stream: GIO.InputStream
            let size: Int

            /// Reads the next piece; nil at the end of the stream.
            ///
            /// - Throws: the errors of ``GIO/InputStream/read(upTo:)``.
            ///
            /// Threads: a thread that runs a loop. The corresponding GLib function is `g_input_stream_read_async`.
            nonisolated(nonsending) public mutating func next() async throws -> [UInt8]? {
                let bytes = try await stream.read(upTo: size)
                return bytes.isEmpty ? nil : bytes
            }

            /// Reads the next piece, as ``next()`` does; called by `for try await`.
            ///
            /// - Throws: the errors of ``next()``.
            ///
            /// Threads: a thread that runs a loop.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
                let bytes = try await stream.read(upTo: size)
                return bytes.isEmpty ? nil : bytes
            }
        }
    }
}
