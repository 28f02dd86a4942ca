// SPDX-License-Identifier: Apache-2.0
// The lines of a stream, as an asynchronous sequence.

import Glibc

extension GIO.InputStream {
    /// The lines of the rest of the stream, for `for try await`.
    ///
    /// A line ends with `\n` or `\r\n`, which are not part of the element. The last line need not have such an end.
    /// Bytes that are not UTF-8 become U+FFFD. A line may have any length.
    ///
    /// The iterator reads up to 64 KiB at a time. If the iteration ends early, the bytes that were read but not used
    /// are lost.
    ///
    /// Threads: any.
    public var lines: Lines { Lines(stream: self) }

    /// The lines of a stream: see ``lines``. Only one task at a time may iterate. Threads: any.
    public struct Lines: AsyncSequence, Sendable {
        let stream: GIO.InputStream

        /// Makes an iterator, which begins at the stream's current position. Threads: any.
        public func makeAsyncIterator() -> Iterator { Iterator(stream: stream) }

        /// Reads a stream line by line. The iterator does not close the stream.
        public struct Iterator: AsyncIteratorProtocol {
            private let stream: GIO.InputStream
            private var chunk: [UInt8] = []
            private var position = 0
            /// The beginning of a line, from the previous chunks.
            private var beginning: [UInt8] = []

            init(stream: GIO.InputStream) { self.stream = stream }

            /// Returns the next line; nil at the end of the stream.
            ///
            /// - Throws: the errors of ``GIO/InputStream/read(upTo:)``.
            ///
            /// Threads: a thread that runs a loop. The corresponding GLib function is
            /// `g_data_input_stream_read_line_async`.
            nonisolated(nonsending) public mutating func next() async throws -> String? {
                try await next(isolation: #isolation)
            }

            /// Returns the next line, as ``next()`` does; called by `for try await`.
            ///
            /// - Throws: the errors of ``next()``.
            ///
            /// Threads: a thread that runs a loop.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> String? {
                while true {
                    if let line = takeLine() { return line }
                    beginning += chunk[position...]
                    (chunk, position) = ([], 0)
                    chunk = try await stream.read()
                    if chunk.isEmpty {
                        guard !beginning.isEmpty else { return nil }
                        defer { beginning = [] }
                        return beginning.withUnsafeBytes { Self.text($0, hasNewline: false) }
                    }
                }
            }

            /// Returns the line that ends in the current chunk; nil if no line ends in it.
            private mutating func takeLine() -> String? {
                let rest = chunk.withUnsafeBytes { memory -> Int? in
                    guard let start = memory.baseAddress.map({ $0 + position }) else { return nil }
                    return memchr(start, 0x0A, memory.count - position).map { UnsafeRawPointer($0) - start }
                }
                guard let count = rest else { return nil }
                defer { position += count + 1 }
                if beginning.isEmpty {
                    return chunk.withUnsafeBytes {
                        Self.text(UnsafeRawBufferPointer(rebasing: $0[position..<position + count]), hasNewline: true)
                    }
                }
                beginning += chunk[position..<position + count]
                defer { beginning = [] }
                return beginning.withUnsafeBytes { Self.text($0, hasNewline: true) }
            }

            /// - Parameter hasNewline: whether a `\n` follows, so that a final `\r` is part of the line's end.
            private static func text(_ bytes: UnsafeRawBufferPointer, hasNewline: Bool) -> String {
                let isReturn = hasNewline && bytes.last == 0x0D
                return String(decoding: isReturn ? bytes.dropLast() : bytes[...], as: UTF8.self)
            }
        }
    }
}
