// SPDX-License-Identifier: Apache-2.0
// Delayed performs: each is called once and not early, or was cancelled by a call with the right result.

import GRunLoop

final class Performs: Account, @unchecked Sendable {
    private struct Entry {
        let perform: GRunLoop.DelayedPerform
        let ticket: Ticket
    }

    private var entries: [Entry] = []

    override func act() {
        let number = entries.count
        let ticket = Ticket("delayed perform \(number)")
        let delay = Duration.microseconds(program.random.number(0...2500))
        let due = GRunLoop.now.advanced(by: delay)
        let perform = loop.perform(after: delay, inModes: program.someModes()) { [unowned self] in
            ticket.call()
            if GRunLoop.now < due { Findings.add("delayed perform \(number) was called early") }
            program.callout("perform \(number)")
        }
        entries.append(Entry(perform: perform, ticket: ticket))
    }

    override func change() {
        guard !entries.isEmpty else { return }
        let entry = program.random.pick(entries)
        // Read before the call, because the call releases the closure.
        let wasOpen = !entry.ticket.isCalled && !entry.ticket.isCancelled
        if wasOpen { entry.ticket.cancel() }
        if entry.perform.cancel() != wasOpen {
            Findings.add("cancel() returned \(!wasOpen) for a perform that was \(wasOpen ? "" : "not ")waiting")
        }
    }

    override var open: String? {
        let count = entries.count { !$0.ticket.isCalled && !$0.ticket.isCancelled }
        return count == 0 ? nil : "\(count) delayed performs"
    }

    override func leave() {
        let ticket = Ticket("a delayed perform at the end")
        ticket.cancel()
        _ = loop.perform(after: .milliseconds(1), inModes: program.someModes()) { ticket.call() }
    }

    override func close() { entries = [] }
}
