// SPDX-License-Identifier: Apache-2.0
// Modes as sets of contexts: which contexts each mode serves.

import CGRunGLib
import GRunLoop
import TestSupport
import Testing

@Suite struct ContextModeTests {
    @Test(
        "a GLib timeout on the home context is served while a common mode runs, and waits while a private mode runs"
    )
    func homeInCommonModes() async throws {
        try await onFreshThread { loop in
            try loop.addCommonMode("second")
            for mode: GRunLoop.Mode in [.default, "second", "private"] { loop.keepAlive(mode) }
            let trace = Recorder()
            let timeout = GLibSource.timeout(loop.homeContext?.pointer, milliseconds: 1) {
                trace(loop.currentMode?.rawValue ?? "none")
                return true
            }
            loop.run(mode: "private", for: .milliseconds(20))
            #expect(trace.lines == [])
            loop.run(mode: "second", for: .milliseconds(20))
            #expect(Set(trace.take()) == ["second"])
            loop.run(mode: .default, for: .milliseconds(20))
            #expect(Set(trace.take()) == ["kCFRunLoopDefaultMode"])
            // A mode that becomes common begins to serve the home context.
            try loop.addCommonMode("private")
            loop.run(mode: "private", for: .milliseconds(20))
            #expect(Set(trace.take()) == ["private"])
            timeout.destroy()
        }
    }

