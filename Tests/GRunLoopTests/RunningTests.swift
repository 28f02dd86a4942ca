// SPDX-License-Identifier: Apache-2.0
// When a run returns, and its result: part 1.2, items 16 to 28.

import GRunLoop
import TestSupport
import Testing

@Suite struct RunningTests {
    @Test(
        "items 16, 17: a mode without sources, timers and blocks is finished immediately, and calls no observers")
    func emptyMode() async throws {
        try await onFreshThread { loop in
            for mode: GRunLoop.Mode in [.default, "private"] {
                let trace = Recorder()
                trace.observe(loop, mode)
                // The mode had an item that was removed, and another mode has a block.
                let source = loop.keepAlive(mode)
                loop.remove(source, forMode: mode)
                loop.perform(inModes: ["another"]) {}
                #expect(loop.run(mode: mode) == .finished)
                #expect(loop.run(mode: mode, for: .seconds(60)) == .finished)
                #expect(loop.run(mode: mode, for: .zero) == .finished)
                #expect(loop.run(mode: mode, returningAfterSourceHandled: true) == .finished)
                #expect(GRunLoop.RunResult.finished.rawValue == 1)
                #expect(trace.lines == [])
            }
        }
    }

    @Test("item 18: a run of an unknown mode is finished, and does not create the mode")
    func unknownMode() async throws {
        try await onFreshThread { loop in
            #expect(loop.run(mode: "unknown") == .finished)
            #expect(loop.run(mode: "unknown", for: .zero) == .finished)
            #expect(loop.allModes == [.default])
        }
    }

    @Test("item 19: the common modes cannot be run: the result is finished, and the error is logged once in a process")
    func commonModesCannotRun() {
        let child = runChild("run-in-common-modes")
        #expect(child.output == ["finished", "finished", "finished", "false", "nothing ran"])
        #expect(child.errorCount(of: "GRunLoop-CRITICAL") == 1)
        #expect(child.errors.contains(".common"))
        #expect(child.status == 0)
    }

