// SPDX-License-Identifier: Apache-2.0
// The stages of a pass in which a wake-up counts: part 1.5, items 70 to 72.

import GRunLoop
import TestSupport
import Testing

private let pass = ["beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting"]

@Suite struct WakeUpStageTests {
    @Test("item 70: from afterWaiting to the end of the pass a wake-up is ignored: the next pass sleeps")
    func ignoredAfterTheWait() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let keeper = loop.keepAlive()
            trace.observe(loop)

            func stages() -> [String] {
                #expect(loop.runUntilAsleep() == .stopped)
                return trace.take()
            }
            loop.on(.afterWaiting, repeats: false) { _ in loop.wakeUp() }
            #expect(stages() == ["entry"] + pass + ["exit"])

            loop.after(.zero) { loop.wakeUp() }
            #expect(stages() == ["entry"] + pass + pass + ["exit"])

            loop.after(.zero) { loop.perform { loop.wakeUp() } }
            #expect(stages() == ["entry"] + pass + pass + ["exit"])

            let pipe = Pipe()
            let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                pipe.drain()
                loop.wakeUp()
            }
            try loop.add(descriptor, forMode: .default)
            pipe.send()
            #expect(stages() == ["entry"] + pass + pass + ["exit"])

            // A wake-up from another thread has the same effect.
            loop.after(.zero) { onPlainThread { loop.wakeUp() } }
            #expect(stages() == ["entry"] + pass + pass + ["exit"])
            keeper.invalidate()
        }
    }

    @Test("item 71: before the wait a wake-up counts: the wait ends immediately and another pass follows")
    func countsBeforeTheWait() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            loop.keepAlive()
            trace.observe(loop)
            func stages() -> [String] {
                #expect(loop.runUntilAsleep() == .stopped)
                return trace.take()
            }
            for activity: GRunLoop.Activity in [.beforeTimers, .beforeSources, .beforeWaiting] {
                loop.on(activity, repeats: false) { _ in loop.wakeUp() }
                #expect(stages() == ["entry"] + pass + pass + ["exit"], "\(activity)")
            }
            loop.perform { loop.wakeUp() }
            #expect(stages() == ["entry"] + pass + pass + ["exit"])
            // After a handled source the wait only polls, and uses the wake-up.
            loop.source { loop.wakeUp() }.signal()
            #expect(stages() == ["entry", "beforeTimers", "beforeSources"] + pass + ["exit"])
        }
    }

    @Test("item 72: at entry a wake-up counts")
    func countsAtEntry() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            loop.keepAlive()
            trace.observe(loop)
            loop.on(.entry) { _ in loop.wakeUp() }
            for _ in 0..<2 {
                #expect(loop.runUntilAsleep() == .stopped)
                #expect(trace.take() == ["entry"] + pass + pass + ["exit"])
            }
        }
    }
}
