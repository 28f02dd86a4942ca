// SPDX-License-Identifier: Apache-2.0
// Observers that come and go, and end handlers that are cancelled.

import GRunLoop
import Glibc
import TestSupport

extension Producer {
    func observe() {
        let consumer = hold()
        let ticket = Ticket(.observer, producer: number, consumer: consumer)
        let token = ticket.token
        let repeats = dice.chance(70)
        let activities: GRunLoop.Activity = dice.pick([
            .all, .beforeTimers, [.beforeWaiting, .afterWaiting], .beforeSources,
        ])
        let limit = dice.chance(30) ? dice.number(1...3) : Int.max
        let nests = dice.chance(30)
        let observer = GRunLoop.Observer(activities: activities, repeats: repeats) { observer, activity in
            let calls = withExtendedLifetime(token) { ticket.enter(owedSince: nanoseconds()) }
            if !repeats, calls > 1 { Findings.add("delivered twice: \(ticket.name) does not repeat") }
            // The observer is not called inside this run. If it does not repeat, it is never called again.
            if nests, calls == 1, activity == .beforeTimers, !consumer.isDetached {
                consumer.nest(inBlock: false) { _ = consumer.loop.run(for: .zero) }
                if ticket.calls > 1 { Findings.add("called inside its own callout: \(ticket.name)") }
            }
            if calls == limit {
                observer.invalidate()
                ticket.wasRemovedForGood()
            }
        }
        consumer.loop.add(observer, forMode: mode)
        later {
            consumer.barrier()
            observer.invalidate()
            ticket.seal()
            consumer.release()
        }
    }

    /// Cancels end handlers. None of them may be called, because the loop does not end meanwhile.
    func takeBackEndHandlers() {
        holding { consumer in
            let ticket = Ticket(.endHandler, producer: number, consumer: consumer)
            let token = ticket.token
            let added = (0..<dice.number(1...3)).compactMap { _ in
                try? consumer.loop.addEndHandler {
                    withExtendedLifetime(token) { _ = ticket.enter(owedSince: nanoseconds()) }
                }
            }
            for handler in added where !handler.cancel() { Findings.add("not cancelled: \(ticket.name)") }
            ticket.wasRemovedForGood()
            if ticket.calls > 0 { Findings.add("called and cancelled: \(ticket.name)") }
        }
    }
}
