// SPDX-License-Identifier: Apache-2.0
// Differences between what was promised and what happened.

import Glibc
import TestSupport

enum Findings {
    private static let count = Counter()
    private static let mostPrinted = 20

    static var isEmpty: Bool { count.value == 0 }
    static var number: Int { count.value }

    /// The round goes to its end, and the soak ends after it.
    static func add(_ text: String) {
        if count.increment() <= mostPrinted { printToStandardError("\(Settings.title): \(text)\n") }
    }

    /// Nothing can be waited for any more.
    static func end(_ text: String) -> Never {
        add(text)
        _exit(1)
    }
}

/// Waits for what a loop owes. If it does not come, says what it is and ends the process: nothing of what follows could
/// be settled.
func waitFor(
    _ owed: @autoclosure () -> String, on consumer: Consumer?, patience: Duration = Settings.patience,
    _ condition: () -> Bool
) {
    for _ in 0..<100 {
        if condition() { return }
        sched_yield()
    }
    // In pieces: while the machine stands still no more than one goes by.
    let piece = Duration.milliseconds(100)
    for _ in 0..<Int(patience / piece) {
        if waitUntil(timeout: piece, condition) { return }
    }
    let state = consumer.map { "; \($0.state)" } ?? ""
    Findings.end("owed for \(patience): \(owed())\(state)")
}
