// SPDX-License-Identifier: Apache-2.0
// A running loop delivers everything that many threads pass to it, once, and in each thread's order.

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite("Concurrency: delivery") struct ConcurrencyDeliveryTests {
    @Test("blocks of many threads run once each, and those of one thread in their order")
    func blocks() async throws {
        try await onFreshThread { _ in
            let (producers, count) = (4, 1500)
            let deliveries = Deliveries(producers: producers)
            let thread = LoopThread.running()
            let loop = thread.loop
            concurrently(producers) { producer in
                let modes: [[GRunLoop.Mode]] = [[.common], [.default], [.default, .common], ["Other", .default]]
                for number in 0..<count {
                    let body = { @Sendable in deliveries.deliver(number, of: producer) }
                    if number % 3 == 0 {
                        loop.perform(inModes: modes[number % 4], body)
                        loop.wakeUp()
                    } else {
                        loop.async(inModes: modes[number % 4], body)
                    }
                }
            }
            let delivered = deliveries.wait(for: count)
            thread.finish()
            for numbers in delivered { #expect(numbers == Array(0..<count)) }
        }
    }

    @Test("performs of many threads are performed once each, and those of one thread in their order")
    func performs() async throws {
        try await onFreshThread { _ in
            let (producers, count) = (4, 500)
            let deliveries = Deliveries(producers: producers)
            let thread = LoopThread.running()
            let loop = thread.loop
            concurrently(producers) { producer in
                for number in 0..<count {
                    try? loop.performOnThread { deliveries.deliver(number, of: producer) }
                }
            }
            let delivered = deliveries.wait(for: count)
            thread.finish()
            for numbers in delivered { #expect(numbers == Array(0..<count)) }
        }
    }

    @Test("many threads that wait for performs on a loop each get their own results")
    func performAndWait() async throws {
        try await onFreshThread { _ in
            let (callers, count) = (4, 300)
            let thread = LoopThread.running()
            let loop = thread.loop
            let wrong = Counter()
            concurrently(callers) { caller in
                for number in 0..<count {
                    let answer = try? loop.performAndWait { (caller, number, GRunLoop.current === loop) }
                    if answer ?? (-1, -1, false) != (caller, number, true) { wrong.increment() }
                }
            }
            thread.finish()
            #expect(wrong.value == 0)
        }
    }

    @Test("every signal of every thread is followed by a perform")
    func signals() async throws {
        try await onFreshThread { _ in
            let (producers, count) = (4, 1000)
            let thread = LoopThread.running()
            let loop = thread.loop
            let asked = (0..<3).map { _ in Counter() }
            let seen = (0..<3).map { _ in Shared(0) }
            let sources = (0..<3).map { index in
                loop.source(order: index % 2) { seen[index].value = asked[index].value }
            }
            concurrently(producers) { producer in
                for number in 0..<count {
                    let index = (producer + number) % 3
                    asked[index].increment()
                    sources[index].signal()
                    loop.wakeUp()
                }
            }
            // The last signal of each source was followed by a perform.
            for index in 0..<3 { #expect(seen[index].wait { $0 == asked[index].value }) }
            thread.settle()
            thread.finish()
            for source in sources { #expect(!source.isSignalled) }
        }
    }

    @Test("a signal with a wake-up is not lost when another thread signals the same source without one")
    func sharedSource() async throws {
        try await onFreshThread { _ in
            let thread = LoopThread.running()
            let loop = thread.loop
            let performed = Counter()
            let source = loop.source { performed.increment() }
            let enough = Flag()
            let other = startThread {
                while !enough.isSet { source.signal() }
            }
            var lost = 0
            for _ in 0..<3000 where lost == 0 {
                let before = performed.value
                source.signal()
                loop.wakeUp()
                if !performed.wait(for: before + 1, timeout: .seconds(5)) { lost += 1 }
            }
            enough.set()
            pthread_join(other, nil)
            thread.finish()
            #expect(lost == 0)
        }
    }

    enum Channel: CaseIterable, Sendable {
        case block, source, perform, timer, descriptor
    }

    @Test("two loops that wake each other in turn never miss a turn", arguments: Channel.allCases)
    func pingPong(channel: Channel) async throws {
        try await onFreshThread { _ in
            let rounds = 1500
            let threads = [LoopThread.running(), LoopThread.running()]
            let turns = Counter()
            let senders = Shared<[@Sendable () -> Void]>([])
            let take = { @Sendable (side: Int) in
                if turns.increment() < 2 * rounds { senders.value[1 - side]() }
            }
            senders.value = try threads.enumerated().map { side, thread in
                try Self.sender(channel, to: thread.loop) { take(side) }
            }
            senders.value[0]()
            #expect(turns.wait(for: 2 * rounds))
            for thread in threads { thread.finish() }
            #expect(turns.value == 2 * rounds)
            senders.value = []
        }
    }

    /// Returns a closure that makes the other loop call `body` once.
    private static func sender(
        _ channel: Channel, to loop: GRunLoop, _ body: @escaping @Sendable () -> Void
    ) throws -> @Sendable () -> Void {
        switch channel {
        case .block: return { loop.async(body) }
        case .perform: return { try? loop.performOnThread(body) }
        case .source:
            let source = loop.source(.default, body)
            return {
                source.signal()
                loop.wakeUp()
            }
        case .timer:
            let timer = GRunLoop.Timer(fireAt: GRunLoop.distantFuture, interval: .seconds(3600)) { timer in
                timer.fireDate = GRunLoop.distantFuture
                body()
            }
            loop.add(timer, forMode: .default)
            return { timer.fireDate = GRunLoop.now }
        case .descriptor:
            let event = EventDescriptor()
            let source = GRunLoop.DescriptorSource(descriptor: event.descriptor) { _, _ in
                if event.consume() > 0 { body() }
            }
            try loop.add(source, forMode: .default)
            return { event.makeReady() }
        }
    }

    @Test("timers that many threads add to a sleeping loop fire in time, without a wake-up")
    func timers() async throws {
        try await onFreshThread { _ in
            let thread = LoopThread.running()
            let loop = thread.loop
            let (fired, early) = (Counter(), Counter())
            concurrently(4) { producer in
                for number in 0..<200 {
                    let date = GRunLoop.now.advanced(by: .microseconds(100 * ((number * 7 + producer) % 50)))
                    let timer = GRunLoop.Timer(fireAt: date) { _ in
                        if GRunLoop.now < date { early.increment() }
                        fired.increment()
                    }
                    loop.add(timer, forMode: number % 2 == 0 ? .common : .default)
                }
            }
            #expect(fired.wait(for: 800))
            thread.finish()
            #expect(fired.value == 800)
            #expect(early.value == 0)
        }
    }
}
