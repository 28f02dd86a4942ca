// SPDX-License-Identifier: Apache-2.0
// The ledger of the events of one kind from one producer to one loop. The events have numbers, and come in that order.

import GRunLoop
import Glibc
import TestSupport

/// The producer's thread assigns the numbers, and the loop's thread checks them off.
final class Lane: @unchecked Sendable {
    let kind: Kind
    let producer: Int
    let consumer: Consumer

    private let given = Counted()
    private let posted = Counted()
    private let delivered = Counted()

    // Used on the loop's thread only.
    private var next = 0
    /// Numbers that came early: a run nested in a block sees only blocks that are newer than those of its step.
    private var ahead: Set<Int> = []
    /// The last number, by the count of such runs on the stack.
    private var last: [Int] = []
    private var required = 0

    init(_ kind: Kind, producer: Int, consumer: Consumer) {
        self.kind = kind
        self.producer = producer
        self.consumer = consumer
    }

    var name: String { "\(kind.title) of producer \(producer) on \(consumer.name)" }
    var count: Int { given.value }
    var isSettled: Bool { delivered.value >= posted.value }
    var backlog: Int { posted.value - delivered.value }
    var debt: String { "\(name): \(delivered.value) of \(posted.value) delivered" }

    /// Passes one event to the loop: `post` gets the closure to deliver.
    func post(_ post: (@escaping @Sendable () -> Void) -> Void) {
        let number = given.value
        given.add()
        let token = Token(kind, producer, consumer)
        let since = nanoseconds()
        post { [self] in
            withExtendedLifetime(token) { deliver(number, since) }
        }
        posted.add()
    }

    private func deliver(_ number: Int, _ since: Int64) {
        consumer.enter(kind, owedSince: kind.isUrgent ? since : nanoseconds(), producer)
        let depth = kind.isBlock ? consumer.blockDepth : 0
        while last.count <= depth { last.append(-1) }
        if number < next || ahead.contains(number) {
            Findings.add("delivered twice: number \(number), \(name)")
        } else if kind.isOrdered, number <= last[depth] || number > next && depth == 0 {
            Findings.add("out of order: number \(number) when \(next) was next, \(name)")
        }
        last[depth] = max(last[depth], number)
        ahead.insert(number)
        while ahead.remove(next) != nil { next += 1 }
        delivered.add()
    }

    // MARK: At the end of a loop, on its thread

    /// Notes that everything accepted so far must be delivered before the loop's end.
    func require() { required = kind.isUrgent ? posted.value : 0 }
    var hasRequired: Bool { delivered.value >= required }

    /// Checks the ledger of an ended loop: later events were either delivered in order, or dropped.
    func balanceOfEnded() {
        if delivered.value < required {
            Findings.add(
                "lost: \(required) were accepted before the loop's last passes, \(delivered.value) delivered, \(name)")
        }
        if delivered.value > given.value {
            Findings.add("delivered twice: \(delivered.value) of \(given.value), \(name)")
        }
        if !ahead.isEmpty {
            Findings.add("lost: \(next) was skipped, and \(ahead.count) later ones delivered, \(name)")
        }
    }

    /// Checks the ledger of a loop that goes on, at a quiet time.
    func balanceOfLiving() {
        if delivered.value < given.value { Findings.add("lost: \(debt)") }
    }
}

/// Captured by a closure. It must be released once, in every case, and under no lock.
final class Token: Sendable {
    private let kind: Kind
    private let producer: Int
    private let consumer: Consumer

    init(_ kind: Kind, _ producer: Int, _ consumer: Consumer) {
        self.kind = kind
        self.producer = producer
        self.consumer = consumer
        Census.shared.made(kind, by: producer)
    }

    deinit {
        let count = Census.shared.released(kind, by: producer)
        if count & 31 == 0 { LockProbe.check(consumer, "the release of a \(kind.title) of producer \(producer)") }
    }
}
