// SPDX-License-Identifier: Apache-2.0
// How regularly the window is drawn.

import Glibc

/// The gaps between the frames of a window.
struct FrameGaps {
    private var last: Int64?
    private(set) var count = 0
    private var longestMicroseconds: Int64 = 0

    mutating func add(_ microseconds: Int64) {
        count += 1
        if let last { longestMicroseconds = max(longestMicroseconds, microseconds - last) }
        last = microseconds
    }

    /// In milliseconds.
    var longest: Int64 { longestMicroseconds / 1000 }
}

enum Thread {
    static func sleep(milliseconds: UInt32) {
        usleep(milliseconds * 1000)
    }
}

/// Prints a line to the standard error stream.
public func complain(_ line: String) {
    let line = line + "\n"
    _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
}
