// SPDX-License-Identifier: Apache-2.0
// Contexts in a pass: how a run serves GLib's sources with its own items (items 16 to 18, 26 and 237).

import CGRunGLib
import GRunLoop
import TestSupport
import Testing

@Suite struct ContextTests {
    @Test("the home context is fixed by the first item or run: the thread's default context, or one of the loop's own")
    func homeContext() async throws {
        try await onFreshThread { loop in
            #expect(loop.homeContext == nil)
            _ = loop.description
            #expect(loop.homeContext == nil)
            let pushed = TestContext()
            g_main_context_push_thread_default(pushed.pointer)
            loop.keepAlive()
            #expect(loop.homeContext?.pointer == pushed.pointer)
            g_main_context_pop_thread_default(pushed.pointer)
            loop.run(for: .zero)
            #expect(loop.homeContext?.pointer == pushed.pointer)
            #expect(loop.contexts(forMode: .default) == [.init(pushed.pointer)])

            let own = Shared<[OpaquePointer?]>([])
            LoopThread { loop in
                loop.run(mode: .default, for: .zero)
                let inside = Shared<OpaquePointer?>(nil)
                loop.after(.zero) { inside.value = threadDefaultContext() }
                loop.run(for: .zero)
                own.value = [loop.homeContext?.pointer, inside.value, threadDefaultContext()]
            }.join()
            // The loop's own context is pushed as thread-default while the loop runs.
            #expect(own.value[0] != nil && own.value[0] == own.value[1])
            #expect(own.value[2] == nil)
        }
    }

