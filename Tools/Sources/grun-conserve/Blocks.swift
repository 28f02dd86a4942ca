// SPDX-License-Identifier: Apache-2.0
// Blocks in one mode, in several modes, in the common modes. Blocks of the same modes are called in order, as far as
// they are visible: a run in a block does not see older blocks.

import GRunLoop

final class Blocks: Account, @unchecked Sendable {
    private var tickets: [Ticket] = []
    /// The numbers of the blocks that have not been called, by their modes.
    private var waiting: [String: [Int]] = [:]

    override func act() {
        let modes = program.someModes()
        let (number, key) = (tickets.count, modes.key)
        let ticket = Ticket("block \(number) of \(key)")
        tickets.append(ticket)
        program.blockCount = tickets.count
        waiting[key, default: []].append(number)
        let body: @Sendable () -> Void = { [unowned self] in
            ticket.call()
            call(number, key)
        }
        program.note("+ block \(number) \(key)")
        if program.random.chance(50) { loop.perform(inModes: modes, body) } else { loop.async(inModes: modes, body) }
    }

    private func call(_ number: Int, _ key: String) {
        let visible = program.blockStarts.last ?? 0
        if let earlier = waiting[key]?.first(where: { $0 < number && $0 >= visible }) {
            Findings.add("block \(number) of \(key) was called before block \(earlier)")
        }
        waiting[key]?.removeAll { $0 == number }
        program.calloutOfBlock("block \(number)")
    }

    override var open: String? {
        let lost = waiting.values.joined().sorted()
        return lost.isEmpty ? nil : "blocks \(lost.prefix(8)) of \(tickets.count)"
    }

    override func leave() {
        for _ in 0..<4 {
            let ticket = Ticket("a block at the end")
            ticket.cancel()
            loop.perform(inModes: program.someModes()) { ticket.call() }
        }
    }

    override func close() { tickets = [] }
}
