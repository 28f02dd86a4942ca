// SPDX-License-Identifier: Apache-2.0
// Counts of the whole process.

import Synchronization

final class Census: Sendable {
    static let shared = Census()

    private let delivered = Kind.allCases.map { _ in Counted() }
    private let gaps = Kind.allCases.map { _ in Counted() }
    /// Counts by producer and kind of the tokens that closures capture, and of the released ones.
    private let made = (0...Settings.producers).map { _ in Kind.allCases.map { _ in Counted() } }
    private let released = (0...Settings.producers).map { _ in Kind.allCases.map { _ in Counted() } }
    let loops = Counted()
    let pings = Counted()
    let probes = Counted()

    func deliver(_ kind: Kind) -> Int { delivered[kind.rawValue].add() }
    func made(_ kind: Kind, by producer: Int) { made[producer][kind.rawValue].add() }
    @discardableResult func released(_ kind: Kind, by producer: Int) -> Int { released[producer][kind.rawValue].add() }
    func note(gap: Int64, of kind: Kind) { gaps[kind.rawValue].raise(to: Int(gap)) }

    var deliveries: Int { delivered.reduce(0) { $0 + $1.value } }
    func deliveries(of kind: Kind) -> Int { delivered[kind.rawValue].value }
    var notifies: Int { released.joined().reduce(0) { $0 + $1.value } }
    var longestGap: (kind: Kind, nanoseconds: Int) {
        let longest = Kind.allCases.max { gaps[$0.rawValue].value < gaps[$1.rawValue].value } ?? .blockCommon
        return (longest, gaps[longest.rawValue].value)
    }

    /// Kinds whose tokens were not released, or were released twice.
    var unbalanced: [String] {
        (0...Settings.producers).flatMap { producer in
            Kind.allCases.compactMap { kind in
                let (made, released) = (made[producer][kind.rawValue].value, released[producer][kind.rawValue].value)
                if made == released { return nil }
                return
                    "notify: \(released) of \(made) closures were released: \(kind.title) of producer \(producer)"
            }
        }
    }
}

/// Counts without a lock, because each callout counts, and the loops' threads would wait for a lock.
final class Counted: Sendable {
    private let count = Atomic(0)
    var value: Int { count.load(ordering: .acquiring) }
    @discardableResult func add() -> Int { count.add(1, ordering: .acquiringAndReleasing).newValue }
    func change(by amount: Int) -> Int { count.add(amount, ordering: .acquiringAndReleasing).newValue }
    func store(_ value: Int) { count.store(value, ordering: .releasing) }
    func raise(to value: Int) { count.max(value, ordering: .acquiringAndReleasing) }
}