    @Test("a context from one mode can be added to another mode, and removed from it")
    func handedOn() async throws {
        try await onFreshThread { loop in
            let context = TestContext()
            loop.add(GRunLoop.Context(context.pointer), forMode: "one")
            let found = try #require(loop.contexts(forMode: "one").first { $0.pointer == context.pointer })
            loop.add(found, forMode: "two")
            #expect(
                loop.contains(found, forMode: "two") && loop.contains(GRunLoop.Context(context.pointer), forMode: "two")
            )
            loop.remove(found, forMode: "two")
            #expect(!loop.contains(found, forMode: "two") && loop.contains(found, forMode: "one"))
        }
    }

    @Test(
        "the caller of contexts(forMode:) or homeContext keeps the context, also after its removal and the thread's end"
    )
    func askedFor() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            /// Records when the context is freed.
            func watch(_ context: GRunLoop.Context, _ name: String) {
                let witness = Witness { trace("\(name) freed") }
                _ = GLibSource.timeout(context.pointer, milliseconds: 3_600_000) {
                    withExtendedLifetime(witness) {}
                    return false
                }
            }
            let thread = LoopThread.running()
            var home = thread.loop.homeContext
            var all: [GRunLoop.Context]? = []
            func addAndRemove() {
                let context = TestContext()
                thread.loop.add(GRunLoop.Context(context.pointer), forMode: "M")
                all = thread.loop.contexts(forMode: "M")
                thread.loop.remove(GRunLoop.Context(context.pointer), forMode: "M")
            }
            addAndRemove()
            for context in all ?? [] { watch(context, "further") }
            if let home { watch(home, "home") }
            thread.finish()
            #expect(trace.lines == [] && all?.count == 1 && home != nil)
            _ = home?.withPointer { g_main_context_iteration($0, 0) }
            all = nil
            home = nil
            #expect(trace.lines == ["further freed", "home freed"])
        }
    }

    @Test(
        "items 16, 18: sources on the home context do not keep a mode alive, and a finished mode dispatches none"
    )
    func homeKeepsNothingAlive() async throws {
        try await onFreshThread { loop in
            let context = TestContext()
            g_main_context_push_thread_default(context.pointer)
            defer { g_main_context_pop_thread_default(context.pointer) }
            let trace = Recorder()
            let idle = GLibSource.idle(context.pointer) {
                trace("dispatched")
                return false
            }
            #expect(loop.run(mode: .default) == .finished)
            #expect(loop.run(mode: "unknown") == .finished)
            #expect(trace.lines == [])
            loop.keepAlive()
            #expect(loop.homeContext?.pointer == context.pointer)
            loop.run(for: .zero)
            #expect(trace.lines == ["dispatched"])
            idle.destroy()
        }
    }

    @Test(
        "item 26: a dispatched context is a handled source: it ends a run that returns after one, and no other run")
    func contextCountsAsSource() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let context = TestContext()
            loop.add(GRunLoop.Context(context.pointer), forMode: .default)
            trace.observe(loop)
            let idle = GLibSource.idle(context.pointer) {
                trace("dispatched")
                loop.perform { trace("block") }
                return false
            }
            #expect(loop.run(for: .seconds(60), returningAfterSourceHandled: true) == .handledSource)
            // The source is ready, so the run does not sleep and sends no beforeWaiting.
            #expect(trace.take() == ["entry", "beforeTimers", "beforeSources", "dispatched", "block", "exit"])
            let again = GLibSource.idle(context.pointer) {
                trace("dispatched")
                return false
            }
            #expect(loop.runUntilAsleep() == .stopped)
            #expect(
                trace.lines == [
                    "entry", "beforeTimers", "beforeSources", "dispatched",
                    "beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting", "exit",
                ])
            withExtendedLifetime((idle, again)) {}
        }
    }

    @Test("a context is dispatched after the wait, before the pass services an item of the loop, and once a pass")
    func dispatchedBeforeTheItem() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let context = TestContext()
            loop.add(GRunLoop.Context(context.pointer), forMode: .default)
            trace.observe(loop, .default, [.beforeTimers, .afterWaiting])
            let calls = Counter()
            let timeout = GLibSource.timeout(context.pointer, milliseconds: 20) {
                trace("dispatched")
                // The timeout is late, so that the timer is due with it.
                return calls.increment() < 2
            }
            let first = GLibSource.idle(context.pointer) {
                trace("first")
                return false
            }
            let second = GLibSource.idle(context.pointer) {
                trace("second")
                return false
            }
            loop.after(.zero) { trace("timer") }
            loop.run(for: .zero)
            #expect(trace.take() == ["beforeTimers", "first", "second", "timer"])
            loop.on(.beforeWaiting) { _ in spin(for: .milliseconds(30)) }
            loop.after(.zero) {
                trace("timer")
                loop.stop()
            }
            #expect(loop.run(for: .seconds(60)) == .stopped)
            #expect(trace.lines.contains("dispatched") && trace.lines.last == "timer")
            timeout.destroy()
            withExtendedLifetime((first, second)) {}
        }
    }

    @Test("a timeout or another thread's invoke on the home context ends the sleep in time")
    func wokenByGLib() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let thread = LoopThread { loop in
                loop.keepAlive()
                loop.after(.seconds(3600)) {}
                let timeout = GLibSource.timeout(loop.homeContext?.pointer, milliseconds: 20) {
                    trace("timeout")
                    return false
                }
                loop.run()
                timeout.destroy()
            }
            #expect(trace.wait(for: "timeout"))
            let home = try #require(thread.loop.homeContext)
            thread.whileAsleep { invoke(in: home.pointer) { trace("invoked on \(threadID)") } }
            #expect(trace.wait(for: "invoked on \(thread.kernelID)"))
            thread.finish()
        }
    }

    @Test(
        "a run uses the poll function that a program has set on its context, and polls the loop's descriptors with it"
    )
    func foreignPollFunction() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let context = TestContext()
            CountingPoll.calls.value = 0
            g_main_context_set_poll_func(context.pointer, CountingPoll.function)
            g_main_context_push_thread_default(context.pointer)
            defer { g_main_context_pop_thread_default(context.pointer) }
            let pipe = Pipe()
            let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                pipe.drain()
                trace("descriptor")
            }
            try loop.add(source, forMode: .default)
            loop.after(.milliseconds(5)) { pipe.send() }
            #expect(loop.run(for: .seconds(60), returningAfterSourceHandled: true) == .handledSource)
            #expect(trace.lines == ["descriptor"])
            #expect(CountingPoll.calls.value > 0)
        }
    }

    @Test("a run owns its contexts from entry to exit: no other thread can iterate them between its passes")
    func ownership() async throws {
        try await onFreshThread { loop in
            let context = TestContext()
            let trace = Recorder()
            loop.add(GRunLoop.Context(context.pointer), forMode: .default)
            let canAcquire: @Sendable () -> Bool = {
                let answer = Shared(false)
                onPlainThread {
                    answer.value = g_main_context_acquire(context.pointer) != 0
                    if answer.value { g_main_context_release(context.pointer) }
                }
                return answer.value
            }
            loop.on(.all) { _ in trace("\(canAcquire()) \(g_main_context_is_owner(context.pointer) != 0)") }
            loop.run(for: .milliseconds(5))
            #expect(Set(trace.lines) == ["false true"])
            #expect(canAcquire())
        }
    }

    @Test("a context that another thread owns is skipped until that thread releases it")
    func ownedElsewhere() async throws {
        try await onFreshThread { loop in
            let context = TestContext()
            let trace = Recorder()
            let owner = ContextOwner(context.pointer)
            loop.add(GRunLoop.Context(context.pointer), forMode: .default)
            let idle = GLibSource.idle(context.pointer) {
                trace("dispatched on \(threadID)")
                return false
            }
            #expect(loop.run(for: .milliseconds(20), returningAfterSourceHandled: true) == .timedOut)
            #expect(trace.lines == [])
            owner.letGo()
            #expect(loop.run(for: .seconds(60), returningAfterSourceHandled: true) == .handledSource)
            #expect(trace.lines == ["dispatched on \(threadID)"])
            withExtendedLifetime(idle) {}
        }
    }
}

private enum CountingPoll {
    static let calls = Shared(0)
    static let function: GPollFunc = { records, count, timeout in
        CountingPoll.calls.update { $0 += 1 }
        return g_poll(records, count, timeout)
    }
}
