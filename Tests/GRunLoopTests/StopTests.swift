// SPDX-License-Identifier: Apache-2.0
// Stopping a run: part 1.4, items 57 to 65.

import GRunLoop
import TestSupport
import Testing

@Suite struct StopTests {
    @Test("item 57: a stop of a loop that does not run is not remembered")
    func notRunning() async throws {
        try await onFreshThread { loop in
            loop.keepAlive()
            loop.stop()
            #expect(loop.run(for: .milliseconds(20)) == .timedOut)
            onPlainThread { loop.stop() }
            #expect(loop.run(for: .milliseconds(20)) == .timedOut)
            #expect(loop.run(for: .zero) == .timedOut)
        }
    }

    @Test("item 58: a stop ends the innermost run only, and the outer run continues")
    func innermostOnly() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            loop.keepAlive()
            loop.after(.zero) {
                loop.after(.zero, "nested") { loop.stop() }
                loop.keepAlive("nested")
                trace("nested: \(loop.run(mode: "nested", for: .seconds(60)))")
                loop.after(.milliseconds(1)) {
                    trace("outer goes on")
                    loop.stop()
                }
            }
            #expect(loop.run(for: .seconds(60)) == .stopped)
            #expect(trace.lines == ["nested: stopped", "outer goes on"])
        }
    }

    @Test("item 59: a stop before a nested run began does not end that run, and ends the outer run afterwards")
    func stoppedBeforeNestedRun() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            loop.keepAlive()
            loop.keepAlive("nested")
            loop.after(.zero) {
                loop.stop()
                loop.after(.milliseconds(10), "nested") { trace("nested timer") }
                trace("nested: \(loop.run(mode: "nested", for: .milliseconds(40)))")
            }
            #expect(loop.run(for: .seconds(60)) == .stopped)
            #expect(trace.lines == ["nested timer", "nested: timedOut"])
        }
    }

    @Test("item 60: a stop at entry makes the run return stopped without a pass, and exit is still notified")
    func atEntry() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            trace.observe(loop)
            loop.source { trace("source") }.signal()
            loop.on(.entry) { _ in loop.stop() }
            #expect(loop.run(mode: .default) == .stopped)
            #expect(trace.lines == ["entry", "exit"])
        }
    }

    @Test("item 61: a stop in a beforeWaiting observer ends the wait immediately, with afterWaiting")
    func atBeforeWaiting() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            loop.keepAlive()
            trace.observe(loop)
            loop.on(.beforeWaiting) { _ in loop.stop() }
            let time = elapsed { #expect(loop.run(for: .seconds(60)) == .stopped) }
            #expect(time < .seconds(30))
            #expect(
                trace.lines == ["entry", "beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting", "exit"])
        }
    }

    @Test("item 62: a stop in an exit observer is lost")
    func atExit() async throws {
        try await onFreshThread { loop in
            loop.keepAlive()
            loop.on(.exit, repeats: false) { _ in loop.stop() }
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(loop.run(for: .milliseconds(20)) == .timedOut)
        }
    }

    @Test("item 63: after a stop in one of several due timers the others still fire, and then the run is stopped")
    func otherTimersStillFire() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let start = GRunLoop.now
            for number in 1...3 {
                let timer = GRunLoop.Timer(fireAt: start.advanced(by: .microseconds(number))) { _ in
                    trace("timer \(number)")
                    if number == 1 { loop.stop() }
                }
                loop.add(timer, forMode: .default)
            }
            loop.keepAlive()
            spin(for: .milliseconds(1))
            #expect(loop.run(for: .seconds(60)) == .stopped)
            #expect(trace.lines == ["timer 1", "timer 2", "timer 3"])
        }
    }

    @Test("item 64: another thread's stop wakes a sleeping loop; a second stop does not end the next run")
    func fromAnotherThread() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let thread = LoopThread { loop in
                loop.keepAlive()
                let time = elapsed { trace("\(loop.run(for: .seconds(60)))") }
                trace(time < .seconds(30) ? "promptly" : "late")
                trace("\(loop.run(for: .milliseconds(30)))")
            }
            thread.whileAsleep {
                thread.loop.stop()
                thread.loop.stop()
            }
            thread.join()
            #expect(trace.lines == ["stopped", "promptly", "timedOut"])
        }
    }

    @Test("item 65: a stop before the wait leaves a wake-up behind: one more pass of a run started in the same callout")
    func leavesAWakeUp() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            loop.keepAlive()
            loop.keepAlive("nested")
            trace.observe(loop, "nested", [.beforeTimers, .beforeWaiting, .afterWaiting])
            loop.on(.beforeSources, repeats: false) { _ in
                loop.stop()
                trace("\(loop.runUntilAsleep("nested"))")
            }
            // The nested run has used the wake-up. The outer run is stopped nevertheless, and does not sleep.
            #expect(loop.run(for: .seconds(60)) == .stopped)
            let pass = ["beforeTimers", "beforeWaiting", "afterWaiting"]
            #expect(trace.lines == pass + pass + ["stopped"])
        }
    }
}
