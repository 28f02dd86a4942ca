// SPDX-License-Identifier: Apache-2.0
// Awaiting a loop's sequences on the loop's own thread never leaves that thread.

import TestSupport
import Testing

@Suite("Async forms: threads") struct ElementHopTests {
    private static let forms = ["readiness", "ticks", "activities", "next", "sleep", "clock", "run"]

    @Test(
        "on the loop's actor and executor, elements, sleeps and visits resume through jobs of the loop only",
        arguments: ["elements-of-an-actor", "elements-of-a-task"])
    func staysOnTheLoop(scenario: String) {
        let child = runChild(scenario)
        #expect(
            child.output == Self.forms.map { "\($0): 0 jobs elsewhere, 0 rounds off the loop's thread" },
            "\(child.errors)")
    }
}
