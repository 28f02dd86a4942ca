// SPDX-License-Identifier: Apache-2.0
// A pipe. A write to one end makes the descriptor of the other end readable.

import Glibc

/// The two nonblocking ends of a pipe. Threads: any.
///
/// A descriptor must not be closed while a source watches it. So the source's closure must retain the pipe.
final class Pipe: Sendable {
    /// The end that a ``GRunLoop/GRunLoop/DescriptorSource`` watches.
    let readEnd: Int32
    let writeEnd: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw ScenarioError("pipe: \(String(cString: strerror(errno)))") }
        for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(writeEnd, bytes, bytes.count)
    }

    /// Reads the bytes that are in the pipe, at most `limit` of them.
    func read(atMost limit: Int = 256) -> String {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = Glibc.read(readEnd, &bytes, limit)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
