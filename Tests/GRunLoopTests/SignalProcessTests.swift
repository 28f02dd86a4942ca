// SPDX-License-Identifier: Apache-2.0
// What signals do to a process: each fact has one of its own, of grun-test-child.

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

    @Test("of 10,000 that another process queues, 10,000 are told, by two loops each")
    func queued() { #expect(lines(of: "signals-queued") == ["10000 and 10000 of 10000"]) }

    @Test("of bursts of a standard signal a callout begins after the last one, and none comes more often than sent")
    func bursts() { #expect(lines(of: "signals-in-bursts") == ["after the last one", "not more than sent"]) }

    @Test("no thread dies of a signal that is heard; with the last source gone it ends the process as before")
    func defaultReturns() {
        let child = runChild("signals-default")
        #expect(child.output == ["heard 20 times with 8 threads", "given back"])
        #expect(child.signal == SIGTERM)
    }

    @Test("nohup: an ignored SIGHUP is heard, and ignored again")
    func nohup() { #expect(lines(of: "signals-nohup") == ["heard", "ignored again"]) }

    @Test("in a forked child the handler does nothing: the parent is told of nothing, and the child goes on")
    func forked() { #expect(lines(of: "signals-forked") == ["child: went on", "parent: 0", "parent: 1"]) }

    @Test("a program that is started inherits no descriptor, no mask and no ignored signal")
    func executed() {
        #expect(lines(of: "signals-executed") == ["the same descriptors", "nothing blocked, as before"])
    }

    @Test("what a signal costs does not grow with the sources that have gone")
    func afterMany() { #expect(lines(of: "signals-after-many") == ["each of them costs", "none that has gone does"]) }

    @Test("a copy of our handler that somebody puts back after the last source does what was given back")
    func copied() {
        let child = runChild("signals-copied")
        #expect(child.output == ["ignored", "theirs: 60", "heard", "theirs: again", "ended a forked child"])
        #expect(child.signal == SIGTERM, "\(child.errors)")
    }

    @Test(
        "a source that is made while a handler finds no listener hears the next signal",
        arguments: ["signals-made-before-the-handler-looks", "signals-made-while-the-handler-restores"]
    )
    func madeBesideAHandler(scenario: String) { #expect(lines(of: scenario) == ["heard"]) }

    @Test("where no descriptor is left that is said, and nothing has changed")
    func limit() { #expect(lines(of: "signals-without-descriptors") == ["limitReached", "default", "heard"]) }
}
