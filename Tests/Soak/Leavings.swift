// SPDX-License-Identifier: Apache-2.0
// Items, blocks and end handlers that end with a loop's thread.

import GRunLoop
import TestSupport

/// Items that are in a loop when its thread ends. The loop releases them then, once.
final class Leavings: Sendable {
    private let cancels = Counted()
    private let consumer: Consumer
    private let handlers: [Ticket]
    private let order = Shared<[Int]>([])
    private let descriptor: GRunLoop.DescriptorSource

    /// Must be called on the loop's thread.
    init(_ consumer: Consumer) {
        self.consumer = consumer
        let producer = Settings.producers
        let loop = consumer.loop
        let (far, tokens) = (GRunLoop.distantFuture, (0..<5).map { _ in Token(.endHandler, producer, consumer) })
        loop.add(GRunLoop.Timer(fireAt: far) { _ in withExtendedLifetime(tokens[0]) {} }, forMode: .common)
        let balance = Balance()
        loop.add(
            GRunLoop.Source(
                schedule: { _, _ in balance.begun.add() }, cancel: { _, _ in balance.ended.add() },
                perform: { withExtendedLifetime(tokens[1]) {} }), forMode: .inner)
        loop.add(GRunLoop.Observer(activities: .exit) { _, _ in withExtendedLifetime(tokens[2]) {} }, forMode: .inner)
        let event = EventDescriptor()
        descriptor = GRunLoop.DescriptorSource(descriptor: event.descriptor) { _, _ in
            withExtendedLifetime((tokens[3], event)) {}
        }
        loop.perform(inModes: ["SoakNever"]) {
            withExtendedLifetime(tokens[4]) { Findings.add("called in a mode that never ran: on \(consumer.name)") }
        }
        handlers = (0..<3).map { _ in Ticket(.endHandler, producer: producer, consumer: consumer) }
    }

    /// Handlers are called once each, the last one first.
    func expectEnd() {
        // Added here and not earlier, so that each mode of the soak also has a time without any descriptor.
        try? consumer.loop.add(descriptor, forMode: .common)
        let order = order
        for (index, ticket) in handlers.enumerated() {
            let token = ticket.token
            let isKept = Counted()
            let added = try? consumer.loop.addEndHandler { [self] in
                withExtendedLifetime(token) { _ = ticket.enter(owedSince: nanoseconds()) }
                if isKept.value == 1 { Findings.add("called and cancelled: \(ticket.name)") }
                order.update { $0.append(index) }
                if index == 0, order.value != [2, 0] {
                    Findings.add("end handlers in the order \(order.value): on \(consumer.name)")
                }
            }
            if index == 1 {
                if added?.cancel() == true { isKept.add() } else { Findings.add("not cancelled: \(ticket.name)") }
            }
        }
    }
}
