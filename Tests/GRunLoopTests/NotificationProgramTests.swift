// SPDX-License-Identifier: Apache-2.0
// Random programs of notification queues, beside an account of what must happen.

import GRunLoop
import TestSupport
import Testing

@Suite("Notification queues: random programs") struct NotificationProgramTests {
    @Test(
        "item 223: whatever a program does, each notification is posted once, in its turn, mode and stage",
        arguments: NotificationProgram.Driver.allCases)
    func programs(_ driver: NotificationProgram.Driver) async throws {
        for seed in 0..<40 {
            let problems = try await onFreshThread { NotificationProgram.problems(seed, driver, on: $0) }
            #expect(problems.isEmpty, "seed \(seed)")
        }
    }
}
