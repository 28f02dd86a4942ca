// SPDX-License-Identifier: Apache-2.0
// No lock is held in a callout: part 1.14, item 196.

import CGRunGLib
import GRunLoop
import TestSupport
import Testing

/// Makes every kind of call on the loop, here and on another thread. If a lock were held, a call would block forever,
/// and the watchdog would report it.
func useEverything(_ loop: GRunLoop) {
    callEverything(loop)
    onPlainThread { callEverything(loop) }
    // Starts a run in a mode that nothing else uses.
    loop.perform(inModes: ["nested"]) {}
    loop.run(mode: "nested", for: .zero)
}

private func callEverything(_ loop: GRunLoop) {
    let pipe = Pipe()
    let source = GRunLoop.Source {}
    let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in }
    let timer = GRunLoop.Timer(fireAt: GRunLoop.distantFuture) { _ in }
    let observer = GRunLoop.Observer(activities: .exit) { _, _ in }
    for mode: GRunLoop.Mode in ["probe", .common] {
        loop.add(source, forMode: mode)
        try? loop.add(descriptor, forMode: mode)
        loop.add(timer, forMode: mode)
        loop.add(observer, forMode: mode)
        _ = loop.contains(source, forMode: mode) && loop.contains(descriptor, forMode: mode)
        _ = loop.contains(timer, forMode: mode) && loop.contains(observer, forMode: mode)
        loop.remove(source, forMode: mode)
        loop.remove(descriptor, forMode: mode)
        loop.remove(timer, forMode: mode)
        loop.remove(observer, forMode: mode)
    }
    loop.add(source, forMode: "probe")
    loop.add(timer, forMode: "probe")
    source.signal()
    timer.fireDate = GRunLoop.distantFuture
    timer.tolerance = .seconds(1)
    source.invalidate()
    descriptor.invalidate()
    timer.invalidate()
    observer.invalidate()
    loop.perform(inModes: ["probe"]) {}
    loop.wakeUp()
    _ = loop.isWaiting
    _ = loop.currentMode
    _ = loop.allModes
    _ = loop.nextFireDate(forMode: .default)
    _ = loop.description
    _ = loop.homeContext
    _ = loop.contexts(forMode: .default)
}

