// SPDX-License-Identifier: Apache-2.0
// Reads the output of the daemon's child.

import GRunLoop
import Glibc

/// A pipe that is read to its end, line by line.
@MainActor final class ChildOutput {
    private var readEnd: Int32
    /// For the child. The daemon closes its own copy, because the output would never end otherwise.
    private(set) var writeEnd: Int32
    private var source: GRunLoop.DescriptorSource?
    /// The beginning of a line that is not complete yet.
    private var rest: [UInt8] = []

    init() throws(StartError) {
        var ends: [Int32] = [-1, -1]
        if pipe(&ends) != 0 { throw StartError(errno: errno) }
        (readEnd, writeEnd) = (ends[0], ends[1])
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(readEnd, F_SETFL, O_NONBLOCK)
    }

    func closeWriteEnd() { Self.close(&writeEnd) }

    private static func close(_ end: inout Int32) {
        if end >= 0 { Glibc.close(end) }
        end = -1
    }

    /// Calls `say` with each line and, at the end of the output, `end`.
    func read(
        on loop: GRunLoop, inModes modes: [GRunLoop.Mode], say: @escaping (String) -> Void, end: @escaping () -> Void
    ) throws(GRunLoop.SystemError) {
        let source = GRunLoop.DescriptorSource(descriptor: readEnd) { @MainActor [weak self] _, _ in
            self?.readMore(say, end)
        }
        self.source = source
        for mode in modes { try loop.add(source, forMode: mode) }
    }

    private func readMore(_ say: (String) -> Void, _ end: () -> Void) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(readEnd, &buffer, buffer.count)
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        rest += buffer.prefix(max(0, count))
        while let newline = rest.firstIndex(of: UInt8(ascii: "\n")) {
            say(String(decoding: rest[..<newline], as: UTF8.self))
            rest.removeSubrange(...newline)
        }
        guard count <= 0 else { return }
        if !rest.isEmpty { say(String(decoding: rest, as: UTF8.self)) }
        close()
        end()
    }

    /// Called when no further line comes. A second call has no effect.
    func close() {
        closeWriteEnd()
        // The source is invalidated first, because another file may get the number.
        source?.invalidate()
        source = nil
        Self.close(&readEnd)
    }
}
