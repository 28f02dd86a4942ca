// SPDX-License-Identifier: Apache-2.0
// Awaiting a loop's things on the loop's own thread leaves that thread for nothing.

import TestSupport
import Testing

@Suite("Async forms: threads") struct ElementHopTests {
    private static let forms = ["readiness", "ticks", "activities", "next", "sleep", "clock", "run"]

    @Test(
        "elements, sleeps and visits reach the loop's actor, and a task on its executor, by the loop's jobs alone",
        arguments: ["elements-of-an-actor", "elements-of-a-task"])
    func staysOnTheLoop(scenario: String) {
        let child = runChild(scenario)
        #expect(
            child.output == Self.forms.map { "\($0): 0 jobs elsewhere, 0 rounds off the loop's thread" },
            "\(child.errors)")
    }
}
