// SPDX-License-Identifier: Apache-2.0
// End handlers are called when a loop's thread ends. They notify waiters outside the loop's own items.

import CGRunGLib
import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite("End handlers") struct EndHandlerTests {
    @Test("handlers are called on the ending thread, once each, the last one first; sources are cancelled after them")
    func order() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let thread = LoopThread { loop in
                let here = threadID
                let source = GRunLoop.Source(cancel: { _, _ in trace("cancelled") }, perform: {})
                loop.add(source, forMode: .default)
                for number in 1...3 {
                    addHandler(loop) {
                        trace("\(number) \(threadID == here && GRunLoop.current === loop ? "here" : "elsewhere")")
                    }
                }
                trace("body ends")
            }
            thread.join()
            #expect(trace.lines == ["body ends", "3 here", "2 here", "1 here", "cancelled"])
        }
    }

    @Test("in a handler the loop works: it runs with its items, and accepts more handlers, which are called next")
    func wholeLoop() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            LoopThread { loop in
                loop.source { trace("source") }.signal()
                addHandler(loop) { trace("first") }
                addHandler(loop) {
                    trace("second")
                    addHandler(loop) { trace("added in it") }
                    addHandler(loop) { trace("added in it, later") }
                    loop.after(.microseconds(10)) { loop.stop() }
                    trace("\(loop.run(for: Patience.normal))")
                }
            }.join()
            #expect(trace.lines == ["second", "source", "stopped", "added in it, later", "added in it", "first"])
        }
    }

    @Test("a removed handler is not called, and is released immediately without a lock; a second removal returns false")
    func removed() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let thread = LoopThread { loop in
                addHandler(loop) { trace("stays") }
                func addWitness() -> GRunLoop.EndHandler? {
                    let witness = Witness {
                        trace("released")
                        // Under a lock this call would wait forever.
                        loop.wakeUp()
                    }
                    return addHandler(loop) { withExtendedLifetime(witness) { trace("removed") } }
                }
                let handler = addWitness()
                addHandler(loop) {
                    trace("removes: \(handler?.cancel() ?? true)")
                }
                onPlainThread { trace("\(handler?.cancel() ?? false)") }
            }
            thread.join()
            #expect(trace.lines == ["released", "true", "removes: false", "stays"])
        }
    }

    @Test("a handler that is being called cannot be removed, by itself or by another thread; a waiting handler can")
    func removedInTheEnd() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            LoopThread { loop in
                let waits = addHandler(loop) { trace("never") }
                let own = Shared<GRunLoop.EndHandler?>(nil)
                own.value = addHandler(loop) {
                    trace("called, removes itself: \(own.value?.cancel() ?? true)")
                    onPlainThread { trace("elsewhere: \(own.value?.cancel() ?? true), \(waits?.cancel() ?? false)") }
                }
            }.join()
            #expect(trace.lines == ["called, removes itself: false", "elsewhere: false, true"])
        }
    }

    @Test("adding a handler after the end throws, and releases the closure, also on a loop that is being torn down")
    func tooLate() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let add: @Sendable (GRunLoop, String) -> Void = { loop, when in
                let witness = Witness { trace("released") }
                do {
                    try loop.addEndHandler { withExtendedLifetime(witness) { trace("called") } }
                    trace("\(when): added")
                } catch {
                    trace("\(when): \(error is GRunLoop.LoopEndedError)")
                }
            }
            let thread = LoopThread { loop in
                loop.add(GRunLoop.Source(cancel: { loop, _ in add(loop, "in cancel") }, perform: {}), forMode: .default)
            }
            thread.join()
            add(thread.loop, "afterwards")
            #expect(trace.lines.sorted() == ["afterwards: true", "in cancel: true", "released", "released"])
        }
    }

    @Test(
        "ten thousand handlers, removed in any order: the rest are called, the last one first, and none remains")
    func many() async throws {
        try await onFreshThread { _ in
            let called = Shared<[Int]>([])
            let witnesses = Counter()
            let random = Shared<UInt64>(1)
            LoopThread { loop in
                let handlers = (0..<10_000).map { number in
                    let witness = Witness { witnesses.increment() }
                    return addHandler(loop) { withExtendedLifetime(witness) { called.update { $0.append(number) } } }
                }
                // Removes the first half in order, as ending operations do, and a random third of the rest.
                for handler in handlers[..<5000] { #expect(handler?.cancel() == true) }
                for handler in handlers[5000...] where random.update({ next(&$0) }) % 3 == 0 {
                    #expect(handler?.cancel() == true)
                }
                #expect(witnesses.value > 6000)
            }.join()
            let numbers = called.value
            #expect(numbers.count > 3000 && zip(numbers, numbers.dropFirst()).allSatisfy { $0 > $1 })
            #expect((numbers.last ?? 0) >= 5000)
            #expect(witnesses.value == 10_000)
        }
    }

    @Test("threads add handlers while the loop's thread ends: each handler is called, cancelled or refused")
    func raced() async throws {
        for _ in 0..<20 {
            let worker = try GRunLoop.Thread(name: "raced")
            let loop = worker.loop
            let (called, answered, refused) = (Counter(), Counter(), Counter())
            concurrently(4) { number in
                if number == 0 { return worker.stop() }
                for _ in 0..<500 {
                    do {
                        let handler = try loop.addEndHandler { called.increment() }
                        if handler.cancel() { answered.increment() }
                    } catch {
                        refused.increment()
                    }
                }
            }
            await worker.waitUntilEnded()
            #expect(called.value + answered.value + refused.value == 1500)
        }
    }

    @Test("a foreign thread whose loop ran once calls the handlers before the destructors that use the loop have ended")
    func plainThread() async throws {
        let trace = Recorder()
        onPlainThread {
            let loop = GRunLoop.current
            loop.source { trace("source") }.signal()
            addHandler(loop) {
                trace("handler")
                // Uses GLib's thread data, which GLib creates again where it was freed already.
                loop.run(for: .zero)
                trace(g_main_context_get_thread_default() == nil ? "no context" : "a context")
            }
        }
        #expect(trace.lines == ["handler", "source", "no context"])
    }

    @Test("the loop of virtual time calls its handlers when the closure of withVirtualTime ends")
    func virtualTime() async throws {
        let trace = Recorder()
        onPlainThread {
            GRunLoop.withVirtualTime { time in
                let loop = time.loop
                addHandler(loop) { trace("handler, \(GRunLoop.current === loop)") }
                trace("body")
            }
            trace("after")
        }
        #expect(trace.lines == ["body", "handler, true", "after"])
    }

    // In a forked child the Thread Sanitizer's runtime dies when a thread ends. The address sanitizer reports the
    // parent's objects as leaks there.
    @Test("after fork() the child does not call end handlers", .disabled(if: sanitizer != nil))
    func forked() {
        let child = runChild("end-handler-forked")
        #expect(child.output == ["child's thread has ended", "parent: called"], "\(child.errors)")
        #expect(child.status == 0)
    }
}

/// Adds an end handler. It throws only if the loop has ended.
@discardableResult private func addHandler(_ loop: GRunLoop, _ body: @escaping @Sendable () -> Void) -> GRunLoop
    .EndHandler?
{
    do {
        return try loop.addEndHandler(body)
    } catch {
        Issue.record("\(error)")
        return nil
    }
}

private func next(_ seed: inout UInt64) -> UInt64 {
    seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return seed >> 33
}
