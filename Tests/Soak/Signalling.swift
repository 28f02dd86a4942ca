// SPDX-License-Identifier: Apache-2.0
// Sources of version 0. Several signals before a callout count as one. There are never more callouts than signals, a
// single signal causes one callout, and a callout begins after the last accepted signal.

import GRunLoop
import Synchronization
import TestSupport

/// Counts the signals of a source, and the signals that its callouts have seen.
final class SignalLedger: Sendable {
    private let asked = Counted()
    private let seen = Counted()
    private let calls = Counted()
    /// The time of the first signal that no callout has seen.
    private let since = Atomic<Int64>(0)

    /// Called before the signal.
    func ask() {
        _ = since.compareExchange(expected: 0, desired: nanoseconds(), ordering: .acquiringAndReleasing)
        asked.add()
    }

    /// Called first in the callout. Returns the time of the first unseen signal.
    func owedSince() -> Int64 {
        let date = since.exchange(0, ordering: .acquiringAndReleasing)
        return date == 0 ? nanoseconds() : date
    }

    func see(_ name: String) {
        let before = asked.value
        // Reads the signals again after the count, because of two loops the other one may have counted first.
        if calls.add() > asked.value { Findings.add("delivered twice: more callouts than signals, \(name)") }
        seen.raise(to: before)
    }

    var callouts: Int { calls.value }
    var isSettled: Bool { seen.value == asked.value }
    var debt: String { "signal \(asked.value), callouts saw \(seen.value)" }
}

/// A source whose schedule and cancel closures are counted as well.
final class CountedSource: Sendable {
    let ticket: Ticket
    let source: GRunLoop.Source
    let ledger = SignalLedger()
    private let memberships: Balance

    init(producer: Int, _ consumer: Consumer, order: Int = 0, inOther other: Consumer? = nil) {
        let (ticket, ledger, memberships) = (
            Ticket(.source, producer: producer, consumer: consumer, loops: other == nil ? 1 : 2), ledger, Balance()
        )
        let token = ticket.token
        self.ticket = ticket
        self.memberships = memberships
        source = GRunLoop.Source(
            order: order, schedule: { _, _ in memberships.begin(ticket) }, cancel: { _, _ in memberships.end(ticket) }
        ) {
            let place = other.map { $0.loop === GRunLoop.current ? $0 : consumer }
            ticket.enter(owedSince: ledger.owedSince(), on: place)
            withExtendedLifetime(token) { ledger.see(ticket.name) }
        }
    }

    func signal() {
        ledger.ask()
        source.signal()
    }

    func settle() {
        waitFor("\(ticket.name): \(ledger.debt)", on: ticket.consumer) { ledger.isSettled }
    }

    /// If no other signal is under way, one signal causes exactly one callout.
    func signalAlone() {
        // A callout between the ledger's entry and the signal has settled the ledger, but the signal is still pending.
        waitFor("the callout of a signal, \(ticket.name)", on: ticket.consumer) { !source.isSignalled }
        ticket.consumer.barrier()
        let before = ledger.callouts
        signal()
        ticket.consumer.loop.wakeUp()
        settle()
        ticket.consumer.barrier()
        let calls = ledger.callouts - before
        if calls > 1 { Findings.add("delivered twice: \(calls) callouts for one signal, \(ticket.name)") }
    }

    /// Called after the source was removed from all modes.
    func balance() {
        guard memberships.begun.value != memberships.ended.value else { return }
        Findings.add("cancel: \(memberships.ended.value) after \(memberships.begun.value) schedules, \(ticket.name)")
    }

    func invalidateHere() {
        source.invalidate()
        ticket.wasRemovedForGood()
    }
}

/// Counts the schedule and cancel calls of a source.
final class Balance: Sendable {
    let begun = Counted()
    let ended = Counted()

    /// Called in a source's schedule closure, on the thread that adds the source, under no lock.
    func begin(_ ticket: Ticket) {
        begun.add()
        look("schedule", ticket)
    }

    func end(_ ticket: Ticket) {
        ended.add()
        look("cancel", ticket)
    }

    private func look(_ name: String, _ ticket: Ticket) {
        if ticket.number & 7 == 0 { LockProbe.check(ticket.consumer, "the \(name) of \(ticket.name)") }
    }
}

/// One source that every producer signals.
final class SharedSource: Sendable {
    let item: CountedSource

    init(_ consumer: Consumer) {
        item = CountedSource(producer: Settings.producers, consumer)
        consumer.loop.add(item.source, forMode: .common)
    }

    var debts: [String] { item.ledger.isSettled ? [] : ["\(item.ticket.name): \(item.ledger.debt)"] }

    func end() {
        item.source.invalidate()
        item.balance()
    }
}

extension Producer {
    func signal() {
        let consumer = hold()
        let loop = consumer.loop
        let item = CountedSource(producer: number, consumer, order: dice.number(-1...1))
        let mode = mode
        loop.add(item.source, forMode: mode)
        for _ in 0..<dice.number(1...6) {
            for _ in 0..<dice.number(1...3) { item.signal() }
            if dice.chance(20) {
                // The signal survives (item 95).
                loop.remove(item.source, forMode: mode)
                loop.add(item.source, forMode: mode)
            }
            loop.wakeUp()
        }
        let isSignalledAlone = dice.chance(50)
        later {
            item.settle()
            if isSignalledAlone { item.signalAlone() } else { item.signal() }
            item.source.invalidate()
            item.ticket.seal()
            item.source.signal()
            loop.wakeUp()
            consumer.barrier()
            item.balance()
            consumer.release()
        }
    }

    func signalTogether() {
        let item = main.common.item
        for _ in 0..<dice.number(1...10) {
            item.signal()
            if dice.chance(50) { main.loop.wakeUp() }
        }
        main.loop.wakeUp()
        if dice.chance(20) { item.settle() }
    }

    /// Signals a source in two loops. Either loop may perform it.
    func signalTwoLoops() {
        guard let worker = workers.pick(dice.number(0...100)), worker.hold() else { return }
        let item = CountedSource(producer: number, main, inOther: worker)
        main.loop.add(item.source, forMode: .common)
        worker.loop.add(item.source, forMode: .common)
        for _ in 0..<dice.number(1...6) {
            item.signal()
            main.loop.wakeUp()
            if dice.chance(50) { worker.loop.wakeUp() }
        }
        item.settle()
        item.source.invalidate()
        item.ticket.wasRemoved()
        worker.barrier()
        item.ticket.seal()
        item.balance()
        worker.release()
    }
}
