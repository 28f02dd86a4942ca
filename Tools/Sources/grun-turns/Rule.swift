// SPDX-License-Identifier: Apache-2.0
// How long a kind that is ready may have to wait for its turn.

/// After a slice of one kind each other kind that is ready has a turn.
enum Rule {
    /// ``GRunLoop/timeSlice``, as it is at first.
    static let slice: Int64 = 4_000_000
    /// Of processor time, for what is no item: the loop, GLib, the kernel, and what an item takes more than it should.
    static let allowance: Int64 = 1_500_000

    /// Whether GLib itself leaves `waiting` out for as long as `other` is ready: of the sources of a context only those
    /// of the highest priority that is ready are dispatched. Where we drive, all that is ours is outside that order;
    /// where a host drives, it has the hub's place in it. Nobody is hidden by what is ours: the hub steps back.
    static func hides(_ other: Kind, _ waiting: Kind, in form: Form) -> Bool {
        other.isGLibs && (form.isHosted || waiting.isGLibs) && other.priority < waiting.priority
    }

    /// Of items that take a millisecond and more: how many may come between two turns of a pair's other one. A busy
    /// machine makes them fewer, never more. It is one row: a slice, and the item in which that ends. A run that begins
    /// knows nothing of the last one's: there it is one more. Runs of two passes can leave both of those to wake-ups,
    /// which blocks of a millisecond bring about: three of one, four of the next, and one before the turn.
    ///
    /// Under a host its turn is three iterations, or fewer once those have taken a slice: that is no longer than a row.
    /// What has the hub's own priority comes once more, in the iteration in which the hub steps back or has its turn
    /// again.
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
        // Where items are short the clock is read at every eighth.
        return (longestRow(of: waiting, in: cell).map { Int64($0) * load } ?? slice + 10 * load) + allowance
    }

    /// Where all are ready, with one load: a row, and a turn of each other player. Those of one kind, in the loop's
    /// sense, share its turns. A pass serves one of main queue, timers, descriptors, ports and wake-up, and a run that
    /// is one pass knows nothing of what the last one owed. Under a host its steps come after each slice.
    private static func longestGapAmongAll(of waiting: Int, in cell: Cell) -> Int64 {
        let load = cell.loads[waiting].rawValue
        var round = slice + load + load * Int64(cell.kinds.count - 1)
        if cell.form.isHosted { round += (round / slice + 1) * (slice + load) }
        let sharing = cell.kinds.filter { $0.turn == cell.kinds[waiting].turn }.count
        return round * Int64(sharing) * (cell.form.isOfShortRuns ? 4 : 1) + allowance
    }

    /// What the cell has shown against the rule; nothing, if it holds.
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
        /// Of processor time alone: a virtual machine's may count what another did.
        let isOfTime: Bool
    }
}

func inMilliseconds(_ time: Int64) -> String { inTenths(time) + " ms" }

/// Milliseconds with one digit.
func inTenths(_ time: Int64) -> String {
    let tenths = (time + 50_000) / 100_000
    return "\(tenths / 10).\(tenths % 10)"
}
