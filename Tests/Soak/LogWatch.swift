// SPDX-License-Identifier: Apache-2.0
// The library's messages: only provoked messages may come, and a thread that logs must hold no lock.

import CGRunGLib
import GRunLoop
import TestSupport

enum LogWatch {
    private static let main = Shared<Consumer?>(nil)

    /// These messages may come at times, because the soak closes some numbers on purpose.
    private static let allowed = ["was closed while a DescriptorSource", "was closed or replaced by dup2() while"]

    static func install(_ consumer: Consumer) {
        main.value = consumer
        g_log_set_handler(
            "GRunLoop", GLogLevelFlags(rawValue: ~0), { _, _, message, _ in LogWatch.receive(message) }, nil)
    }

    /// The provoked messages of this thread.
    private static let expected = Shared<[pid_t: (text: String, count: Int)]>([:])

    static func expecting<Result>(_ text: String, _ body: () -> Result) -> Result {
        let thread = threadID
        let before = expected.update { $0.updateValue((text, 0), forKey: thread) }
        let result = body()
        let count = expected.update { expected -> Int in
            defer { expected[thread] = before }
            return expected[thread]?.count ?? 0
        }
        if count != 1 { Findings.add("logged \(count) times instead of once: \(text)") }
        return result
    }

    private static func receive(_ message: UnsafePointer<gchar>?) {
        let text = message.map { String(cString: $0) } ?? ""
        if let consumer = main.value { LockProbe.check(consumer, "the message \"\(text)\"") }
        if allowed.contains(where: { text.contains($0) }) { return }
        let thread = threadID
        let isExpected = expected.update { expected -> Bool in
            guard let wanted = expected[thread], text.contains(wanted.text) else { return false }
            expected[thread]?.count += 1
            return true
        }
        if !isExpected { Findings.add("an unexpected message: \(text)") }
    }
}