    @Test("item 22: a timer that is years away keeps its mode from being finished")
    func farTimer() async throws {
        try await onFreshThread { loop in
            for fireAt in [GRunLoop.now.advanced(by: .seconds(10 * 365 * 86_400)), GRunLoop.distantFuture] {
                let timer = GRunLoop.Timer(fireAt: fireAt) { _ in }
                loop.add(timer, forMode: "private")
                let time = elapsed { #expect(loop.run(mode: "private", for: .milliseconds(30)) == .timedOut) }
                #expect(time >= .milliseconds(30))
                timer.invalidate()
            }
        }
    }

    @Test("item 23: the run ends with finished right after the pass in which the last one-shot timer has fired")
    func lastTimer() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            trace.observe(loop)
            loop.after(.milliseconds(5)) {
                trace("one")
                loop.after(.milliseconds(5)) {
                    trace("last")
                    loop.perform { trace("block") }
                }
            }
            let time = elapsed { #expect(loop.run(for: .seconds(60)) == .finished) }
            #expect(time < .seconds(30))
            #expect(
                trace.lines == [
                    "entry", "beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting", "one",
                    "beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting", "last", "block", "exit",
                ])
        }
    }

    @Test("item 24: a run times out at the end of a pass, if its time is over then, and not earlier")
    func timeIsUp() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            loop.keepAlive()
            trace.observe(loop)
            let time = elapsed { #expect(loop.run(for: .milliseconds(40)) == .timedOut) }
            #expect(time >= .milliseconds(40))
            #expect(GRunLoop.RunResult.timedOut.rawValue == 3)
            #expect(
                trace.take() == ["entry", "beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting", "exit"])
            // The time passes in the middle of a pass, and the pass is completed.
            loop.perform {
                trace("block")
                spin(for: .milliseconds(30))
            }
            loop.on(.afterWaiting, repeats: false) { _ in loop.perform { trace("last block") } }
            #expect(loop.run(for: .milliseconds(20)) == .timedOut)
            #expect(
                trace.lines == [
                    "entry", "beforeTimers", "beforeSources", "block", "beforeWaiting", "afterWaiting", "last block",
                    "exit",
                ])
        }
    }

    @Test("item 25: a stopped run returns stopped at the end of its pass")
    func stopped() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            loop.keepAlive()
            trace.observe(loop)
            loop.on(.beforeSources) { _ in
                trace("stop")
                loop.stop()
                loop.perform { trace("block") }
            }
            #expect(loop.run(mode: .default) == .stopped)
            #expect(GRunLoop.RunResult.stopped.rawValue == 2)
            #expect(
                trace.lines == [
                    "entry", "beforeTimers", "beforeSources", "stop", "block", "beforeWaiting", "afterWaiting", "exit",
                ])
        }
    }

    @Test("item 26: if requested, a run returns at the end of the pass in which a version-0 source was performed")
    func returnsAfterSource() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            trace.observe(loop)
            let source = loop.source {
                trace("source")
                loop.perform { trace("block") }
            }
            source.signal()
            #expect(loop.run(for: .seconds(60), returningAfterSourceHandled: true) == .handledSource)
            #expect(trace.lines == ["entry", "beforeTimers", "beforeSources", "source", "block", "exit"])
            #expect(GRunLoop.RunResult.handledSource.rawValue == 4)
        }
    }

    @Test("item 26: if requested, a run returns at the end of the pass in which a version-1 source was performed")
    func returnsAfterDescriptor() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            trace.observe(loop)
            let pipe = Pipe()
            let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                trace("descriptor")
                loop.perform { trace("block") }
            }
            try loop.add(source, forMode: .default)
            pipe.send()
            #expect(loop.run(for: .seconds(60), returningAfterSourceHandled: true) == .handledSource)
            #expect(
                trace.lines == [
                    "entry", "beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting", "descriptor", "block",
                    "exit",
                ])
        }
    }

    @Test("item 27: unless requested, a run never returns because of a source")
    func staysAfterSource() async throws {
        try await onFreshThread { loop in
            let pipe = Pipe()
            let performed = Counter()
            let source = loop.source { performed.increment() }
            let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                performed.increment()
                pipe.drain()
            }
            try loop.add(descriptor, forMode: .default)
            source.signal()
            pipe.send()
            #expect(loop.run(for: .milliseconds(30)) == .timedOut)
            #expect(performed.value == 2)
            source.signal()
            #expect(loop.run(for: .zero) == .timedOut)
            #expect(performed.value == 3)
            source.signal()
            loop.after(.milliseconds(10)) { loop.stop() }
            #expect(loop.run(mode: .default) == .stopped)
        }
    }

    @Test("item 28: a run that returns after a source does not return because of timers, blocks and wake-ups")
    func onlySourcesCount() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let thread = LoopThread { loop in
                loop.keepAlive()
                loop.perform { trace("block") }
                let timer = GRunLoop.Timer(fireAt: GRunLoop.now, interval: .milliseconds(5)) { timer in
                    trace("timer")
                    if trace.count(of: "timer") == 3 { timer.invalidate() }
                }
                loop.add(timer, forMode: .default)
                let result = loop.run(for: .seconds(60), returningAfterSourceHandled: true)
                trace("\(result)")
            }
            #expect(waitUntil { trace.count(of: "timer") == 3 })
            for _ in 0..<3 { thread.whileAsleep { thread.loop.wakeUp() } }
            thread.whileAsleep {
                thread.loop.perform { trace("block from elsewhere") }
                thread.loop.wakeUp()
            }
            #expect(trace.wait(for: "block from elsewhere"))
            thread.waitUntilAsleep()
            thread.finish()
            #expect(trace.lines == ["block", "timer", "timer", "timer", "block from elsewhere", "stopped"])
        }
    }
}
