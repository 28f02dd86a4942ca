// SPDX-License-Identifier: Apache-2.0
// Version-0 sources are added, removed and invalidated: part 1.6, items 82 to 87 and 97 to 99.

import GRunLoop
import Glibc
import TestSupport
import Testing

/// A source that records its callbacks.
private func recordedSource(_ trace: Recorder, order: Int = 0) -> GRunLoop.Source {
    GRunLoop.Source(
        order: order, schedule: { _, mode in trace("schedule \(mode)") },
        cancel: { _, mode in trace("cancel \(mode)") },
        perform: { trace("perform") })
}

@Suite struct SourceLifeTests {
    @Test("item 82: schedule is called once for a loop and a mode, on the adding thread, before add returns")
    func schedule() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let source = GRunLoop.Source(
                schedule: { scheduled, mode in
                    trace("\(scheduled === loop ? "here" : "elsewhere") \(mode) on \(threadID)")
                }, perform: {})
            loop.add(source, forMode: "one")
            #expect(trace.take() == ["here one on \(threadID)"])
            loop.add(source, forMode: "two")
            #expect(trace.take() == ["here two on \(threadID)"])
            let elsewhere = Shared<pid_t>(0)
            let lines = Shared<[String]>([])
            onPlainThread {
                elsewhere.value = threadID
                loop.add(source, forMode: "three")
                lines.value = trace.take()
            }
            #expect(lines.value == ["here three on \(elsewhere.value)"])
            let other = LoopThread { other in other.add(source, forMode: "one") }
            other.join()
            #expect(trace.take().count == 1)
        }
    }

    @Test("item 83: adding a source again to the same mode does nothing")
    func addedAgain() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let source = recordedSource(trace)
            for _ in 0..<3 { loop.add(source, forMode: .default) }
            for _ in 0..<3 { loop.add(source, forMode: .common) }
            #expect(trace.take() == ["schedule kCFRunLoopDefaultMode"])
            source.signal()
            loop.run(for: .milliseconds(10))
            #expect(trace.take() == ["perform"])
            loop.remove(source, forMode: .default)
            #expect(!loop.contains(source, forMode: .default))
            #expect(trace.take() == ["cancel kCFRunLoopDefaultMode"])
        }
    }

    @Test("item 84: for the common modes schedule gets the name of each member, never the common name")
    func scheduleInCommonModes() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            try loop.addCommonMode("second")
            loop.add(recordedSource(trace), forMode: .common)
            #expect(trace.take().sorted() == ["schedule kCFRunLoopDefaultMode", "schedule second"])
            try loop.addCommonMode("third")
            #expect(trace.take() == ["schedule third"])
        }
    }

    @Test(
        "item 85: cancel is called once for the mode that a source leaves, on the removing thread, and for no other")
    func cancel() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let source = GRunLoop.Source(
                cancel: { cancelled, mode in
                    trace("\(cancelled === loop ? "here" : "elsewhere") \(mode) on \(threadID)")
                }, perform: {})
            loop.remove(source, forMode: "one")
            loop.add(source, forMode: "one")
            loop.add(source, forMode: "two")
            loop.remove(source, forMode: "three")
            loop.remove(source, forMode: .common)
            #expect(trace.take() == [])
            loop.remove(source, forMode: "one")
            loop.remove(source, forMode: "one")
            #expect(trace.take() == ["here one on \(threadID)"])
            let elsewhere = Shared<pid_t>(0)
            onPlainThread {
                elsewhere.value = threadID
                loop.remove(source, forMode: "two")
            }
            #expect(trace.take() == ["here two on \(elsewhere.value)"])
        }
    }

    @Test("item 86: invalidating clears the signal, cancels once for each mode, and leaves the common items")
    func invalidate() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let kept = Shared<GRunLoop.Source?>(nil)
            let source = GRunLoop.Source(
                cancel: { loop, mode in
                    guard let source = kept.value else { return }
                    trace("\(mode)\(source.isSignalled ? ", signalled" : "")\(source.isValid ? ", valid" : "")")
                }, perform: { trace("perform") })
            kept.value = source
            // The source keeps its closure, and the closure keeps the source.
            defer { kept.value = nil }
            for mode: GRunLoop.Mode in ["a", "b", .common] { loop.add(source, forMode: mode) }
            source.signal()
            #expect(source.isValid)
            source.invalidate()
            #expect(trace.take().sorted() == ["a", "b", "kCFRunLoopDefaultMode"])
            #expect(!source.isValid && !source.isSignalled)
            for mode: GRunLoop.Mode in ["a", "b", .default, .common] {
                #expect(!loop.contains(source, forMode: mode), "\(mode)")
            }
            try loop.addCommonMode("later")
            #expect(!loop.contains(source, forMode: "later"))
            #expect(loop.run(mode: "a") == .finished)
            kept.value = nil
        }
    }

    @Test("item 87: an invalid source cannot be signalled, added or invalidated again")
    func invalid() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let source = recordedSource(trace)
            loop.add(source, forMode: .default)
            source.invalidate()
            _ = trace.take()
            source.signal()
            loop.add(source, forMode: .default)
            loop.add(source, forMode: .common)
            source.invalidate()
            #expect(!source.isSignalled)
            #expect(!loop.contains(source, forMode: .default) && !loop.contains(source, forMode: .common))
            loop.keepAlive()
            #expect(loop.run(for: .milliseconds(5)) == .timedOut)
            #expect(trace.lines == [])
        }
    }

    @Test("item 97: a source in a loop retains the loop, and the loop's modes retain the source")
    func retained() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let before = retainCount(of: loop)
            let seen = Weak<GRunLoop.Source>()
            func makeAndAdd() {
                let source = GRunLoop.Source { trace("perform") }
                seen.object = source
                loop.add(source, forMode: .default)
                loop.add(source, forMode: "other")
                source.signal()
            }
            makeAndAdd()
            let during = retainCount(of: loop)
            #expect(during > before)
            loop.run(for: .zero)
            #expect(trace.take() == ["perform"])
            // Removes the last references to the source, and with the source those to the loop.
            func removeFromBoth() {
                guard let source = seen.object else { return }
                loop.remove(source, forMode: .default)
                loop.remove(source, forMode: "other")
            }
            removeFromBoth()
            #expect(seen.object == nil)
            #expect(retainCount(of: loop) < during)
        }
    }

    @Test("items 89, 91: a signal right before a source of several modes is performed is a new signal in each mode")
    func signalledAsItsTurnComes() async throws {
        try await onFreshThread { loop in
            let performed = Counter()
            let source = loop.source { performed.increment() }
            loop.add(source, forMode: "other")
            // A source that was performed before, and has left the loop, is released when the loop next unlocks, before
            // it calls the next source.
            func makeAndSignal() {
                let seen = Weak<GRunLoop.Source>()
                let former = GRunLoop.Source(order: -1) { [witness = Witness { source.signal() }] in
                    withExtendedLifetime(witness) {
                        if let former = seen.object { loop.remove(former, forMode: .default) }
                    }
                }
                seen.object = former
                loop.add(former, forMode: .default)
                former.signal()
            }
            makeAndSignal()
            source.signal()
            loop.run(for: .zero)
            #expect(performed.value == 1 && source.isSignalled)
            loop.run(mode: "other", for: .zero)
            #expect(performed.value == 2 && !source.isSignalled)
        }
    }

    @Test("item 98: a source's closures are released together with the source, not when it is invalidated")
    func contextGoesWithTheSource() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            var source: GRunLoop.Source? = {
                let witness = Witness { trace("released") }
                return GRunLoop.Source(
                    schedule: { _, _ in withExtendedLifetime(witness) {} },
                    cancel: { _, _ in withExtendedLifetime(witness) {} },
                    perform: { withExtendedLifetime(witness) {} })
            }()
            if let source { loop.add(source, forMode: .default) }
            source?.invalidate()
            #expect(trace.lines == [])
            source = nil
            #expect(trace.lines == ["released"])
        }
    }

    @Test("item 99 (our rule): two sources are never equal, whatever they have in common")
    func sourcesAreThemselves() async throws {
        try await onFreshThread { loop in
            let performed = Counter()
            let perform: @Sendable () -> Void = { performed.increment() }
            let one = GRunLoop.Source(perform: perform)
            let other = GRunLoop.Source(perform: perform)
            loop.add(one, forMode: .default)
            #expect(!loop.contains(other, forMode: .default))
            loop.add(other, forMode: .default)
            one.signal()
            other.signal()
            loop.run(for: .zero)
            #expect(performed.value == 2)
            loop.remove(one, forMode: .default)
            #expect(!loop.contains(one, forMode: .default) && loop.contains(other, forMode: .default))
        }
    }
}

@_silgen_name("swift_retainCount") private func runtimeRetainCount(_ object: UnsafeMutableRawPointer) -> UInt

private func retainCount(of object: AnyObject) -> UInt {
    runtimeRetainCount(Unmanaged.passUnretained(object).toOpaque())
}
