// SPDX-License-Identifier: Apache-2.0
// The effects of signals on a process. Each test runs in its own process, grun-test-child.

import Glibc
import TestSupport
import Testing

@Suite("Signals of a process") struct SignalProcessTests {
    private func lines(of scenario: String) -> [String] {
        let child = runChild(scenario)
        #expect(child.status == 0, "\(child.errors)")
        #expect(child.errors == "")
        return child.output
    }

    @Test("each of two loops receives all 10,000 signals that another process queues")
    func queued() { #expect(lines(of: "signals-queued") == ["10000 and 10000 of 10000"]) }

    @Test("in bursts of a standard signal a callout begins after the last signal; calls never outnumber signals")
    func bursts() { #expect(lines(of: "signals-in-bursts") == ["after the last one", "not more than sent"]) }

    @Test("no thread dies of a signal with a source; after the last source the signal ends the process as before")
    func defaultReturns() {
        let child = runChild("signals-default")
        #expect(child.output == ["heard 20 times with 8 threads", "given back"])
        #expect(child.signal == SIGTERM)
    }

    @Test("under nohup an ignored SIGHUP is received, and ignored again afterwards")
    func nohup() { #expect(lines(of: "signals-nohup") == ["heard", "ignored again"]) }

    @Test("in a forked child the handler does nothing: the parent receives nothing, and the child continues")
    func forked() { #expect(lines(of: "signals-forked") == ["child: went on", "parent: 0", "parent: 1"]) }

    @Test("a started program inherits no descriptor, no mask and no ignored signal")
    func executed() {
        #expect(lines(of: "signals-executed") == ["the same descriptors", "nothing blocked, as before"])
    }

    @Test("the cost of a signal does not grow with the number of released sources")
    func afterMany() { #expect(lines(of: "signals-after-many") == ["each of them costs", "none that has gone does"]) }

    @Test("if other code reinstalls our handler after the last source, it does what the former disposition does")
    func copied() {
        let child = runChild("signals-copied")
        #expect(child.output == ["ignored", "theirs: 60", "heard", "theirs: again", "ended a forked child"])
        #expect(child.signal == SIGTERM, "\(child.errors)")
    }

    @Test(
        "a source that is created while a handler finds no listener receives the next signal",
        arguments: ["signals-made-before-the-handler-looks", "signals-made-while-the-handler-restores"]
    )
    func madeBesideAHandler(scenario: String) { #expect(lines(of: scenario) == ["heard"]) }

    @Test("at the descriptor limit an error is thrown, and nothing changes")
    func limit() { #expect(lines(of: "signals-without-descriptors") == ["limitReached", "default", "heard"]) }
}
