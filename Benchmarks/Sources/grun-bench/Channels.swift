// SPDX-License-Identifier: Apache-2.0
// Messages from threads to a loop through a channel. A case is "channel-" and its variants: the number of producers (2,
// 8), "objects", "batches", "await" (for await on the loop's executor), "bounded" (1,024 elements may wait, and the
// producers are tasks), "tasks" (the same without a limit), "stream" (an AsyncStream instead of the channel), "checked"
// (ends the program if a producer's elements are out of order or lost). "objects-alone" measures the objects
// themselves, without a channel and a loop.

import BenchSupport
import GRunLoop
import Glibc

private protocol Message: Sendable {
    init(_ number: Int)
    var number: Int { get }
}

extension Int: Message { fileprivate var number: Int { self } }

private final class Object: Message {
    let number: Int
    init(_ number: Int) { self.number = number }
}

extension Bench {
    func channel(_ options: [Substring]) {
        if options.contains("checked") { return passChecked(options) }
        if options.contains("objects") { pass(options, Object.self) } else { pass(options, Int.self) }
    }

    private func pass<Element: Message>(_ options: [Substring], _ type: Element.Type) {
        let producers = options.lazy.compactMap { Int($0) }.first ?? 1
        let each = n / producers
        left = each * producers
        keepAlive()
        if options.contains("stream") { return stream(producers, each, type) }
        let capacity = options.contains("bounded") ? 1024 : Int.max
        let channel = GRunLoop.Channel<Element>(capacity: capacity)
        if options.contains("batches") {
            channel.receiveBatches(on: loop, inModes: [.default]) { batch in
                for index in batch.indices { count &+= batch[index].number | 1 }
                left -= batch.count
                if left == 0 { bench.stop() }
            }
        } else if options.contains("await") {
            read(channel.elements(on: loop))
        } else {
            channel.receive(on: loop, inModes: [.default]) { element in
                count &+= element.number | 1
                left -= 1
                if left == 0 { bench.stop() }
            }
        }
        let tasks = options.contains("bounded") || options.contains("tasks")
        if tasks {
            deliver(producers) { Task.detached { for number in 0..<each { _ = await channel.send(Element(number)) } } }
        } else {
            deliver(producers) {
                onOtherThread { _ in for number in 0..<each { _ = channel.trySend(Element(number)) } }
            }
            bench_join()
        }
    }

    private func passChecked(_ options: [Substring]) {
        let producers = options.lazy.compactMap { Int($0) }.first ?? 1
        let each = n / producers
        left = each * producers
        keepAlive()
        let channel = GRunLoop.Channel<(producer: Int, number: Int)>(
            capacity: options.contains("bounded") ? 1024 : .max, undelivered: { _ in fatalError("given up") })
        nonisolated(unsafe) var next = [Int](repeating: 0, count: producers)
        channel.receive(on: loop, inModes: [.default]) { message in
            if next[message.producer] != message.number { fatalError("\(message), and not \(next[message.producer])") }
            next[message.producer] += 1
            left -= 1
            if left == 0 { bench.stop() }
        }
        var producer = -1
        deliver(producers) {
            producer += 1
            let own = producer
            onOtherThread { _ in
                for number in 0..<each {
                    while channel.trySend((own, number)) == .full { bench_sleep_microseconds(50) }
                }
            }
        }
        bench_join()
    }

    /// One thread collects objects into an array and passes it to another thread, which releases them.
    func objectsAlone() {
        let handOver = HandOver()
        let cpu = bench_cpu()
        let time = measure {
            onOtherThread { bench in
                var made: [Object] = []
                made.reserveCapacity(HandOver.most)
                for number in 0..<bench.n {
                    made.append(Object(number))
                    if made.count == HandOver.most { handOver.exchange(&made, gives: true) }
                }
                handOver.exchange(&made, gives: true)
            }
            var found: [Object] = []
            while left > 0 {
                handOver.exchange(&found, gives: false)
                for index in found.indices { count &+= found[index].number | 1 }
                left -= found.count
                found.removeAll(keepingCapacity: true)
            }
        }
        report(time, "cpu_ns:\(shown(Double(bench_cpu() - cpu) / Double(n)))")
        bench_join()
    }

    private func stream<Element: Message>(_ producers: Int, _ each: Int, _ type: Element.Type) {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self)
        read(stream)
        deliver(producers) { onOtherThread { _ in for number in 0..<each { continuation.yield(Element(number)) } } }
        bench_join()
    }

    private func read<Elements: AsyncSequence & Sendable>(_ elements: Elements)
    where Elements.Element: Message, Elements.Failure == Never {
        Task(executorPreference: loop.executor) {
            for await element in elements {
                count &+= element.number | 1
                left -= 1
                if left == 0 { return bench.stop() }
            }
        }
    }

    private func deliver(_ producers: Int, _ start: () -> Void) {
        let cpu = bench_cpu()
        let time = measure {
            for _ in 0..<producers { start() }
            drive()
        }
        report(time, "cpu_ns:\(shown(Double(bench_cpu() - cpu) / Double(n)))")
    }
}

/// An array that two threads exchange under a mutex: full in one direction, empty in the other.
private final class HandOver: @unchecked Sendable {
    static let most = 20_000
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var objects: [Object] = []

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(changed, nil)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    func exchange(_ own: inout [Object], gives: Bool) {
        pthread_mutex_lock(mutex)
        while objects.isEmpty != gives { pthread_cond_wait(changed, mutex) }
        swap(&objects, &own)
        pthread_cond_signal(changed)
        pthread_mutex_unlock(mutex)
    }
}
