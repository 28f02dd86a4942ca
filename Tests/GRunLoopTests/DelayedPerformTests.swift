// SPDX-License-Identifier: Apache-2.0
// Performing later and in order: part 1.16, items 224 to 228 and 236.

import GRunLoop
import TestSupport
import Testing

private final class Target: Sendable {}

@Suite struct DelayedPerformTests {
    @Test("item 224: a delayed perform is a timer of the current loop in the default mode, and waits for that mode")
    func delayed() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let start = GRunLoop.now
            let performed = Shared<GRunLoop.Instant?>(nil)
            loop.perform(after: .milliseconds(30)) {
                performed.value = GRunLoop.now
                trace("performed in \(loop.currentMode?.rawValue ?? "none")")
            }
            let date = try #require(loop.nextFireDate(forMode: .default))
            #expect(date >= start.advanced(by: .milliseconds(30)) && date < start.advanced(by: .seconds(10)))
            loop.keepAlive("other")
            loop.run(mode: "other", for: .milliseconds(40))
            #expect(trace.lines == [])
            #expect(loop.run(for: .seconds(60)) == .finished)
            #expect(trace.lines == ["performed in kCFRunLoopDefaultMode"])
            #expect(try #require(performed.value) >= start.advanced(by: .milliseconds(30)))

            // A thread that never runs its loop performs nothing, and releases the closure when it ends.
            LoopThread { loop in
                let witness = Witness { trace("released") }
                loop.perform(after: .zero) {
                    trace("performed without a run")
                    withExtendedLifetime(witness) {}
                }
            }.join()
            #expect(trace.lines.dropFirst() == ["released"])
        }
    }

    @Test("item 225: a perform with zero delay is not called immediately, but as soon as the loop runs the mode")
    func noDelay() async throws {
        try await onFreshThread { loop in
            for delay in [Duration.zero, .seconds(-1)] {
                let trace = Recorder()
                loop.perform(after: delay) { trace("performed") }
                #expect(trace.lines == [])
                loop.run(for: .zero)
                #expect(trace.lines == ["performed"])
            }
        }
    }

    @Test("item 226: a perform for several modes is in each of them and called once; an empty list means never")
    func inModes() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            loop.perform(after: .zero, inModes: ["one", "two", "one"]) { trace(loop.currentMode?.rawValue ?? "none") }
            #expect(loop.nextFireDate(forMode: "one") != nil && loop.nextFireDate(forMode: "two") != nil)
            loop.perform(after: .zero, inModes: []) { trace("never") }
            #expect(loop.nextFireDate(forMode: .default) == nil)
            for mode: GRunLoop.Mode in [.default, "two", "one", "two"] { loop.run(mode: mode, for: .zero) }
            #expect(trace.lines == ["two"])
        }
    }

    @Test("item 227: cancelling removes this loop's delayed performs of a target or key; other threads' performs stay")
    func cancel() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let target = Target()
            let other = Target()
            loop.perform(after: .zero, target: target, key: "a") { trace("a") }
            loop.perform(after: .zero, target: target, key: "b") { trace("b") }
            loop.perform(after: .zero, target: target, key: "b") { trace("b again") }
            loop.perform(after: .zero, target: target) { trace("no key") }
            loop.perform(after: .zero, target: other, key: "a") { trace("other's a") }
            loop.perform(after: .zero) { trace("no target") }
            try loop.performOnThread { trace("from a thread") }
            loop.cancelPerforms(target: target, key: "b")
            loop.run(for: .zero)
            loop.run(for: .zero)
            #expect(trace.take().sorted() == ["a", "from a thread", "no key", "no target", "other's a"])

            for key in ["a", "b"] { loop.perform(after: .zero, target: target, key: key) { trace(key) } }
            loop.perform(after: .zero, target: other, key: "a") { trace("other's a") }
            loop.cancelPerforms(target: target)
            loop.run(for: .zero)
            #expect(trace.take() == ["other's a"])

            // Performs of the same target on another loop stay.
            let ready = Flag()
            let thread = LoopThread { loop in
                loop.perform(after: .milliseconds(1), target: target, key: "a") { trace("another loop's") }
                ready.wait()
                loop.run(for: .seconds(60))
            }
            loop.cancelPerforms(target: target)
            ready.set()
            thread.join()
            #expect(trace.lines == ["another loop's"])
        }
    }

    @Test("item 228: the closure and target of a pending perform are kept until it was performed or cancelled")
    func retained() async throws {
        try await onFreshThread { loop in
            for isCancelled in [false, true] {
                let trace = Recorder()
                let seen = Weak<Target>()
                func performLater() {
                    let target = Target()
                    seen.object = target
                    let witness = Witness { trace("argument released") }
                    loop.perform(after: .zero, target: target, key: 1) {
                        withExtendedLifetime(witness) { trace("performed") }
                    }
                }
                performLater()
                #expect(seen.object != nil)
                #expect(trace.lines == [])
                if isCancelled {
                    func cancel() { if let target = seen.object { loop.cancelPerforms(target: target) } }
                    cancel()
                    #expect(trace.lines == ["argument released"])
                } else {
                    loop.run(for: .zero)
                    #expect(trace.lines == ["performed", "argument released"])
                }
                #expect(seen.object == nil)
            }
        }
    }

    @Test("item 236: ordered performs run once, at the start of the next pass: by order, then first in, first out")
    func ordered() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            for (order, name) in [(5, "5"), (1, "1 first"), (-3, "-3"), (1, "1 second")] {
                loop.perform(order: order, inModes: [.default, "other"]) { trace(name) }
            }
            loop.perform(order: 0, inModes: []) { trace("never") }
            loop.after(.zero) { trace("timer") }
            loop.keepAlive("other")
            loop.keepAlive()
            #expect(loop.run(for: .zero) == .timedOut)
            #expect(trace.take() == ["-3", "1 first", "1 second", "5", "timer"])
            loop.run(mode: "other", for: .zero)
            loop.run(for: .zero)
            #expect(trace.lines == [])
        }
    }

    @Test("item 236: an ordered perform that is cancelled before the pass does not run")
    func orderedCancelled() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let target = Target()
            let other = Target()
            loop.keepAlive()
            loop.perform(order: 0, inModes: [.default], target: target, key: "a") { trace("a") }
            loop.perform(order: 0, inModes: [.default], target: target, key: "b") { trace("b") }
            loop.perform(order: 0, inModes: [.default], target: other, key: "a") { trace("other's a") }
            loop.cancelPerforms(target: target, key: "a")
            loop.run(for: .zero)
            #expect(trace.take() == ["b", "other's a"])
            loop.perform(order: 0, inModes: [.default], target: target, key: "a") { trace("a") }
            loop.perform(order: 1, inModes: [.default], target: other, key: "a") { trace("other's a") }
            loop.cancelPerforms(target: target)
            loop.run(for: .zero)
            #expect(trace.take() == ["other's a"])
            // Another perform can cancel it, in the same pass.
            loop.perform(order: 0, inModes: [.default]) { loop.cancelPerforms(target: target) }
            loop.perform(order: 1, inModes: [.default], target: target) { trace("a") }
            loop.run(for: .zero)
            #expect(trace.lines == [])
        }
    }
}
