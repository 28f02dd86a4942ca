// SPDX-License-Identifier: Apache-2.0
// Writes docs/internals/turns.md: the results of a whole matrix for a reader.

import Foundation

struct Page {
    let results: [Result]
    /// The same cells on the real CFRunLoop.
    let real: [Result]
    let line: String

    var text: String {
        """
        # Turns: how long each kind of item waits

        A *pair* is two kinds of items, and one item of each kind is always ready. `make turns` writes this page. It \
        runs each pair in each way to drive a loop (a *form*), with items that take \(lengths). Each combination is a \
        *cell*. `make check` runs each pair once in each form, and varies the items' lengths. Both commands fail \
        if a cell breaks the rule. Measured on \(date), release build:

            \(line)

        ## The rule

        If a kind is always ready, each other ready kind has a turn after a slice of 4 ms (`timeSlice`). So between \
        two turns of a ready kind, the other kind has at most one *row*: a slice, and the item during which the slice \
        ends. A row is 5 items of 1 ms, one item of 20 ms, or 4 ms of shorter items.

        - A new run does not know which turns the last run left pending. So in short runs, a kind may have one item \
        more than a row. A block may run up to three times in a pass, and the block's wake-up may be the item that the \
        pass services. So in the form "until a date", whose runs have two passes, eight blocks of 1 ms may run.
        - The host's turn lasts for up to three iterations, and ends early when the iterations have taken 4 ms. A \
        source with priority 0, the hub's priority, may be dispatched once more.
        - If all kinds are ready at the same time, a kind waits at most for a row of one kind, and for one turn of \
        each other kind. Some kinds share their turns: source, perform and job; the two timers; the contexts. In short \
        runs, the wait is up to four times as long.
        - In a `GMainContext`, GLib's own order holds: while a source is ready, GLib dispatches no source of a lower \
        priority. Under a host, all our items have priority 0. So they wait while a source of priority -100 is always \
        ready, as all timeouts and GTK's events do. The tables show such pairs as "GLib". Sources of a lower priority \
        than our items do not wait like this: idle work of priority 200 has its turns.

        The checks compare numbers of items and the thread's processor time. They ignore elapsed time, because other \
        processes may use the processor.

        ## The kinds

        | kind | the item that is always ready |
        |---|---|
        \(lines(Kind.allCases) { "| \($0.name) | \($0.explanation) |" })

        Other items wait like the items that they consist of: message ports, signals and children are descriptor \
        sources, and a channel is a version-0 source. Idle work, and notifications that wait for idleness, come only \
        when nothing else is ready.

        ## The forms, and the longest wait in each

        The table shows the wait of the kind that waited longest, in milliseconds of processor time. The columns give \
        the length of the other kind's items. In the column "all of 1 ms", \(Plan.all.count) kinds are ready together.

        | form | | cells | \(heads) all of 1 ms |
        |---|---|---:|\(rules)---:|
        \(lines(Form.allCases) { form in
            "| \(form.name) | \(form.explanation) | \(results.filter { $0.cell.form == form }.count) | "
                + waits { $0.form == form } + all(in: form) + " |"
        })

        ## The longest wait of each kind

        The table shows the longest wait of a kind in any form, in milliseconds of processor time, beside items of the \
        column's length.

        | kind | \(heads)
        |---|\(rules)
        \(lines(Kind.allCases) { kind in "| \(kind.name) | " + waits(of: kind) { _ in true } })

        ## In a run of ours

        In "4.1 33%", 4 is the largest number of the column's items between two turns of the row's kind, if the \
        column's items take 1 ms. The number after the point is the corresponding number for items of 20 ms. The \
        percentage is the row's share of the turns, if the items of both kinds take 1 ms. A cell has few turns, \
        because it ends when each kind has had its turn again.

        \(matrix(.run))

        ## Under a host

        The figures have the same meaning as in the table above.

        \(matrix(.host))

        ## Beside the real CFRunLoop

        The same programs also ran on the toolchain's CFRunLoop, with the kinds of items that exist there. Our \
        figures are before the dot (·), and CFRunLoop's figures are behind the dot. The column "turns" gives the \
        turns of the two kinds in a run, with items of 1 ms. The other columns give the longest wait of either kind \
        with items of 20 ms, in milliseconds of processor time. "never": one kind had no turn for 250 ms, and the \
        cell was ended. No test checks these figures.

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

    /// The lengths of the items as a list in a sentence.
    private var lengths: String {
        let names = Load.allCases.map(\.name)
        return names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
    }

    private var heads: String { Load.allCases.map(\.name).joined(separator: " | ") + " |" }
    private var rules: String { String(repeating: "---:|", count: Load.allCases.count) }

    private func lines<Element>(_ elements: [Element], _ line: (Element) -> String) -> String {
        elements.map(line).joined(separator: "\n")
    }

    /// The longest wait for each load of the other player, over the pairs that `isMeant` selects.
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
