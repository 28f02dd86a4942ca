// SPDX-License-Identifier: Apache-2.0
// A cell of the matrix: the ready kinds, the length of their items, the driver; and the result.

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

    /// Whether GLib itself keeps one of the kinds from its turn.
    var isGLibs: Bool { kinds.contains { waiting in kinds.contains { Rule.hides($0, waiting, in: form) } } }

    /// All players are ready from before the drive until each has had its turn again `rounds` times.
    ///
    /// - Parameter variant: chooses how a run nests.
    func run(rounds: Int, variant: Int) throws -> Outcome {
        let longest = kinds.indices.map { Rule.longestGap(of: $0, in: self) }.max() ?? 0
        let ledger = Ledger(loads, rounds: rounds, limit: 2 * longest)
        let ends = try kinds.enumerated().map { index, kind in try kind.endless.begin { ledger.call(index) } }
        let complaint = drive(self, ledger, variant: variant)
        for end in ends { end() }
        Cell.settle()
        return Outcome(accounts: ledger.accounts, complaint: complaint)
    }

    /// Serves the remaining calls, which do nothing, and the iterations that a used-up slice leaves to the host.
    private static func settle() {
        for _ in 0..<2 {
            for _ in 0..<4 { GRunLoop.main.run(for: .zero) }
            for _ in 0..<4 { settleHost() }
        }
    }
}
