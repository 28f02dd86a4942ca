// SPDX-License-Identifier: Apache-2.0
// Awaiting a loop's things on the loop's own thread leaves that thread for nothing.

import TestSupport
import Testing

@Suite("Async forms: threads") struct ElementHopTests {
    private static let forms = ["readiness", "ticks", "activities", "next", "sleep", "clock", "run"]

    @Test(
        "each element, sleep and visit reaches an actor of the loop, and a task that prefers its executor, by jobs of that loop alone",
        arguments: ["elements-of-an-actor", "elements-of-a-task"])
    func staysOnTheLoop(scenario: String) {
        let child = runChild(scenario)
        #expect(
            child.output == Self.forms.map { "\($0): 0 jobs elsewhere, 0 rounds off the loop's thread" },
            "\(child.errors)")
    }
}
