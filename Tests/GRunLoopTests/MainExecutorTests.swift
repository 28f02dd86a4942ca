// SPDX-License-Identifier: Apache-2.0
// With GRunLoopMainExecutor, nested runs serve the main actor.

import TestSupport
import Testing

@Suite("The main executor") struct MainExecutorTests {
    /// Only the block of the main queue that is enqueued inside another one of its blocks must wait.
    @Test("nested runs serve the jobs of the main actor, in a job, in a block and under a host")
    func nestedRuns() {
        let child = runChild("nested", of: "grun-main-executor-child")
        let always = [
            "a block of the loop", "a task", "a task of another thread", "a task that slept",
            "a task that slept on the loop",
        ]
        func lines(_ place: String, _ more: [String]) -> [String] { (always + more).sorted().map { "\(place): \($0)" } }
        let block = "a block of the main queue"
        #expect(
            child.output == lines("in a job", [block]) + lines("in a block", []) + lines("in a host", [block]),
            "\(child.errors)")
        #expect(child.status == 0)
    }
}
