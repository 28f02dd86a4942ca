// SPDX-License-Identifier: Apache-2.0
// The ledger of an item that can be removed: a timer, a source or an observer.

import GRunLoop
import Synchronization
import TestSupport

final class Ticket: Sendable {
    /// How the item was removed. Later cases are stricter.
    private enum Removal: Int {
        case none
        /// Another thread removed it. A callout that was already picked may still begin, one in each loop.
        case elsewhere
        /// No callout may begin: the loop's own thread removed it, or has passed a barrier since.
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

    /// Called first in the callout. Returns the number of callouts.
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

    /// Called after a removal on another thread than the loop's.
    func wasRemoved() { removal.max(Removal.elsewhere.rawValue, ordering: .acquiringAndReleasing) }

    /// Called after a removal on the loop's thread, or elsewhere if the item cannot have been picked.
    func wasRemovedForGood() { removal.max(Removal.complete.rawValue, ordering: .acquiringAndReleasing) }

    /// Waits for a barrier. Callouts that had been picked before have begun by then.
    func seal() {
        wasRemoved()
        consumer.barrier()
        wasRemovedForGood()
    }

    /// Expects exactly one call.
    func expectOneCall() {
        waitFor("the one call of \(name)", on: consumer) { calls > 0 }
        if calls > 1 { Findings.add("delivered twice: \(name)") }
    }
}
