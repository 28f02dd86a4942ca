// SPDX-License-Identifier: Apache-2.0
// Differences between promised and actual behaviour.

import Glibc
import TestSupport

enum Findings {
    private static let count = Counter()
    private static let mostPrinted = 20

    static var isEmpty: Bool { count.value == 0 }
    static var number: Int { count.value }

    /// Adds a finding. The soak ends after the current round.
    static func add(_ text: String) {
        if count.increment() <= mostPrinted { printToStandardError("\(Settings.title): \(text)\n") }
    }

    /// Ends the process, because no further wait can succeed.
    static func end(_ text: String) -> Never {
        add(text)
        _exit(1)
    }
}

/// Waits for something that a loop must do. If it is not done in time, reports it and ends the process, because later
/// checks would be meaningless.
func waitFor(
    _ owed: @autoclosure () -> String, on consumer: Consumer?, patience: Duration = Settings.patience,
    _ condition: () -> Bool
) {
    for _ in 0..<100 {
        if condition() { return }
        sched_yield()
    }
    // Waits in pieces, so that a standstill of the machine uses up one piece only.
    let piece = Duration.milliseconds(100)
    for _ in 0..<Int(patience / piece) {
        if waitUntil(timeout: piece, condition) { return }
    }
    let state = consumer.map { "; \($0.state)" } ?? ""
    Findings.end("not delivered in \(patience): \(owed())\(state)")
}
