// SPDX-License-Identifier: Apache-2.0
// Other code closes the loop's own descriptors, as closefrom(3) does.

import TestSupport
import Testing

@Suite("Descriptors of the loop that other code has closed") struct LossTests {
    @Test(
        "where the loop drives itself, the process ends and logs the reason, once",
        arguments: [
            (
                "closed-in-a-callout",
                "code in this process has closed a descriptor of the run loop (epoll_wait: Bad file descriptor)"
            ),
            (
                "closed-main-queue",
                "code in this process has closed a descriptor of the run loop (read: Bad file descriptor)"
            ),
            (
                "closed-without-descriptors",
                "the run loop cannot continue, because code in this process has closed descriptor"
            ),
            ("poll-refused", "the run loop cannot continue, because poll() has failed (Invalid argument)"),
        ])
    func whereWeDrive(scenario: String, message: String) async throws {
        let child = runChild(scenario)
        #expect(child.signal != nil && child.signal != 24, "\(child.status ?? -1)")
        #expect(child.errorCount(of: message) == 1, "\(child.errors)")
        #expect(child.output == [])
    }

    @Test("a mode's epoll that cannot be duplicated for a host is duplicated later, and no descriptor is left behind")
    func modesAtTheLimit() {
        let child = runChild("modes-under-a-host-at-the-limit")
        #expect(child.output == ["called in [\"other\"], the same descriptors", "called in [\"other\", \"default\"]"])
        #expect(child.errorCount(of: "no descriptor is left, so timers and descriptor sources wait while") == 1)
        #expect(child.status == 0, "\(child.errors)")
    }

    @Test(
        "under a host the hub goes silent, logs that once, and does not touch the new files at its numbers",
        arguments: ["closed-under-a-host", "closed-timer-under-a-host", "closed-idle-timer-under-a-host"])
    func underAHost(scenario: String) async throws {
        let child = runChild(scenario)
        #expect(
            child.output == [
                "closed: some, taken: true", "silent: true", "the host sleeps: true", "strangers untouched: true",
                "a run of ours:",
            ])
        #expect(child.errorCount(of: "The host main loop does not serve this run loop") == 1, "\(child.errors)")
        #expect(child.errorCount(of: "The run loop cannot continue") == 1, "\(child.errors)")
        #expect(child.signal != nil && child.signal != 24)
    }
}
