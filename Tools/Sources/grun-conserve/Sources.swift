// SPDX-License-Identifier: Apache-2.0
// Version-0 sources: each signal leads to one call, as long as the source is valid.

import GRunLoop

final class Sources: Account, @unchecked Sendable {
    private final class Entry {
        var source: GRunLoop.Source?
        let ticket = Ticket("a source", isRepeating: true)
        let modes: [GRunLoop.Mode]
        var isPending = false

        init(_ modes: [GRunLoop.Mode]) { self.modes = modes }

        var isValid: Bool { !ticket.isCancelled }
    }

    private var entries: [Entry] = []

    override func begin() { for _ in 0..<4 { make() } }

    private func make() {
        let number = entries.count
        let entry = Entry(program.someModes())
        entries.append(entry)
        entry.source = GRunLoop.Source(order: program.random.number(0...2)) { [unowned self, ticket = entry.ticket] in
            ticket.call()
            if !entries[number].isPending { Findings.add("source \(number) was called without a signal") }
            entries[number].isPending = false
            program.callout("source \(number)")
        }
        add(entry)
    }

    private func add(_ entry: Entry) {
        guard let source = entry.source else { return }
        for mode in entry.modes { loop.add(source, forMode: mode) }
    }

    override func act() {
        if program.random.chance(5) { return make() }
        let entry = program.random.pick(entries)
        guard entry.isValid, let source = entry.source else { return }
        entry.isPending = true
        source.signal()
        if program.random.chance(50) { loop.wakeUp() }
    }

    override func change() {
        let entry = program.random.pick(entries)
        guard entry.isValid, let source = entry.source else { return }
        if program.random.chance(60) || entries.count(where: \.isValid) <= 3 {
            for mode in entry.modes { loop.remove(source, forMode: mode) }
            add(entry)
        } else {
            source.invalidate()
            entry.ticket.cancel()
            entry.isPending = false
        }
    }

    override var open: String? {
        let count = entries.count { $0.isPending }
        return count == 0 ? nil : "\(count) signalled sources"
    }

    override func quiet() {
        for entry in entries where entry.isValid {
            entry.source?.invalidate()
            entry.ticket.cancel()
        }
    }

    override func close() { entries = [] }
}
