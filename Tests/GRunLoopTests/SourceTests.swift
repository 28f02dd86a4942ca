// SPDX-License-Identifier: Apache-2.0
// Version-0 sources are performed: part 1.6, items 88 to 96.

import GRunLoop
import TestSupport
import Testing

@Suite struct SourceTests {
    @Test("item 88: a source that was signalled several times is performed once")
    func signalledSeveralTimes() async throws {
        try await onFreshThread { loop in
            let performed = Counter()
            let source = loop.source { performed.increment() }
            for _ in 0..<5 { source.signal() }
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(performed.value == 1)
            source.signal()
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(performed.value == 2)
        }
    }

    @Test("item 89: the signal is cleared before the source performs; a signal from inside is for the next pass")
    func signalFromInside() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            trace.observe(loop)
            let kept = Shared<GRunLoop.Source?>(nil)
            let source = loop.source {
                guard let source = kept.value else { return }
                trace(source.isSignalled ? "still signalled" : "cleared")
                if trace.count(of: "cleared") == 1 { source.signal() } else { loop.stop() }
            }
            kept.value = source
            // The source keeps its closure, and the closure keeps the source.
            defer { kept.value = nil }
            source.signal()
            #expect(loop.run(mode: .default) == .stopped)
            #expect(
                trace.lines == [
                    "entry", "beforeTimers", "beforeSources", "cleared", "beforeTimers", "beforeSources", "cleared",
                    "exit",
                ])
            kept.value = nil
        }
    }

    @Test("item 90: sources perform in ascending order; equal orders by their first signals")
    func order() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            func source(_ name: String, _ order: Int) -> GRunLoop.Source { loop.source(order: order) { trace(name) } }
            let a = source("0 a", 0)
            let b = source("0 b", 0)
            let c = source("0 c", 0)
            let late = source("7", 7)
            let early = source("-7", -7)
            for source in [late, c, a, b, c, late, a, early] { source.signal() }
            loop.run(for: .zero)
            #expect(trace.take() == ["-7", "0 c", "0 a", "0 b", "7"])
            for source in [b, a, c, b] { source.signal() }
            loop.run(for: .zero)
            #expect(trace.take() == ["0 b", "0 a", "0 c"])
        }
    }

    @Test("item 91: a source that another source signals in the same pass performs in the next pass")
    func signalledByAnotherSource() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            loop.on(.beforeTimers) { _ in trace("pass") }
            let later = loop.source(order: 5) { trace("later") }
            let earlier = loop.source(order: -5) { trace("earlier") }
            let first = loop.source(order: 0) {
                trace("first")
                later.signal()
                earlier.signal()
            }
            first.signal()
            #expect(loop.run(for: .zero) == .timedOut)
            #expect(trace.take() == ["pass", "first"])
            #expect(loop.run(for: .zero) == .timedOut)
            #expect(trace.take() == ["pass", "earlier", "later"])
        }
    }

    @Test("item 92 (our rule): a source that another source removes in the same pass is cancelled and does not perform")
    func removedByAnotherSource() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let removed = GRunLoop.Source(
                order: 2, cancel: { _, _ in trace("cancelled") }, perform: { trace("removed one performed") })
            loop.add(removed, forMode: .default)
            let remover = loop.source(order: 1) { loop.remove(removed, forMode: .default) }
            remover.signal()
            removed.signal()
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(trace.lines == ["cancelled"])
            #expect(removed.isValid && removed.isSignalled)
            // The signal is not lost: the source performs when it is in a mode again.
            loop.add(removed, forMode: .default)
            #expect(loop.run(for: .zero) == .timedOut)
            #expect(trace.lines == ["cancelled", "removed one performed"])
        }
    }

    @Test("item 93: a source that another source invalidates in the same pass does not perform")
    func invalidatedByAnotherSource() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let other = loop.source(order: 2) { trace("invalid one performed") }
            let invalidator = loop.source(order: 1) {
                trace("invalidates")
                other.invalidate()
            }
            other.signal()
            invalidator.signal()
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(trace.lines == ["invalidates"])
        }
    }

    @Test("item 94: a source stays signalled while the loop runs a mode that it is not in")
    func otherMode() async throws {
        try await onFreshThread { loop in
            let performed = Counter()
            let source = loop.source("its own") { performed.increment() }
            loop.keepAlive()
            source.signal()
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(performed.value == 0 && source.isSignalled)
            #expect(loop.run(mode: "its own", for: .zero) == .timedOut)
            #expect(performed.value == 1 && !source.isSignalled)
            // The same happens if the signal arrives while that other mode runs.
            loop.perform { source.signal() }
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(performed.value == 1 && source.isSignalled)
            #expect(loop.run(mode: "its own", for: .zero) == .timedOut)
            #expect(performed.value == 2)
        }
    }

    @Test("item 95: a signal survives the removal of its source and its addition")
    func signalSurvivesRemoval() async throws {
        try await onFreshThread { loop in
            let performed = Counter()
            let source = loop.source { performed.increment() }
            loop.keepAlive()
            source.signal()
            loop.remove(source, forMode: .default)
            #expect(source.isSignalled)
            #expect(loop.run(for: .zero) == .timedOut)
            #expect(performed.value == 0)
            loop.add(source, forMode: .default)
            #expect(loop.run(for: .zero) == .timedOut)
            #expect(performed.value == 1)
            // The signal also survives if the source was in no mode.
            loop.remove(source, forMode: .default)
            source.signal()
            loop.add(source, forMode: "other")
            #expect(loop.run(mode: "other", for: .zero) == .timedOut)
            #expect(performed.value == 2)
        }
    }

    @Test("item 96: of two loops that a source is in, exactly one performs a signal")
    func twoLoops() async throws {
        try await onFreshThread { _ in
            let performed = Recorder()
            let source = GRunLoop.Source { performed(GRunLoop.current.currentMode?.rawValue ?? "none") }
            let threads = ["one", "other"].map { name in
                LoopThread { loop in
                    let mode = GRunLoop.Mode(name)
                    loop.add(source, forMode: mode)
                    loop.run(mode: mode)
                }
            }
            for round in 1...100 {
                for thread in threads { thread.waitUntilAsleep() }
                source.signal()
                for thread in threads { thread.loop.wakeUp() }
                #expect(performed.wait(forCount: round))
            }
            for thread in threads { thread.waitUntilAsleep() }
            for thread in threads { thread.finish() }
            #expect(performed.lines.count == 100)
            #expect(!source.isSignalled)
        }
    }
}
