// SPDX-License-Identifier: Apache-2.0
// Ends the process with a message when a test hangs.

import GRunLoop
import Glibc

public final class Watchdog: @unchecked Sendable {
    private let disarmed = Flag()

    /// - Parameter cleanUp: called before the process ends.
    public init(_ timeout: Duration, _ message: String, cleanUp: @escaping @Sendable () -> Void = {}) {
        let thread = startThread { [disarmed] in
            guard !disarmed.wait(timeout: timeout) else { return }
            let lines = ["\(message) within \(timeout)"] + threadStates()
            printToStandardError(lines.map { "watchdog: \($0)\n" }.joined())
            cleanUp()
            abort()
        }
        pthread_detach(thread)
    }

    public func disarm() { disarmed.set() }

    deinit { disarmed.set() }
}

/// Returns the id, name and state of every thread of the process.
private func threadStates() -> [String] {
    guard let directory = opendir("/proc/self/task") else { return [] }
    defer { closedir(directory) }
    var lines: [String] = []
    while let entry = readdir(directory) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        guard let id = pid_t(name) else { continue }
        lines.append(
            "thread \(id) \(text(of: "/proc/self/task/\(id)/comm")) \(threadState(id).map(String.init) ?? "?")")
    }
    return lines
}

private func text(of path: String) -> String {
    guard let file = fopen(path, "r") else { return "" }
    defer { fclose(file) }
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = fread(&buffer, 1, buffer.count, file)
    return String(decoding: buffer.prefix(count), as: UTF8.self).split(separator: "\n").first.map(String.init) ?? ""
}

/// Writes without buffering, so that the text is not lost when the process ends.
public func printToStandardError(_ text: String) {
    _ = write(STDERR_FILENO, text, text.utf8.count)
}