    @Test("a nested run in a private mode defers GLib's sources until it returns")
    func nestedPrivateRun() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            loop.keepAlive("private")
            let timeout = GLibSource.timeout(loop.homeContext?.pointer, milliseconds: 1) {
                trace("home")
                if trace.lines.contains("nested ends") { loop.stop() }
                return true
            }
            loop.after(.zero) {
                trace("nested begins")
                loop.run(mode: "private", for: .milliseconds(20))
                trace("nested ends")
            }
            loop.keepAlive()
            #expect(loop.run(for: .seconds(60)) == .stopped)
            let lines = trace.lines
            let begin = try #require(lines.firstIndex(of: "nested begins"))
            #expect(lines[begin + 1] == "nested ends", "\(lines)")
            #expect(lines.last == "home")
            timeout.destroy()
        }
    }

    @Test(
        "a context that was added to a mode is served only there, and keeps the mode alive until it is removed")
    func addAndRemove() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let context = TestContext()
            loop.keepAlive()
            let timeout = GLibSource.timeout(context.pointer, milliseconds: 1) {
                trace(loop.currentMode?.rawValue ?? "none")
                return true
            }
            #expect(loop.run(mode: "private") == .finished)
            loop.add(GRunLoop.Context(context.pointer), forMode: "private")
            loop.add(GRunLoop.Context(context.pointer), forMode: "private")
            #expect(loop.contexts(forMode: "private").filter { $0 == .init(context.pointer) }.count == 1)
            loop.run(for: .milliseconds(10))
            #expect(trace.lines == [])
            #expect(loop.run(mode: "private", for: .milliseconds(20)) == .timedOut)
            #expect(Set(trace.take()) == ["private"])
            loop.remove(GRunLoop.Context(context.pointer), forMode: "private")
            #expect(!loop.contexts(forMode: "private").contains(.init(context.pointer)))
            #expect(loop.run(mode: "private", for: .milliseconds(20)) == .finished)
            #expect(trace.lines == [])
            timeout.destroy()
        }
    }

    @Test(
        "a context in the common modes is served in each of them, also in modes that become common later"
    )
    func commonContext() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let context = TestContext()
            loop.add(GRunLoop.Context(context.pointer), forMode: .common)
            let timeout = GLibSource.timeout(context.pointer, milliseconds: 1) {
                trace(loop.currentMode?.rawValue ?? "none")
                return true
            }
            loop.keepAlive("second")
            loop.run(mode: "second", for: .milliseconds(10))
            #expect(trace.lines == [])
            try loop.addCommonMode("second")
            for mode: GRunLoop.Mode in [.default, "second"] { loop.run(mode: mode, for: .milliseconds(20)) }
            #expect(Set(trace.take()) == ["kCFRunLoopDefaultMode", "second"])
            loop.remove(GRunLoop.Context(context.pointer), forMode: .common)
            #expect(loop.contexts(forMode: "second").contains(.init(context.pointer)) == false)
            #expect(loop.run(mode: .default) == .finished)
            #expect(loop.run(mode: "second", for: .milliseconds(10)) == .timedOut)
            #expect(trace.lines == [])
            timeout.destroy()
        }
    }

    @Test(
        "a context that a release adds before a sleep, or just before it, is served in that sleep",
        arguments: [GRunLoop.Activity.beforeSources, .beforeWaiting])
    func addedByARelease(callout: GRunLoop.Activity) async throws {
        try await onFreshThread { loop in
            loop.keepAlive()
            let isServed = Flag()
            let adds = AtDeinit {
                guard let context = g_main_context_new() else { return }
                _ = GLibSource.idle(context) {
                    isServed.set()
                    loop.stop()
                    return false
                }
                loop.add(GRunLoop.Context(context), forMode: .default)
                g_main_context_unref(context)
            }
            // The observer removes itself in its callout. The run releases it before the sleep, together with what it
            // has called.
            let held = Shared<GRunLoop.Observer?>(nil)
            held.value = GRunLoop.Observer(activities: callout) { [adds] observer, _ in
                loop.remove(observer, forMode: .default)
                held.value = nil
                withExtendedLifetime(adds) {}
            }
            if let observer = held.value { loop.add(observer, forMode: .default) }
            _ = consume adds
            #expect(loop.run(for: Patience.normal) == .stopped && isServed.isSet)
        }
    }

    @Test("a context that another thread adds to the sleeping loop's mode is served immediately, until it is removed")
    func addedWhileAsleep() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let context = TestContext()
            let thread = LoopThread.running()
            thread.whileAsleep { thread.loop.add(GRunLoop.Context(context.pointer), forMode: .default) }
            thread.waitUntilAsleep()
            invoke(in: context.pointer) { trace("on \(threadID)") }
            #expect(trace.wait(for: "on \(thread.kernelID)"))
            thread.whileAsleep { thread.loop.remove(GRunLoop.Context(context.pointer), forMode: .default) }
            thread.waitUntilAsleep()
            _ = trace.take()
            invoke(in: context.pointer) { trace("on \(threadID)") }
            thread.loop.wakeUp()
            thread.waitUntilAsleep()
            #expect(trace.lines == [])
            #expect(g_main_context_iteration(context.pointer, 0) != 0)
            #expect(trace.lines == ["on \(threadID)"])
            thread.finish()
        }
    }

    @Test(
        "a private mode has a context of its own, which is thread-default while it runs; no other mode serves it")
    func privateContext() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let contexts = Shared<[OpaquePointer?]>([])
            loop.keepAlive("one")
            loop.keepAlive("other")
            loop.keepAlive()
            for mode: GRunLoop.Mode in ["one", "other", .default] {
                loop.perform(inModes: [mode]) { contexts.update { $0.append(threadDefaultContext()) } }
                loop.run(mode: mode, for: .zero)
            }
            #expect(threadDefaultContext() == nil)
            let found = contexts.value.compactMap { $0 }
            #expect(Set(found).count == 3)
            #expect(found[2] == loop.homeContext?.pointer)
            for (mode, context) in [("one", found[0]), ("other", found[1])] {
                #expect(loop.contexts(forMode: GRunLoop.Mode(mode)) == [.init(context)])
            }
            let idle = GLibSource.idle(found[0]) {
                trace(loop.currentMode?.rawValue ?? "none")
                return false
            }
            for mode: GRunLoop.Mode in ["other", .default, "one"] { loop.run(mode: mode, for: .milliseconds(5)) }
            #expect(trace.lines == ["one"])
            withExtendedLifetime(idle) {}
        }
    }
}