@Suite struct CalloutLockTests {
    @Test("item 196: in observers, timers, blocks and sources every call is legal, on this thread and on others")
    func callouts() async throws {
        try await onFreshThread { loop in
            let called = Counter()
            for activity: GRunLoop.Activity in [
                .entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit,
            ] {
                loop.on(activity, repeats: false) { _ in
                    useEverything(loop)
                    called.increment()
                }
            }
            loop.after(.zero) {
                useEverything(loop)
                called.increment()
            }
            loop.perform {
                useEverything(loop)
                called.increment()
            }
            let pipe = Pipe()
            let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                pipe.drain()
                useEverything(loop)
                called.increment()
            }
            try loop.add(descriptor, forMode: .default)
            pipe.send()
            let source = loop.source {
                useEverything(loop)
                called.increment()
            }
            loop.on(.exit, repeats: false) { _ in source.signal() }
            _ = loop.runUntilAsleep()
            loop.run(for: .zero)
            #expect(called.value == 10)
        }
    }

    @Test("item 196: every call is legal in schedule and cancel, and when an object is released")
    func otherUserCode() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let source = GRunLoop.Source(
                schedule: { loop, mode in
                    useEverything(loop)
                    trace("schedule \(mode)")
                },
                cancel: { loop, mode in
                    useEverything(loop)
                    trace("cancel \(mode)")
                }, perform: {})
            loop.add(source, forMode: .default)
            loop.remove(source, forMode: .default)
            loop.add(source, forMode: .common)
            source.invalidate()
            #expect(
                trace.take() == [
                    "schedule kCFRunLoopDefaultMode", "cancel kCFRunLoopDefaultMode", "schedule kCFRunLoopDefaultMode",
                    "cancel kCFRunLoopDefaultMode",
                ])

            func witness(_ name: String) -> Witness {
                Witness {
                    useEverything(loop)
                    trace("\(name) released")
                }
            }
            func addAndForget() throws {
                let (a, b, c, d, e) = (
                    witness("timer"), witness("observer"), witness("block"), witness("source"), witness("descriptor")
                )
                loop.after(.zero) { withExtendedLifetime(a) {} }
                loop.on(.exit, repeats: false) { _ in withExtendedLifetime(b) {} }
                loop.perform { withExtendedLifetime(c) {} }
                let kept = Weak<GRunLoop.Source>()
                kept.object = loop.source { [kept] in
                    withExtendedLifetime(d) {}
                    kept.object?.invalidate()
                }
                kept.object?.signal()
                let event = EventDescriptor()
                event.makeReady()
                try loop.add(
                    GRunLoop.DescriptorSource(descriptor: event.descriptor) { source, _ in
                        withExtendedLifetime((e, event)) {}
                        source.invalidate()
                    }, forMode: .default)
            }
            try addAndForget()
            for _ in 0..<4 { loop.run(for: .zero) }
            #expect(
                Set(trace.lines) == [
                    "timer released", "observer released", "block released", "source released", "descriptor released",
                ])
        }
    }

    @Test("item 196: every call is legal when a ready source is released before its turn")
    func goneBeforeItsTurn() async throws {
        try await onFreshThread { loop in
            let released = Counter()
            let found = Weak<GRunLoop.DescriptorSource>()
            func addAndForget() throws {
                let event = EventDescriptor()
                let witness = Witness {
                    useEverything(loop)
                    released.increment()
                }
                event.makeReady()
                let source = GRunLoop.DescriptorSource(descriptor: event.descriptor) { _, _ in
                    withExtendedLifetime((witness, event)) {}
                }
                found.object = source
                try loop.add(source, forMode: .default)
            }
            try addAndForget()
            loop.on(.afterWaiting, repeats: false) { _ in found.object?.invalidate() }
            loop.run(for: .seconds(1))
            #expect(released.value == 1)
        }
    }

    @Test("item 196: every call is legal in what a context dispatches, and in performs")
    func contextsAndPerforms() async throws {
        try await onFreshThread { loop in
            let called = Counter()
            let context = TestContext()
            loop.add(GRunLoop.Context(context.pointer), forMode: .default)
            let idle = GLibSource.idle(context.pointer) {
                useEverything(loop)
                called.increment()
                return false
            }
            try loop.performOnThread {
                useEverything(loop)
                called.increment()
            }
            loop.perform(after: .zero) {
                useEverything(loop)
                called.increment()
            }
            loop.perform(order: 1, inModes: [.default]) {
                useEverything(loop)
                called.increment()
            }
            #expect(
                waitUntil {
                    loop.run(for: .zero)
                    return called.value == 4
                })
            idle.destroy()
            loop.remove(GRunLoop.Context(context.pointer), forMode: .default)
        }
    }

    @Test("item 196: every call is legal when captures of a perform are released, right after its own closure")
    func capturedByPerforms() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            func enqueue(_ name: String) throws {
                let witness = Witness {
                    useEverything(loop)
                    trace("\(name) released")
                }
                try loop.performOnThread { withExtendedLifetime(witness) { trace(name) } }
            }
            for name in ["first", "second", "third"] { try enqueue(name) }
            loop.run(for: .zero)
            #expect(
                trace.lines == ["first", "first released", "second", "second released", "third", "third released"])
        }
    }

    @Test(
        "item 196: every call is legal when captures of a delayed perform are released: called, cancelled, or neither",
        arguments: [[.default], [.common], ["one", .default]] as [[GRunLoop.Mode]])
    func capturedByDelayedPerforms(names: [GRunLoop.Mode]) async throws {
        let trace = Recorder()
        try await onFreshThread { loop in
            var performs: [GRunLoop.DelayedPerform] = []
            func enqueue(_ name: String) {
                let witness = Witness {
                    useEverything(loop)
                    trace("\(name) released")
                }
                performs.append(
                    loop.perform(after: .zero, inModes: names) { withExtendedLifetime(witness) { trace(name) } })
            }
            for name in ["first", "cancelled", "second"] { enqueue(name) }
            performs[1].cancel()
            #expect(trace.take() == ["cancelled released"])
            loop.run(for: .zero)
            #expect(trace.take() == ["first", "first released", "second", "second released"])
            // A nested run has collected this batch.
            loop.perform(after: .zero, inModes: names) { loop.run(for: .zero) }
            for name in ["third", "fourth"] { enqueue(name) }
            loop.run(for: .zero)
            #expect(trace.take() == ["third", "third released", "fourth", "fourth released"])
            loop.perform(after: .zero, inModes: names) { loop.cancelPerforms(target: trace) }
            let witness = Shared<Witness?>(
                Witness {
                    useEverything(loop)
                    trace("by its target")
                })
            loop.perform(after: .zero, inModes: names, target: trace) { [object = witness.value] in
                withExtendedLifetime(object) {}
            }
            witness.value = nil
            loop.run(for: .zero)
            #expect(trace.take() == ["by its target"])
            enqueue("left")
        }
        #expect(trace.lines == ["left released"])
    }
}
