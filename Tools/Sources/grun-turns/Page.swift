// SPDX-License-Identifier: Apache-2.0
// docs/internals/turns.md: what a whole matrix has found, for a reader.

import Foundation

struct Page {
    let results: [Result]
    /// The same cells on the real CFRunLoop.
    let real: [Result]
    let line: String

    var text: String {
        """
        # Turns: who is served when something never ends

        Each kind of item, one of which is always ready, beside each other kind, in each way to drive a loop, with \
        items of \(Load.allCases.map(\.name).joined(separator: ", ")).
        `make turns` measures all of it and writes this page; `make check` tries each pair in each way, with each of \
        nine pairs of lengths in one, and fails on any difference. Measured on \(date), release build:

            \(line)

        ## The rule

        After a slice of 4 ms (`timeSlice`) of one kind each other kind that is ready has a turn, whoever drives. \
        So between two turns of a kind that is ready comes at most one row of the other: a slice, and the item in \
        which it ends. That is 5 items of 1 ms, one of 20 ms, and 4 ms of shorter ones.

        - A run that begins knows nothing of what the last one owed: where runs are short it is one item more, beside \
        blocks, which come up to three times in a pass. Each block may wake the loop, and the item of a pass may be \
        that wake-up: where a run is two passes, as "until a date", eight blocks of 1 ms may come.
        - Under a host its turn is up to three iterations, fewer once they have taken 4 ms. What has the hub's own \
        priority, 0, may come once more beside them.
        - Where all are ready at once it is a row, and a turn of each of the others. What the loop takes for one kind \
        has those in turn: source, perform and job, the two timers, the contexts. Where runs are short it is up to \
        four times as long.
        - Within a `GMainContext` GLib's own order holds: while a source is ready none of a lower priority is \
        dispatched. Under a host all that is ours has priority 0, so that a source of -100 that is always ready leaves \
        us out, as it does every timeout and every GTK event; such pairs are marked "GLib" below. It is never the \
        other way round: idle work of priority 200 has its turns beside whatever is ours.

        What is asserted is the number of items, and the thread's processor time: another process may take the \
        processor for as long as it likes.

        ## The kinds

        | kind | one is always ready by |
        |---|---|
        \(lines(Kind.allCases) { "| \($0.name) | \($0.explanation) |" })

        What is made of these has its turns as they have them: message ports, signals and children are descriptor \
        sources, a channel is a version-0 source. Idle work, and notifications that wait for idleness, come when none \
        of all that is ready.

        ## The forms, and the longest wait in each

        Milliseconds of processor time, of the kind that waited longest, beside others whose items take as long as the \
        column says; "all" is \(Plan.all.count) players at once.

        | form | | cells | \(heads) all of 1 ms |
        |---|---|---:|\(rules)---:|
        \(lines(Form.allCases) { form in
            "| \(form.name) | \(form.explanation) | \(results.filter { $0.cell.form == form }.count) | "
                + waits { $0.form == form } + all(in: form) + " |"
        })

        ## Who waits how long

        The longest wait of a kind in any form, in milliseconds of processor time, beside items of the column's length.

        | kind | \(heads)
        |---|\(rules)
        \(lines(Kind.allCases) { kind in "| \(kind.name) | " + waits(of: kind) { _ in true } })

        ## In a run of ours

        \(matrix(.run))

        ## Under a host

        \(matrix(.host))

        ## Beside the real CFRunLoop

        The same programs on the toolchain's CFRunLoop, where it has the kind, ours before the point (·) and its own \
        behind it: the turns of each of the two in a run, with items of 1 ms; and the longest wait of either with \
        items of 20 ms, in milliseconds of processor time. "never": one of them had no turn for 250 ms, when the cell \
        was ended. None of that is asserted.

        | pair | turns | \(RealLoop.forms.map(\.name).joined(separator: " | ")) |
        |---|---|\(String(repeating: "---|", count: RealLoop.forms.count))
        \(beside)

        """
    }

    private var date: String {
        let format = DateFormatter()
        format.dateFormat = "yyyy-MM-dd"
        return format.string(from: Date())
    }

