// SPDX-License-Identifier: Apache-2.0
// The measurements as a table, and the verdict.

import TestSupport

struct Table {
    private var rows = 0
    private var failures: [String] = []
    private var used: Set<String> = []

    init() {
        say(Self.line("kind", "operation", "order", "ns at N", "ns at 4 N", "ratio", "limit", ""))
    }

    mutating func add(_ measured: [Row]) {
        for row in measured {
            rows += 1
            let exception = row.exception
            if let exception { used.insert(exception.id) }
            var remark = ""
            if !row.isLogarithmic {
                remark = exception == nil ? "GROWS" : "known"
                if exception == nil { failures.append("\(row.kind), \(row.operation), \(row.order.rawValue)") }
            }
            say(
                Self.line(
                    row.kind, row.operation, row.order.rawValue, "\(Int(row.few))", "\(Int(row.many))",
                    Self.short(row.ratio), Self.short(row.limit), remark))
        }
    }

    /// Reports exceptions that match no operation, because it was fixed or renamed.
    mutating func lookForUnusedExceptions() {
        for exception in Exception.all where !used.contains(exception.id) {
            failures.append("the exception \"\(exception.id)\" names no operation: remove it")
        }
    }

    /// Returns the exit code.
    func end() -> Int32 {
        say("\nWhat may grow, and why:")
        for exception in Exception.all { say("- \(exception.id): \(exception.reason)") }
        say("\n\(rows) operations, \(failures.count) grow faster than logarithmically")
        for failure in failures { say("  \(failure)") }
        return failures.isEmpty ? 0 : 1
    }

    private static func short(_ number: Double) -> String {
        let hundredths = Int((number * 100).rounded())
        return "\(hundredths / 100)." + (hundredths % 100 < 10 ? "0" : "") + "\(hundredths % 100)"
    }

    private static func line(
        _ kind: String, _ operation: String, _ order: String, _ few: String, _ many: String, _ ratio: String,
        _ limit: String, _ remark: String
    ) -> String {
        left(kind, 38) + left(operation, 26) + left(order, 9) + right(few, 9) + right(many, 10) + right(ratio, 7)
            + right(limit, 7) + "  " + remark
    }

    private static func left(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(1, width - text.count)) + text
    }
}
