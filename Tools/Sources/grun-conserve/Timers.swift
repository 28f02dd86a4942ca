// SPDX-License-Identifier: Apache-2.0
// Timers: none fires early, a timer without an interval fires once, and none is called again while it is being called.

import GRunLoop

final class Timers: Account, @unchecked Sendable {
    private final class Entry {
        var timer: GRunLoop.Timer?
        let ticket: Ticket
        let modes: [GRunLoop.Mode]
        var due: GRunLoop.Instant
        /// How many more times it fires before it is invalidated.
        var left: Int
        let repeats: Bool
        var isFiring = false

        init(_ ticket: Ticket, _ modes: [GRunLoop.Mode], due: GRunLoop.Instant, left: Int, repeats: Bool) {
            (self.ticket, self.modes, self.due, self.left, self.repeats) = (ticket, modes, due, left, repeats)
        }

        var isOpen: Bool { left > 0 && !ticket.isCancelled }
    }

    private var entries: [Entry] = []

    override func act() {
        let number = entries.count
        let repeats = program.random.chance(35)
        let due = GRunLoop.now.advanced(by: .microseconds(program.random.number(0...3000)))
        let entry = Entry(
            Ticket("timer \(number)", isRepeating: repeats), program.someModes(), due: due,
            left: repeats ? program.random.number(1...4) : 1, repeats: repeats)
        entries.append(entry)
        let timer = GRunLoop.Timer(
            fireAt: due, interval: repeats ? .microseconds(program.random.number(200...1000)) : .zero,
            tolerance: program.random.chance(30) ? .microseconds(program.random.number(0...3000)) : .zero
        ) { [unowned self, ticket = entry.ticket] _ in
            ticket.call()
            fire(number)
        }
        entry.timer = timer
        for mode in entry.modes { loop.add(timer, forMode: mode) }
        program.note("+ timer \(number) \(entry.modes.key)")
    }

    private func fire(_ number: Int) {
        let entry = entries[number]
        let early = GRunLoop.now.duration(to: entry.due)
        if early > .zero { Findings.add("timer \(number) fired \(early) early") }
        if entry.isFiring { Findings.add("timer \(number) fired while it was being called") }
        entry.isFiring = true
        entry.left -= 1
        program.callout("timer \(number)")
        entry.isFiring = false
        guard entry.repeats else { return }
        if entry.left == 0 { end(entry) }
    }

    private func end(_ entry: Entry) {
        entry.timer?.invalidate()
        entry.ticket.cancel()
    }

    override func change() {
        guard let entry = entries.last(where: { $0.isOpen && !$0.isFiring }), let timer = entry.timer else { return }
        switch program.random.number(0...3) {
        case 0: end(entry)
        case 1 where !entry.repeats:
            entry.due = GRunLoop.now.advanced(by: .microseconds(program.random.number(0...2000)))
            timer.fireDate = entry.due
        default:
            for mode in entry.modes { loop.remove(timer, forMode: mode) }
            for mode in entry.modes { loop.add(timer, forMode: mode) }
        }
    }

    override var open: String? {
        let open = entries.filter(\.isOpen)
        return open.isEmpty ? nil : "\(open.count) timers, the first in \(open[0].modes.key)"
    }

    override func leave() {
        let ticket = Ticket("a timer at the end")
        ticket.cancel()
        let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { _ in ticket.call() }
        for mode in program.someModes() { loop.add(timer, forMode: mode) }
    }

    override func close() { entries = [] }
}
