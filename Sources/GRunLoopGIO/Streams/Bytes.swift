// SPDX-License-Identifier: Apache-2.0
// The single bytes of a stream, as an asynchronous sequence.

extension GIO.InputStream {
    /// The single bytes of the rest of the stream, for `for try await`.
    ///
    /// The iterator reads 64 KiB at a time. If the iteration ends early, the bytes that were read but not used are
    /// lost.
    ///
    /// Threads: any.
    public var bytes: Bytes { Bytes(stream: self) }

    /// The single bytes of a stream: see ``bytes``. Only one task at a time may iterate. Threads: any.
    public struct Bytes: AsyncSequence, Sendable {
        let stream: GIO.InputStream

        /// Makes an iterator, which begins at the stream's current position. Threads: any.
        public func makeAsyncIterator() -> Iterator { Iterator(stream: stream) }

        /// Reads a stream, and returns its single bytes. The iterator does not close the stream.
        public struct Iterator: AsyncIteratorProtocol {
            @usableFromInline let stream: GIO.InputStream
            @usableFromInline var chunk: [UInt8] = []
            @usableFromInline var position = 0

            init(stream: GIO.InputStream) { self.stream = stream }

            /// Returns the next byte; nil at the end of the stream.
            ///
            /// - Throws: the errors of ``GIO/InputStream/read(upTo:)``.
            ///
            /// Threads: a thread that runs a loop. The corresponding GLib function is `g_input_stream_read_async`.
            @inlinable nonisolated(nonsending) public mutating func next() async throws -> UInt8? {
                try await next(isolation: #isolation)
            }

            /// Returns the next byte, as ``next()`` does; called by `for try await`.
            ///
            /// - Throws: the errors of ``next()``.
            ///
            /// Threads: a thread that runs a loop.
            @inlinable public mutating func next(isolation actor: isolated (any Actor)?) async throws -> UInt8? {
                if position == chunk.count {
                    (chunk, position) = ([], 0)
                    chunk = try await stream.read()
                    if chunk.isEmpty { return nil }
                }
                defer { position += 1 }
                return chunk[position]
            }
        }
    }
}
