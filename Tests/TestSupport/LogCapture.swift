// SPDX-License-Identifier: Apache-2.0
// Captures the library's messages in GLib's log, for the test that provokes them.

import CGRunGLib
import Glibc

/// Returns the messages of the domain "GRunLoop" that this thread logs while `body` runs. They are not printed.
public func capturingLog<Result>(_ body: () throws -> Result) rethrows -> (result: Result, messages: [String]) {
    LogCapture.begin()
    var isOpen = true
    defer { if isOpen { _ = LogCapture.end() } }
    let result = try body()
    isOpen = false
    return (result, LogCapture.end())
}

enum LogCapture {
    /// The messages of each capturing thread; the innermost capture is the last one.
    private static let captures = Shared<[pid_t: [[String]]]>([:])

    private static let isInstalled: Bool = {
        let levels = GLogLevelFlags(rawValue: ~0)
        g_log_set_handler(
            "GRunLoop", levels,
            { domain, level, message, _ in LogCapture.receive(domain, level, message) }, nil)
        return true
    }()

    static func begin() {
        precondition(isInstalled)
        captures.update { $0[threadID, default: []].append([]) }
    }

    static func end() -> [String] {
        captures.update { $0[threadID]?.popLast() ?? [] }
    }

    private static func receive(
        _ domain: UnsafePointer<gchar>?, _ level: GLogLevelFlags, _ message: UnsafePointer<gchar>?
    ) {
        let text = message.map { String(cString: $0) } ?? ""
        let isCaptured = captures.update { captures -> Bool in
            guard var own = captures[threadID], !own.isEmpty else { return false }
            own[own.count - 1].append("\(name(of: level)): \(text)")
            captures[threadID] = own
            return true
        }
        if !isCaptured { g_log_default_handler(domain, level, message, nil) }
    }

    private static func name(of level: GLogLevelFlags) -> String {
        if level.rawValue & cglib_log_level_critical.rawValue != 0 { return "critical" }
        if level.rawValue & cglib_log_level_warning.rawValue != 0 { return "warning" }
        return "level \(level.rawValue)"
    }
}
