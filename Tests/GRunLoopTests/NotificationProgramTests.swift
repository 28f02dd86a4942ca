// SPDX-License-Identifier: Apache-2.0
// Compares random programs of notification queues with an account of what must happen.

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite("Notification queues: random programs") struct NotificationProgramTests {
    /// The number of programs. Set GRUN_NOTIFICATION_PROGRAMS to run more.
    static let count = getenv("GRUN_NOTIFICATION_PROGRAMS").flatMap { Int(String(cString: $0)) } ?? 40

    @Test(
        "item 223: in any program, each notification is posted once, in its turn, mode and stage",
        arguments: NotificationProgram.Driver.allCases)
    func programs(_ driver: NotificationProgram.Driver) async throws {
        for seed in 0..<Self.count {
            let problems = try await onFreshThread { NotificationProgram.problems(seed, driver, on: $0) }
            #expect(problems.isEmpty, "seed \(seed)")
        }
    }
}
