// SPDX-License-Identifier: Apache-2.0
// Threads call loops that are stopped, woken or ended meanwhile. Nothing is lost silently or left behind.

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite("Concurrency: ends") struct ConcurrencyEndTests {
    @Test("each of many stops ends the run that it was meant for, and no other run")
    func stops() async throws {
        try await onFreshThread { loop in
            loop.keepAlive()
            let rounds = 400
            let (begun, asked, ended, next) = (Counter(), Counter(), Counter(), Counter())
            let stopper = startThread {
                for round in 1...rounds {
                    _ = begun.wait(for: round)
                    asked.increment()
                    loop.stop()
                    _ = ended.wait(for: round)
                    // The loop does not run now, so it does not remember this stop.
                    loop.stop()
                    next.increment()
                }
            }
            loop.on(.entry) { _ in begun.increment() }
            for round in 1...rounds {
                #expect(loop.run(for: .seconds(20)) == .stopped)
                #expect(asked.value == round)
                ended.increment()
                _ = next.wait(for: round)
            }
            pthread_join(stopper, nil)
        }
    }

    @Test("a loop that several threads stop continuously continues with the next run each time")
    func stopStorm() async throws {
        try await onFreshThread { loop in
            loop.keepAlive()
            let enough = Flag()
            let storm = (0..<2).map { _ in
                startThread {
                    while !enough.isSet {
                        loop.stop()
                        loop.wakeUp()
                    }
                }
            }
            let ran = Counter()
            for _ in 0..<500 {
                loop.async { ran.increment() }
                // A stop may end the run before the block, and then the next run calls the block.
                while loop.run(for: .seconds(20)) == .stopped, ran.value == 0 {}
            }
            enough.set()
            for thread in storm { pthread_join(thread, nil) }
            loop.run(for: .zero)
            #expect(ran.value == 500)
        }
    }

    @Test("a loop that ends while threads call it performs or refuses waiting requests, and releases the rest")
    func endsWhileCalled() async throws {
        try await onFreshThread { _ in
            let census = Census()
            let (performed, refused, wrong) = (Counter(), Counter(), Counter())
            let balance = Shared(0)
            for round in 0..<25 {
                let ending = LoopThread { loop in
                    loop.keepAlive()
                    loop.run(for: .milliseconds(round % 5))
                }
                let loop = ending.loop
                concurrently(4) { worker in
                    for number in 0..<40 {
                        let witness = census.witness()
                        let body = { @Sendable in withExtendedLifetime(witness) {} }
                        switch (worker + number) % 8 {
                        case 0: loop.async(body)
                        case 1: loop.perform(inModes: ["M", .common], body)
                        case 2: try? loop.performOnThread(body)
                        case 3:
                            do {
                                try loop.performAndWait(body)
                                performed.increment()
                            } catch is GRunLoop.LoopEndedError {
                                refused.increment()
                            } catch {
                                wrong.increment()
                            }
                        case 4: loop.after(.milliseconds(number % 3), number % 2 == 0 ? .common : .default, body)
                        case 5:
                            let source = GRunLoop.Source(
                                schedule: { _, _ in balance.update { $0 += 1 } },
                                cancel: { _, _ in balance.update { $0 -= 1 } },
                                perform: body)
                            loop.add(source, forMode: number % 2 == 0 ? .common : .default)
                            source.signal()
                            loop.wakeUp()
                        case 6: loop.on(.all, .common) { _ in body() }
                        default:
                            let event = EventDescriptor()
                            event.makeReady()
                            let source = GRunLoop.DescriptorSource(descriptor: event.descriptor) { _, _ in
                                event.consume()
                                body()
                            }
                            try? loop.add(source, forMode: .default)
                            if number % 2 == 0 { loop.stop() }
                            source.invalidate()
                        }
                    }
                }
                ending.join()
                #expect(loop.currentMode == nil)
                #expect(loop.run(for: .seconds(20)) == .finished)
            }
            #expect(performed.value + refused.value == 25 * 4 * 5)
            #expect(refused.value > 0)
            #expect(wrong.value == 0)
            #expect(balance.value == 0)
            #expect(census.waitUntilEmpty())
        }
    }

    @Test("items whose last reference is released while the loop uses them leave nothing behind")
    func lastReferences() async throws {
        try await onFreshThread { _ in
            let census = Census()
            let thread = LoopThread.running()
            let loop = thread.loop
            concurrently(4) { worker in
                var random = SeededRandom(seed: UInt64(worker) + 30)
                for _ in 0..<250 {
                    let witness = census.witness()
                    let body = { @Sendable in withExtendedLifetime(witness) {} }
                    let mode: GRunLoop.Mode = Bool.random(using: &random) ? .default : .common
                    switch Int.random(in: 0..<5, using: &random) {
                    case 0:
                        // The loop holds the last reference, and releases it itself.
                        loop.add(GRunLoop.Timer(fireAt: GRunLoop.now) { _ in body() }, forMode: mode)
                    case 1:
                        let timer = GRunLoop.Timer(fireAt: GRunLoop.now, interval: .microseconds(50)) { _ in body() }
                        loop.add(timer, forMode: mode)
                        usleep(50)
                        timer.invalidate()
                    case 2:
                        let source = GRunLoop.Source(perform: body)
                        loop.add(source, forMode: mode)
                        source.signal()
                        loop.wakeUp()
                        loop.remove(source, forMode: mode)
                    case 3:
                        loop.on([.beforeTimers, .afterWaiting], mode, repeats: false) { _ in body() }
                        loop.wakeUp()
                    default:
                        let observer = loop.on(.all, mode) { _ in body() }
                        loop.wakeUp()
                        loop.remove(observer, forMode: mode)
                    }
                }
            }
            // Called observers wait for their next stage, and the timers are due already.
            loop.wakeUp()
            thread.settle()
            loop.wakeUp()
            #expect(census.waitUntilEmpty())
            thread.finish()
            #expect(census.total == 1000)
        }
    }

    enum Kind: CaseIterable, Sendable {
        case timer, observer, source, descriptor
    }

    @Test(
        "an item that is released while the loop uses it is released without a lock",
        arguments: Kind.allCases, [true, false])
    func removedFromTheBatch(kind: Kind, byItself: Bool) async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive()
            // Only the loop and this variable hold the item. The item, or another one that is called just before it,
            // releases both.
            let remove = Shared<(@Sendable () -> Void)?>(nil)
            let nothing: @Sendable () -> Void = {}
            let giveUp: @Sendable () -> Void = {
                let body = remove.value
                remove.value = nil
                body?()
            }
            // Do not use a variable for the witnessed closure, so that only the item keeps it.
            try Self.arrange(
                kind, loop, remove, byItself ? nothing : giveUp,
                Self.witnessed(loop, record, byItself ? giveUp : nothing))
            #expect(loop.run(for: .milliseconds(1)) == .timedOut)
            loop.run(for: .zero)
            loop.run(for: .zero)
            #expect(record.lines == ["deinit", "block"])
        }
    }

    /// A closure that uses the loop when it is released.
    private static func witnessed(
        _ loop: GRunLoop, _ record: Recorder, _ body: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
        let witness = Witness {
            record("deinit")
            loop.perform { record("block") }
            loop.wakeUp()
            _ = loop.description
        }
        return { withExtendedLifetime(witness) { body() } }
    }

    /// Makes two items that are due together: the first calls `giveUp`, which removes the second through `remove`.
    private static func arrange(
        _ kind: Kind, _ loop: GRunLoop, _ remove: Shared<(@Sendable () -> Void)?>,
        _ giveUp: @escaping @Sendable () -> Void,
        _ body: @escaping @Sendable () -> Void
    ) throws {
        switch kind {
        case .timer:
            loop.after(.zero, .default, giveUp)
            let timer = GRunLoop.Timer(fireAt: GRunLoop.now, interval: .seconds(3600)) { _ in body() }
            loop.add(timer, forMode: .default)
            remove.value = { loop.remove(timer, forMode: .default) }
        case .observer:
            loop.on(.beforeSources, order: 0) { _ in giveUp() }
            let observer = loop.on(.beforeSources, order: 1) { _ in body() }
            remove.value = { loop.remove(observer, forMode: .default) }
        case .source:
            let source = loop.source(.default, order: 1, body)
            source.signal()
            loop.source(.default, order: 0, giveUp).signal()
            remove.value = { loop.remove(source, forMode: .default) }
        case .descriptor:
            let events = [EventDescriptor(), EventDescriptor()]
            let source = GRunLoop.DescriptorSource(descriptor: events[1].descriptor) { _, _ in body() }
            let killer = GRunLoop.DescriptorSource(descriptor: events[0].descriptor) { _, _ in
                events[0].consume()
                giveUp()
            }
            try loop.add(killer, forMode: .default)
            try loop.add(source, forMode: .default)
            for event in events { event.makeReady() }
            remove.value = { loop.remove(source, forMode: .default) }
        }
    }
}
