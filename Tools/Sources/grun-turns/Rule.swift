// SPDX-License-Identifier: Apache-2.0
// How long a ready kind may have to wait for its turn.

/// After a slice of one kind, each other ready kind has a turn.
enum Rule {
    /// The default of ``GRunLoop/timeSlice``.
    static let slice: Int64 = 4_000_000
    /// Processor time outside of items: the loop, GLib, the kernel, and what an item takes more than planned.
    static let allowance: Int64 = 1_500_000

    /// Whether GLib itself starves `waiting` while `other` is ready: GLib dispatches only the ready sources of the
    /// highest priority. In a run, the loop's own items are not in that order. Under a host, they have the hub's place
    /// in it. The loop's own items starve no kind, because the hub yields.
    static func hides(_ other: Kind, _ waiting: Kind, in form: Form) -> Bool {
        other.isGLibs && (form.isHosted || waiting.isGLibs) && other.priority < waiting.priority
    }

    /// The greatest number of items of the other kind between two turns, for items of a millisecond or more. A busy
    /// machine makes it smaller, never greater. One row is a slice plus the item that ends it. A new run does not know
    /// the last run's row, so it may add one item. Runs of two passes may spend both passes on wake-ups, which blocks
    /// of a millisecond cause: three items in one run, four in the next, and one before the turn.
    ///
    /// Under a host, the others' turn is three iterations, or fewer if they take a slice, which is no longer than a
    /// row. A source with the hub's own priority runs once more, in the iteration in which the hub yields or has its
    /// turn again.
    static func longestRow(of waiting: Int, in cell: Cell) -> Int? {
        let other = cell.kinds[1 - waiting]
        guard let row = row(of: cell.loads[1 - waiting]) else { return nil }
        if cell.form == .date, other == .block, cell.loads[1 - waiting] == .millisecond { return 8 }
        return row + (cell.form.isOfShortRuns || cell.form.isHosted && other == .glibDefault ? 1 : 0)
    }

    private static func row(of load: Load) -> Int? { load.rawValue < 1_000_000 ? nil : Int(slice / load.rawValue) + 1 }

    /// The processor time that may go by between two turns.
    static func longestGap(of waiting: Int, in cell: Cell) -> Int64 {
        if cell.kinds.count > 2 { return longestGapAmongAll(of: waiting, in: cell) }
        let load = cell.loads[1 - waiting].rawValue
        // If items are short, the loop reads the clock only after every eighth item.
        return (longestRow(of: waiting, in: cell).map { Int64($0) * load } ?? slice + 10 * load) + allowance
    }

    /// The longest wait if all kinds are ready with one load: a row, and a turn of each other player. Kinds that the
    /// loop treats as one share its turns. A pass serves one of main queue, timers, descriptors, ports and wake-up, and
    /// a run of one pass does not know which kinds the last run left waiting. Under a host, the host's turn follows
    /// each slice.
    private static func longestGapAmongAll(of waiting: Int, in cell: Cell) -> Int64 {
        let load = cell.loads[waiting].rawValue
        var round = slice + load + load * Int64(cell.kinds.count - 1)
        if cell.form.isHosted { round += (round / slice + 1) * (slice + load) }
        let sharing = cell.kinds.filter { $0.turn == cell.kinds[waiting].turn }.count
        return round * Int64(sharing) * (cell.form.isOfShortRuns ? 4 : 1) + allowance
    }

    /// The breaches of the rule in this cell; empty if the rule holds.
    static func breaches(in cell: Cell, _ outcome: Cell.Outcome) -> [Breach] {
        var breaches: [Breach] = outcome.complaint.map { [Breach(words: $0, isOfTime: false)] } ?? []
        for (index, account) in outcome.accounts.enumerated() {
            let name = cell.kinds[index].name
            let mostTime = longestGap(of: index, in: cell)
            if cell.kinds.count == 2, let most = longestRow(of: index, in: cell), account.longestRow > most {
                breaches.append(
                    Breach(
                        words: "\(account.longestRow) items between two turns of \(name), \(most) at most",
                        isOfTime: false))
            }
            if account.longestGap > mostTime {
                let gap = inMilliseconds(account.longestGap)
                breaches.append(
                    Breach(
                        words: account.returns == 0
                            ? "\(name) had no turn, for \(gap)"
                            : "\(gap) between two turns of \(name), \(inMilliseconds(mostTime)) at most",
                        isOfTime: true))
            }
        }
        return breaches
    }

    struct Breach {
        let words: String
        /// Whether only processor time is exceeded. A virtual machine may count the time of another one.
        let isOfTime: Bool
    }
}

func inMilliseconds(_ time: Int64) -> String { inTenths(time) + " ms" }

/// Milliseconds with one digit.
func inTenths(_ time: Int64) -> String {
    let tenths = (time + 50_000) / 100_000
    return "\(tenths / 10).\(tenths % 10)"
}
