// SPDX-License-Identifier: Apache-2.0
// A cell of the matrix: who is ready, for how long each item takes, who drives; and what came of it.

import GRunLoop
import TestSupport

struct Cell {
    let form: Form
    let kinds: [Kind]
    let loads: [Load]

    struct Outcome {
        let accounts: [Ledger.Account]
        let complaint: String?
    }

    var name: String {
        let players =
            kinds.count > 2
            ? "all of \(loads[0].name)"
            : zip(kinds, loads).map { "\($0.name) of \($1.name)" }.joined(separator: " beside ")
        return players + ", " + form.name
    }

    /// Whether GLib itself keeps one of them from its turn.
    var isGLibs: Bool { kinds.contains { waiting in kinds.contains { Rule.hides($0, waiting, in: form) } } }

    /// Everybody is ready from before the drive on, and until each has had its turn again `rounds` times.
    ///
    /// - Parameter variant: picks in what a run nests.
    func run(rounds: Int, variant: Int) throws -> Outcome {
        let longest = kinds.indices.map { Rule.longestGap(of: $0, in: self) }.max() ?? 0
        let ledger = Ledger(loads, rounds: rounds, limit: 2 * longest)
        let ends = try kinds.enumerated().map { index, kind in try kind.endless.begin { ledger.call(index) } }
        let complaint = drive(self, ledger, variant: variant)
        for end in ends { end() }
        Cell.settle()
        return Outcome(accounts: ledger.accounts, complaint: complaint)
    }

    /// Who is called once more does nothing; and a slice that was used up leaves the host a few iterations.
    private static func settle() {
        for _ in 0..<2 {
            for _ in 0..<4 { GRunLoop.main.run(for: .zero) }
            for _ in 0..<4 { settleHost() }
        }
    }
}
