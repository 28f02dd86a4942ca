// SPDX-License-Identifier: Apache-2.0
// Prints lines without buffering, even if the output is not a terminal.

import Glibc

func say(_ line: String) { write(line, to: STDOUT_FILENO) }
func complain(_ line: String) { write(line, to: STDERR_FILENO) }

private func write(_ line: String, to descriptor: Int32) {
    var line = line + "\n"
    line.withUTF8 { _ = Glibc.write(descriptor, $0.baseAddress, $0.count) }
}
