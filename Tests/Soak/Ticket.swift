// SPDX-License-Identifier: Apache-2.0
// The ledger of an item that can be taken back: a timer, a source, an observer.

import GRunLoop
import Synchronization
import TestSupport

final class Ticket: Sendable {
    /// What is known of its removal. Later ones are stricter.
    private enum Removal: Int {
        case none
        /// By another thread: the callout that was picked already may still begin, one in each loop.
        case elsewhere
        /// Nothing may begin any more: it was removed on the loop's own thread, or that has done something else since.
        case complete
    }

    let kind: Kind
    let producer: Int
    let number: Int
    let consumer: Consumer
    private let callouts = Atomic(0)
    private let late = Atomic(0)
    private let removal = Atomic(Removal.none.rawValue)
    private let loops: Int

    private static let lastNumber = Counted()

    init(_ kind: Kind, producer: Int, consumer: Consumer, loops: Int = 1) {
        self.kind = kind
        self.producer = producer
        self.consumer = consumer
        self.loops = loops
        number = Self.lastNumber.add()
    }

    var name: String { "\(kind.title) \(number) of producer \(producer) on \(consumer.name)" }
    var calls: Int { callouts.load(ordering: .acquiring) }
    var token: Token { Token(kind, producer, consumer) }

    /// First thing in the callout; answers how many there were.
    @discardableResult func enter(owedSince since: Int64, on place: Consumer? = nil) -> Int {
        switch Removal(rawValue: removal.load(ordering: .acquiring)) ?? .none {
        case .none: break
        case .elsewhere:
            if late.add(1, ordering: .acquiringAndReleasing).newValue > loops {
                Findings.add("called after its removal, more often than had been picked: \(name)")
            }
        case .complete: Findings.add("called after its removal: \(name)")
        }
        (place ?? consumer).enter(kind, owedSince: since, producer)
        return callouts.add(1, ordering: .acquiringAndReleasing).newValue
    }

    /// After the removal, on another thread than the loop's.
    func wasRemoved() { removal.max(Removal.elsewhere.rawValue, ordering: .acquiringAndReleasing) }

    /// After the removal, on the loop's thread; or elsewhere of what cannot have been picked.
    func wasRemovedForGood() { removal.max(Removal.complete.rawValue, ordering: .acquiringAndReleasing) }

    /// Has the loop do something else: what had been picked before has begun.
    func seal() {
        wasRemoved()
        consumer.barrier()
        wasRemovedForGood()
    }

    /// Of what is called once.
    func expectOneCall() {
        waitFor("the one call of \(name)", on: consumer) { calls > 0 }
        if calls > 1 { Findings.add("delivered twice: \(name)") }
    }
}
