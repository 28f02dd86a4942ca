// SPDX-License-Identifier: Apache-2.0
// The effects of another thread's calls on a sleeping loop: part 1.5, items 74 to 78.

import GRunLoop
import TestSupport
import Testing

/// Starts a thread whose loop sleeps in the default mode, and records the loop's activities from then on.
private func sleepingThread(
    _ trace: Recorder, _ prepare: @escaping @Sendable (GRunLoop) -> Void = { $0.keepAlive() }
) -> LoopThread {
    let thread = LoopThread { loop in
        trace.observe(loop)
        prepare(loop)
        loop.run()
    }
    thread.waitUntilAsleep()
    _ = trace.take()
    return thread
}

private let aPass = ["afterWaiting", "beforeTimers", "beforeSources", "beforeWaiting"]

@Suite struct WakeUpFromElsewhereTests {
    @Test("item 74: a signal alone does not wake a sleeping loop; with a wake-up the source is performed")
    func signalNeedsWakeUp() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let source = GRunLoop.Source { trace("source") }
            let thread = sleepingThread(trace) { $0.add(source, forMode: .default) }
            thread.whileAsleep { source.signal() }
            thread.waitUntilAsleep()
            #expect(trace.lines == [])
            #expect(source.isSignalled)
            thread.whileAsleep { thread.loop.wakeUp() }
            #expect(trace.wait(for: "source"))
            thread.waitUntilAsleep()
            #expect(
                trace.take() == [
                    "afterWaiting", "beforeTimers", "beforeSources", "source", "beforeTimers", "beforeSources",
                    "beforeWaiting",
                ])
            thread.whileAsleep {
                source.signal()
                thread.loop.wakeUp()
            }
            #expect(trace.wait(for: "source"))
            thread.finish()
        }
    }

    @Test("items 67, 71: a wake-up ends the sleep after a callout that has left a foreign loop before the loop's sleep")
    func afterForeignLoop() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let thread = sleepingThread(trace)
            thread.loop.async { [loop = thread.loop] in
                // The last iteration notifies beforeWaiting, and no further iteration follows it.
                settleHost(loop.homeContext?.pointer)
                trace("left")
            }
            #expect(trace.wait(for: "left"))
            thread.waitUntilAsleep()
            thread.loop.perform { trace("block") }
            thread.loop.wakeUp()
            #expect(trace.wait(for: "block", timeout: .seconds(5)))
            // Ends a sleep in which wake-ups do not count, so that a failing test does not hang.
            thread.loop.after(.zero) {}
            thread.finish()
        }
    }

    @Test("item 75: a sleeping loop does not notice additions, removals, invalidations and blocks until it is woken")
    func notNoticed() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let first = GRunLoop.Source {}
            let second = GRunLoop.Source {}
            let added = GRunLoop.Source { trace("added source") }
            let thread = sleepingThread(trace) { loop in
                loop.add(first, forMode: .default)
                loop.add(second, forMode: .default)
            }
            let loop = thread.loop
            thread.whileAsleep {
                added.signal()
                loop.add(added, forMode: .default)
                loop.perform { trace("block") }
            }
            thread.waitUntilAsleep()
            #expect(trace.take() == [])
            loop.wakeUp()
            #expect(trace.wait(for: "added source"))
            thread.waitUntilAsleep()
            #expect(trace.take().filter { $0.contains("added") || $0 == "block" } == ["block", "added source"])
            // The mode is empty now, but the run does not end without a wake-up.
            thread.whileAsleep {
                loop.remove(first, forMode: .default)
                second.invalidate()
                added.invalidate()
            }
            thread.waitUntilAsleep()
            #expect(trace.take() == [])
            #expect(!thread.hasEnded)
            loop.wakeUp()
            thread.join()
            #expect(trace.lines == ["afterWaiting", "exit"])
        }
    }

    @Test("item 76: a timer that another thread adds fires in time without a wake-up")
    func addedTimer() async throws {
        try await onFreshThread { _ in
            for hasOtherTimer in [false, true] {
                let trace = Recorder()
                let thread = sleepingThread(trace) { loop in
                    loop.keepAlive()
                    if hasOtherTimer { loop.after(.seconds(3600)) {} }
                }
                let fired = Shared<GRunLoop.Instant?>(nil)
                let date = GRunLoop.now.advanced(by: .milliseconds(40))
                let timer = GRunLoop.Timer(fireAt: date) { _ in
                    fired.value = GRunLoop.now
                    trace("timer")
                }
                // Does not hold the thread here. A held loop finds its wait interrupted, and would check its timers
                // without the wake-up.
                thread.loop.add(timer, forMode: .default)
                #expect(trace.wait(for: "timer"))
                thread.waitUntilAsleep()
                // The only wake-up is the timer's: re-arming causes no pass.
                #expect(trace.take() == ["afterWaiting", "timer", "beforeTimers", "beforeSources", "beforeWaiting"])
                let time = try #require(fired.value)
                #expect(time >= date && time < date.advanced(by: .seconds(10)))
                thread.finish()
            }
        }
    }

    @Test("item 77: a fire date that another thread sets re-arms the loop and wakes it")
    func movedTimer() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let timer = GRunLoop.Timer(fireAt: GRunLoop.distantFuture) { _ in trace("timer") }
            let thread = sleepingThread(trace) { $0.add(timer, forMode: .default) }
            // The date is later than the end of the sleep, so that only the explicit wake-up can end the sleep.
            thread.whileAsleep { timer.fireDate = GRunLoop.now.advanced(by: .seconds(7200)) }
            #expect(trace.wait(forCount: aPass.count))
            thread.waitUntilAsleep()
            #expect(trace.take() == aPass)
            thread.whileAsleep { timer.fireDate = GRunLoop.now.advanced(by: .milliseconds(30)) }
            #expect(trace.wait(for: "timer"))
            thread.join()
            #expect(timer.isValid == false)
        }
    }

    @Test("item 78: a descriptor source that another thread adds is watched immediately, without a wake-up")
    func addedDescriptor() async throws {
        try await onFreshThread { _ in
            for hasOtherDescriptor in [false, true] {
                let trace = Recorder()
                let silent = Pipe()
                let pipe = Pipe()
                let other = GRunLoop.DescriptorSource(descriptor: silent.readEnd) { _, _ in }
                let thread = sleepingThread(trace) { loop in
                    loop.keepAlive()
                    if hasOtherDescriptor { try? loop.add(other, forMode: .default) }
                }
                let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                    pipe.drain()
                    trace("descriptor")
                }
                // Does not hold the thread here either.
                try thread.loop.add(source, forMode: .default)
                thread.waitUntilAsleep()
                #expect(trace.take() == [])
                pipe.send()
                #expect(trace.wait(for: "descriptor"))
                thread.waitUntilAsleep()
                #expect(
                    trace.take() == ["afterWaiting", "descriptor", "beforeTimers", "beforeSources", "beforeWaiting"])
                thread.finish()
            }
        }
    }
}
