// SPDX-License-Identifier: Apache-2.0
// If a sandbox forbids a system call, the message names the call and the remedy. Each test runs in its own process.

import Glibc
import TestSupport
import Testing

@Suite("A sandbox that forbids a system call") struct SandboxTests {
    /// The output of a scenario, the text of its standard error, and whether it ends by SIGABRT.
    struct Case: CustomTestStringConvertible, Sendable {
        let scenario: String
        var output: [String] = []
        var errors: String?
        var count = 1
        var isAborted = false
        var testDescription: String { scenario }
    }

    @Test(
        "the message names the call and the remedy", arguments: cases, ["EPERM", "ENOSYS"])
    func isNamed(what: Case, code: String) async {
        let child = await outcome(ofChild: "sandboxed-\(what.scenario)-\(code)")
        let reason = code == "EPERM" ? "Operation not permitted" : "Function not implemented"
        #expect(child.output == what.output.map { $0.replacing("REASON", with: reason) }, "\(child)")
        #expect(child.signal == (what.isAborted ? SIGABRT : nil), "\(child)")
        if let errors = what.errors {
            #expect(child.errorCount(of: errors.replacing("REASON", with: reason)) == what.count, "\(child.errors)")
        } else {
            #expect(child.errors == "")
        }
        for wrong in ["closed", "is gone", "no descriptor", "always ready", "another user"] {
            #expect(!(child.errors + child.output.joined()).contains(wrong), "\(child)")
        }
    }

    private static func forbids(_ call: String) -> String {
        "the kernel or a sandbox forbids \(call) (REASON); have the sandbox allow this system call"
    }

    static let cases = [
        Case(scenario: "epoll_create1", output: ["forbidden: \(forbids("epoll_create1(2)"))"]),
        Case(
            scenario: "epoll_ctl",
            output: ["not pollable", "forbidden: \(forbids("epoll_ctl(2)"))"]),
        Case(
            scenario: "epoll_ctl-later",
            errors: "\(forbids("epoll_ctl(2)")). A source of descriptor", count: 2),
        Case(
            scenario: "epoll_ctl-removed", output: ["timedOut"],
            errors: "\(forbids("epoll_ctl(2)")). The descriptors of mode"),
        Case(
            scenario: "epoll_wait", errors: "\(forbids("epoll_wait(2)")). The run loop cannot continue", isAborted: true
        ),
        Case(
            scenario: "epoll_wait-host", output: ["the host goes on"],
            errors: "\(forbids("epoll_wait(2)")). The host main loop does not serve this run loop any more"),
        Case(
            scenario: "eventfd2", output: ["fired", "finished"],
            errors: "the main run loop cannot serve the main dispatch queue: \(forbids("eventfd2(2)"))"),
        Case(scenario: "eventfd2-signal", output: ["forbidden: \(forbids("eventfd2(2)"))"]),
        Case(scenario: "rt_sigaction", output: ["forbidden: \(forbids("rt_sigaction(2)"))"]),
        Case(
            scenario: "timerfd_create", output: ["fired"],
            errors: "\(forbids("timerfd_create(2)")). Without this call, timers and descriptors are late while a host"),
        Case(scenario: "timerfd_create-port", output: ["forbidden: \(forbids("timerfd_create(2)"))"]),
        Case(scenario: "socket", output: ["forbidden: \(forbids("socket(2)"))"]),
        Case(scenario: "connect", output: ["forbidden: \(forbids("connect(2)"))"]),
        Case(
            scenario: "accept4", output: ["few passes"],
            errors: "port \"org.example.accept\" accepts no more senders, because accept4(2) has failed (REASON)"),
        Case(
            scenario: "memfd_create",
            output: [forbids("one of sendmsg(2), memfd_create(2), epoll_create1(2) and epoll_ctl(2)")]),
        Case(
            scenario: "ppoll", errors: "\(forbids("poll(2) or ppoll(2)")). The run loop cannot continue",
            isAborted: true),
        Case(scenario: "pipe2", output: ["fired", "finished"]),
    ]
}