    private var heads: String { Load.allCases.map(\.name).joined(separator: " | ") + " |" }
    private var rules: String { String(repeating: "---:|", count: Load.allCases.count) }

    private func lines<Element>(_ elements: [Element], _ line: (Element) -> String) -> String {
        elements.map(line).joined(separator: "\n")
    }

    /// The longest wait for each load of the other one, over the pairs that `isMeant` says.
    private func waits(of kind: Kind? = nil, _ isMeant: (Cell) -> Bool) -> String {
        var longest: [Load: Int64] = [:]
        for result in results where result.cell.kinds.count == 2 && isMeant(result.cell) {
            for (index, account) in result.accounts.enumerated() where kind == nil || kind == result.cell.kinds[index] {
                longest[result.cell.loads[1 - index], default: 0] = max(
                    longest[result.cell.loads[1 - index], default: 0], account.longestGap)
            }
        }
        return Load.allCases.map { longest[$0].map(inTenths) ?? "" }.joined(separator: " | ") + " |"
    }

    private func all(in form: Form) -> String {
        let result = results.first {
            $0.cell.form == form && $0.cell.kinds.count > 2 && $0.cell.loads[0] == .millisecond
        }
        return " " + inTenths(result?.accounts.map(\.longestGap).max() ?? 0)
    }

    /// Each kind beside each other.
    private func matrix(_ form: Form) -> String {
        let kinds = Kind.allCases
        return """
            The most items of the column's kind between two turns of the row's, for items of 1 ms and, behind the \
            point, of 20 ms; and the row's share of the turns, in percent, where the items of both take 1 ms: of few \
            turns, since a cell ends when each has had its own again.

            | | \(kinds.map(\.name).joined(separator: " | ")) |
            |---|\(String(repeating: "---|", count: kinds.count))
            \(lines(kinds) { row in
                "| \(row.name) | " + kinds.map { entry(form, row, beside: $0) }.joined(separator: " | ") + " |"
            })
            """
    }

    private func entry(_ form: Form, _ row: Kind, beside column: Kind) -> String {
        if Rule.hides(column, row, in: form) || Rule.hides(row, column, in: form) { return "GLib" }
        func places(_ result: Result) -> [Int] {
            let kinds = result.cell.kinds
            guard result.cell.form == form, kinds.count == 2, Set(kinds) == [row, column] else { return [] }
            return [0, 1].filter { kinds[$0] == row && kinds[1 - $0] == column }
        }
        func longest(_ load: Load) -> Int {
            results.flatMap { result in
                places(result).filter { result.cell.loads[1 - $0] == load }.map { result.accounts[$0].longestRow }
            }.max() ?? 0
        }
        var turns = (own: 0, all: 0)
        for result in results where result.cell.loads.allSatisfy({ $0 == .millisecond }) {
            guard let place = places(result).first else { continue }
            turns.own += result.accounts[place].turns
            turns.all += result.accounts.map(\.turns).reduce(0, +)
        }
        let share = turns.all == 0 ? 0 : (turns.own * 100 + turns.all / 2) / turns.all
        return "\(longest(.millisecond)).\(longest(.twenty)) \(share)%"
    }

    private var beside: String {
        let pairs = Plan.pairs.filter { $0[0] != $0[1] && $0.allSatisfy(RealLoop.kinds.contains) }
        return lines(pairs) { pair in
            func both(_ form: Form, _ load: Load, _ words: ([Ledger.Account]) -> String) -> String {
                [results, real].map { results in
                    results.first { $0.cell.form == form && $0.cell.kinds == pair && $0.cell.loads == [load, load] }
                        .map { words($0.accounts) } ?? ""
                }.joined(separator: " · ")
            }
            let turns = both(.run, .millisecond) { "\($0[0].turns) : \($0[1].turns)" }
            let waits = RealLoop.forms.map { form in
                both(form, .twenty) { accounts in
                    accounts.contains { $0.longestGap > RealLoop.limit }
                        ? "never" : inTenths(accounts.map(\.longestGap).max() ?? 0)
                }
            }
            return "| \(pair[0].name), \(pair[1].name) | \(turns) | \(waits.joined(separator: " | ")) |"
        }
    }
}
