// SPDX-License-Identifier: Apache-2.0
// Copies from one stream to another.

extension GIO {
    /// Reads a stream to its end, and writes all bytes to another stream. Closes neither stream.
    ///
    /// - Returns: the number of bytes.
    /// - Throws: the errors of ``InputStream/read(upTo:)`` and of the ``OutputStream``'s write functions.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_output_stream_splice_async`.
    @discardableResult nonisolated(nonsending) public static func copy(
        from input: InputStream, to output: OutputStream
    ) async throws -> Int {
        var count = 0
        for try await chunk in input.chunks() {
            try await output.write(chunk)
            count += chunk.count
        }
        return count
    }
}
