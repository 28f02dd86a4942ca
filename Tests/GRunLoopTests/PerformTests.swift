// SPDX-License-Identifier: Apache-2.0
// Performs on another thread: part 1.16, items 229 to 235 and 237.

import GRunLoop
import TestSupport
import Testing

private struct Failure: Error, Equatable {
    let number: Int
}

@Suite struct PerformTests {
    @Test("item 229: a perform wakes the sleeping loop and runs in its first mode; without modes, in the common modes")
    func wakesTheLoop() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let thread = LoopThread.running()
            let accepted = thread.whileAsleep {
                Result {
                    try thread.loop.performOnThread {
                        trace("\(threadID) in \(GRunLoop.current.currentMode?.rawValue ?? "")")
                    }
                }
            }
            try accepted.get()
            #expect(trace.wait(forCount: 1))
            #expect(trace.take() == ["\(thread.kernelID) in kCFRunLoopDefaultMode"])
            thread.finish()
        }
    }

    @Test("item 229: the first of the listed modes that runs performs it, once")
    func firstMode() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            try loop.addCommonMode("second")
            for mode: GRunLoop.Mode in ["one", "two", "private", "second"] { loop.keepAlive(mode) }
            let name: @Sendable () -> String = { loop.currentMode?.rawValue ?? "none" }
            try loop.performOnThread(inModes: ["one", "two"]) { trace("listed in \(name())") }
            try loop.performOnThread { trace("common in \(name())") }
            for mode: GRunLoop.Mode in ["private", "two", "one", "second", "two"] { loop.run(mode: mode, for: .zero) }
            #expect(trace.lines == ["listed in two", "common in second"])
        }
    }

    @Test("item 230: performAndWait blocks until the closure was called, and returns its result or throws its error")
    func waits() async throws {
        try await onFreshThread { _ in
            let thread = LoopThread.running()
            let trace = Recorder()
            let answer = try thread.loop.performAndWait { () -> String in
                spin(for: .milliseconds(10))
                trace("performed")
                return "on \(threadID)"
            }
            trace("returned")
            #expect(answer == "on \(thread.kernelID)")
            #expect(trace.lines == ["performed", "returned"])
            #expect(throws: Failure(number: 7)) {
                try thread.loop.performAndWait { () throws(Failure) -> Int in throw Failure(number: 7) }
            }
            thread.finish()
        }
    }

    @Test("item 231: on the loop's own thread performAndWait calls the closure directly")
    func ownThreadAtOnce() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let answer = try loop.performAndWait { () -> Int in
                trace("performed")
                return 3
            }
            trace("returned")
            #expect(answer == 3)
            #expect(trace.lines == ["performed", "returned"])
            #expect(throws: Failure(number: 1)) {
                try loop.performAndWait { () throws(Failure) in throw Failure(number: 1) }
            }
        }
    }

    @Test(
        "item 231: on the loop's own thread performOnThread queues, and the loop does not sleep before it has performed"
    )
    func ownThreadQueued() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            loop.keepAlive()
            trace.observe(loop)
            for activity: GRunLoop.Activity in [.beforeTimers, .beforeWaiting, .afterWaiting] {
                loop.on(activity, order: 1, repeats: false) { _ in
                    let error = Result { try loop.performOnThread { trace("performed") } }
                    trace("queued")
                    if case .failure = error { trace("refused") }
                }
            }
            loop.on(.beforeWaiting, order: 2) { _ in if trace.count(of: "performed") == 3 { loop.stop() } }
            loop.after(.zero) {}
            let time = elapsed { #expect(loop.run(for: .seconds(60)) == .stopped) }
            #expect(time < .seconds(30))
            let lines = trace.lines.filter { ["queued", "performed"].contains($0) }
            #expect(lines == ["queued", "performed", "queued", "queued", "performed", "performed"])
        }
    }

    @Test("item 232: an empty list of modes returns without performing")
    func noModes() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            loop.keepAlive()
            try loop.performOnThread(inModes: []) { trace("performed") }
            loop.run(for: .milliseconds(5))
            #expect(trace.lines == [])
        }
    }

    @Test("item 232: waiting with an empty list of modes is a programmer error, with a message")
    func waitingForNothing() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try GRunLoop.main.performAndWait(inModes: []) { 1 }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(
            text.contains(
                "GRunLoop.performAndWait: the list of modes is empty, so the call would wait forever; pass a mode"))
    }

    @Test(
        "item 233: an ended thread refuses performs; those that are queued at its end are dropped, and waiters fail"
    )
    func threadHasEnded() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let mayEnd = Flag()
            let thread = LoopThread { loop in
                loop.keepAlive()
                mayEnd.wait()
            }
            let loop = thread.loop
            let waiters = (0..<3).map { _ in
                startThread {
                    do {
                        try loop.performAndWait { trace("performed") }
                        trace("waited in vain")
                    } catch {
                        trace(error is GRunLoop.LoopEndedError ? "told" : "\(error)")
                    }
                }
            }
            // A waiter is first in the queue. Its error must not depend on the performs behind it.
            #expect(waitUntil { loop.description.contains("signalled = Yes") })
            try loop.performOnThread { trace("performed") }
            mayEnd.set()
            thread.join()
            for waiter in waiters { join(waiter) }
            #expect(trace.take() == ["told", "told", "told"])
            #expect(throws: GRunLoop.LoopEndedError.self) { try loop.performOnThread { trace("performed") } }
            #expect(throws: GRunLoop.LoopEndedError.self) { try loop.performAndWait { trace("performed") } }
            let error = #expect(throws: GRunLoop.LoopEndedError.self) { try loop.performOnThread {} }
            #expect(error?.description.contains("the run loop's thread has ended") == true)
            #expect(trace.lines == [])
        }
    }

    @Test(
        "item 234: a perform is a version-0 source by its stack, not a timer; it ends a run that returns after a source"
    )
    func isASource() async throws {
        try await onFreshThread { loop in
            let frames = Shared<[String]>([])
            loop.keepAlive()
            try loop.performOnThread { frames.value = functionsOnTheStack() }
            #expect(loop.nextFireDate(forMode: .default) == nil)
            #expect(loop.run(for: .seconds(60), returningAfterSourceHandled: true) == .handledSource)
            #expect(frames.value.contains { $0.hasPrefix("callOutToSource(") }, "\(frames.value)")
        }
    }

    @Test("item 235: all queued performs run in one pass, first in, first out")
    func allInOnePass() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            loop.keepAlive()
            loop.on(.beforeTimers) { _ in trace("pass") }
            for number in 1...4 { try loop.performOnThread { trace("perform \(number)") } }
            let queued = Shared<[Bool]>([])
            onPlainThread {
                let isQueued = (try? loop.performOnThread { trace("perform 5") }) != nil
                queued.value = [isQueued]
            }
            #expect(queued.value == [true])
            #expect(loop.run(for: .zero) == .timedOut)
            #expect(trace.lines == ["pass", "perform 1", "perform 2", "perform 3", "perform 4", "perform 5"])
        }
    }

    @Test(
        "item 237: a flag set by another thread does not end run(mode:before:); a flag set by work on the loop does"
    )
    func flags() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let isDone = Flag()
            let thread = LoopThread { loop in
                loop.keepAlive()
                trace.observe(loop, .default, [.exit])
                while !isDone.isSet { loop.run(mode: .default, before: GRunLoop.distantFuture) }
                trace("the loop is left")
            }
            thread.whileAsleep { isDone.set() }
            thread.waitUntilAsleep()
            #expect(trace.lines == [])
            thread.loop.wakeUp()
            thread.waitUntilAsleep()
            #expect(trace.lines == [])
            try thread.loop.performOnThread {}
            thread.join()
            #expect(trace.lines == ["exit", "the loop is left"])
        }
    }

    @Test("item 237: a flag that a perform sets ends the wait for the flag")
    func flagSetByPerform() async throws {
        try await onFreshThread { _ in
            let isDone = Flag()
            let thread = LoopThread { loop in
                loop.keepAlive()
                while !isDone.isSet { loop.run(mode: .default, before: GRunLoop.distantFuture) }
            }
            let accepted = thread.whileAsleep { Result { try thread.loop.performOnThread { isDone.set() } } }
            try accepted.get()
            thread.join()
            #expect(isDone.isSet)
        }
    }
}
