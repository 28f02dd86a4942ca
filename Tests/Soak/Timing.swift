// SPDX-License-Identifier: Apache-2.0
// Timers: each fires once, not before its date, not after it was cancelled, and not before a new date.

import GRunLoop
import Glibc
import Synchronization
import TestSupport

extension GRunLoop.Instant {
    /// A time on the loops' clock, whose epoch is the system's.
    init(nanoseconds: Int64) { self = SuspendingClock().systemEpoch.advanced(by: .nanoseconds(nanoseconds)) }
}

/// A timer that fires once.
final class Alarm: Sendable {
    let ticket: Ticket
    let timer: GRunLoop.Timer
    private let earliest: Earliest

    init(producer: Int, _ consumer: Consumer, at date: Int64, tolerance: Duration = .zero) {
        let ticket = Ticket(.timer, producer: producer, consumer: consumer)
        let (token, earliest) = (ticket.token, Earliest(date))
        (self.ticket, self.earliest) = (ticket, earliest)
        timer = GRunLoop.Timer(fireAt: GRunLoop.Instant(nanoseconds: date), tolerance: tolerance) { _ in
            let (date, now) = (earliest.date, nanoseconds())
            if now < date { Findings.add("called \(date - now) ns before its date: \(ticket.name)") }
            let calls = withExtendedLifetime(token) { ticket.enter(owedSince: min(date, now)) }
            if calls > 1 { Findings.add("delivered twice: \(ticket.name)") }
        }
    }

    /// The earliest date at which the timer may fire.
    private final class Earliest: Sendable {
        private let stored: Atomic<Int64>

        init(_ date: Int64) { stored = Atomic(date) }

        var date: Int64 {
            get { stored.load(ordering: .acquiring) }
            set { stored.store(newValue, ordering: .releasing) }
        }
    }

    /// Only one thread may move it.
    func move(to date: Int64) {
        // The loop may have picked the timer for the old date, so the earlier date counts.
        earliest.date = min(date, earliest.date)
        timer.fireDate = GRunLoop.Instant(nanoseconds: date)
    }

    /// Moves the timer so far away that it does not fire any more. Unless it was picked, moves it on to a date before
    /// which it must not fire.
    func park(thenAt date: () -> Int64) {
        timer.fireDate = GRunLoop.Instant(nanoseconds: nanoseconds() + 3_600_000_000_000)
        ticket.consumer.barrier()
        guard ticket.calls == 0 else { return }
        let date = date()
        earliest.date = date
        timer.fireDate = GRunLoop.Instant(nanoseconds: date)
    }

    /// Must not be called on the loop's thread.
    func cancel() {
        timer.invalidate()
        if nanoseconds() < earliest.date {
            // The timer was not due, so it had not been picked.
            ticket.wasRemovedForGood()
            if ticket.calls > 0 { Findings.add("called before its date: \(ticket.name)") }
        } else {
            ticket.seal()
        }
    }
}

extension Producer {
    private func soon(_ microseconds: Int = 4000) -> Int64 {
        nanoseconds() + Int64(dice.number(-500...microseconds)) * 1000
    }

    func setTimers() {
        let consumer = hold()
        var (kept, cancelled): ([Alarm], [Alarm]) = ([], [])
        for _ in 0..<dice.number(1...8) {
            let tolerance: Duration = dice.chance(20) ? .milliseconds(1) : .zero
            let alarm = Alarm(producer: number, consumer, at: soon(), tolerance: tolerance)
            consumer.loop.add(alarm.timer, forMode: mode)
            if dice.chance(20) { alarm.move(to: soon(1000)) }
            if dice.chance(30) { cancelled.append(alarm) } else { kept.append(alarm) }
        }
        for alarm in cancelled { alarm.cancel() }
        later {
            for alarm in kept { alarm.ticket.expectOneCall() }
            for alarm in cancelled where alarm.ticket.calls > 1 {
                Findings.add("delivered twice: \(alarm.ticket.name)")
            }
            for alarm in kept where alarm.timer.isValid {
                waitFor("the end of \(alarm.ticket.name)", on: consumer) { !alarm.timer.isValid }
            }
            consumer.release()
        }
    }

    func moveTimers() {
        let consumer = hold()
        let alarms = (0..<dice.number(1...4)).map { _ in
            let alarm = Alarm(producer: number, consumer, at: soon(8000))
            consumer.loop.add(alarm.timer, forMode: mode)
            return alarm
        }
        for alarm in alarms {
            let delay = Int64(dice.number(0...2000)) * 1000
            alarm.park { nanoseconds() + delay }
        }
        later {
            for alarm in alarms { alarm.ticket.expectOneCall() }
            consumer.release()
        }
    }

    func setRepeatingTimer() {
        let consumer = hold()
        let ticket = Ticket(.repeating, producer: number, consumer: consumer)
        let token = ticket.token
        let dates = LastDate()
        let limit = dice.chance(50) ? dice.number(1...4) : Int.max
        let timer = GRunLoop.Timer(
            fireAt: GRunLoop.Instant(nanoseconds: soon(2000)), interval: .microseconds(dice.number(500...3000))
        ) { timer in
            let (now, due) = (GRunLoop.now, timer.fireDate)
            if now < due { Findings.add("called before its date: \(ticket.name)") }
            let date = SuspendingClock().systemEpoch.duration(to: due) / .nanoseconds(1)
            if !dates.advance(to: Int64(date)) { Findings.add("delivered twice: for one date, \(ticket.name)") }
            let calls = withExtendedLifetime(token) { ticket.enter(owedSince: Int64(date)) }
            if calls == limit {
                timer.invalidate()
                ticket.wasRemovedForGood()
            }
        }
        consumer.loop.add(timer, forMode: mode)
        let wanted = dice.number(1...3)
        later {
            waitFor("call \(wanted) of \(ticket.name)", on: consumer) { ticket.calls >= min(wanted, limit) }
            if limit == .max {
                timer.invalidate()
            } else {
                waitFor("call \(limit) of \(ticket.name)", on: consumer) { ticket.calls >= limit }
            }
            ticket.seal()
            consumer.release()
        }
    }
}

/// The date of the last fire.
private final class LastDate: Sendable {
    private let date = Atomic<Int64>(.min)

    /// False if it was as late already.
    func advance(to new: Int64) -> Bool { date.exchange(new, ordering: .acquiringAndReleasing) < new }
}
