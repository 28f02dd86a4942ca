// SPDX-License-Identifier: Apache-2.0
// Removals inside callouts, on the loop's own thread. A removed item is not called any more, even if the pass had
// collected it.

import GRunLoop
import TestSupport

/// Two items that are ready at the same time. Each item removes the other.
final class Pair: Sendable {
    private let tickets: [Ticket]
    private let consumer: Consumer
    private let called = Counted()

    init(_ producer: Int, _ consumer: Consumer) {
        self.consumer = consumer
        tickets = (0..<2).map { _ in Ticket(.timer, producer: producer, consumer: consumer) }
    }

    private let dropped = Counted()

    var isDropped: Bool { dropped.value > 0 }
    var calls: Int { called.value }
    var name: String { tickets[1].name }

    private func call(_ index: Int, _ removeOther: () -> Void) {
        tickets[index].enter(owedSince: nanoseconds())
        called.add()
        removeOther()
        tickets[1 - index].wasRemovedForGood()
    }

    func addTimers() {
        let timers = Shared<[GRunLoop.Timer]>([])
        let date = GRunLoop.now
        timers.value = (0..<2).map { index in
            GRunLoop.Timer(fireAt: date) { [self] _ in
                call(index) { timers.update { $0.isEmpty ? nil : $0[1 - index] }?.invalidate() }
            }
        }
        for timer in timers.value { consumer.loop.add(timer, forMode: .common) }
        dropLater { timers.value = [] }
    }

    func addSources() {
        let sources = Shared<[GRunLoop.Source]>([])
        let loop = consumer.loop
        sources.value = (0..<2).map { index in
            GRunLoop.Source(order: index) { [self] in
                call(index) {
                    if let other = sources.update({ $0.isEmpty ? nil : $0[1 - index] }) {
                        loop.remove(other, forMode: .common)
                    }
                }
                loop.perform { sources.update { $0.isEmpty ? nil : $0[index] }?.invalidate() }
            }
        }
        for source in sources.value {
            loop.add(source, forMode: .common)
            source.signal()
        }
        loop.wakeUp()
        dropLater {
            for source in sources.update({ all in
                defer { all = [] }; return all
            }) { source.invalidate() }
        }
    }

    func addDescriptors() {
        let sources = Shared<[GRunLoop.DescriptorSource]>([])
        sources.value = (0..<2).map { index in
            let event = EventDescriptor()
            event.makeReady()
            return GRunLoop.DescriptorSource(descriptor: event.descriptor) { [self] own, _ in
                _ = event.consume()
                call(index) { sources.update { $0.isEmpty ? nil : $0[1 - index] }?.invalidate() }
                own.invalidate()
            }
        }
        for source in sources.value { try? consumer.loop.add(source, forMode: .common) }
        dropLater { sources.value = [] }
    }

    /// The two items retain each other. This releases them after one was called.
    private func dropLater(_ drop: @escaping @Sendable () -> Void) {
        let (called, dropped) = (called, dropped)
        let timer = Shared<GRunLoop.Timer?>(nil)
        timer.value = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { own in
            guard called.value > 0 else { return }
            own.invalidate()
            timer.value = nil
            drop()
            dropped.add()
        }
        if let made = timer.value { consumer.loop.add(made, forMode: .common) }
    }
}
