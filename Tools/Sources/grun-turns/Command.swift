// SPDX-License-Identifier: Apache-2.0
// The matrix of turns.

import ArgumentParser
import Foundation
import GRunLoop
import Glibc
import TestSupport

@main
struct GRunTurns: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grun-turns",
        abstract: "Each kind of item, always ready, beside each other kind: whether each has its turn.")

    @ArgumentParser.Flag(help: "Every pair of loads in every form: several minutes.")
    var whole = false

    @Option(help: "Only cells of this form.")
    var form: [String] = []

    @Option(help: "Only cells with these kinds in them.")
    var kind: [String] = []

    @Option(help: "How often each has its turn again in a cell.")
    var rounds = 2

    @Option(help: "Write the results, with those of the real CFRunLoop, as a page.")
    var page: String?

    @ArgumentParser.Flag(help: "Print each cell.")
    var verbose = false

    func validate() throws {
        guard form.allSatisfy({ Form(rawValue: $0) != nil }), kind.allSatisfy({ Kind(rawValue: $0) != nil }), rounds > 0
        else {
            throw ValidationError(
                "forms: \(Form.allCases.map(\.rawValue).joined(separator: " ")); "
                    + "kinds: \(Kind.allCases.map(\.rawValue).joined(separator: " ")); rounds is positive.")
        }
    }

    func run() throws {
        let cells = (whole ? Plan.whole : Plan.quick).filter { cell in
            (form.isEmpty || form.contains(cell.form.rawValue))
                && kind.allSatisfy { name in cell.kinds.contains { $0.rawValue == name } }
        }
        let start = GRunLoop.now
        var results: [Result] = []
        var broken = 0
        for (index, cell) in cells.enumerated() {
            // On an idle machine a cell takes a second at most.
            let watchdog = Watchdog(.seconds(60), "turns: \(cell.name) did not end") { _exit(1) }
            defer { watchdog.disarm() }
            var outcome = try cell.run(rounds: rounds, variant: index)
            var breaches = Rule.breaches(in: cell, outcome)
            // Processor time is measured twice, and the better measurement counts.
            if !breaches.isEmpty, breaches.allSatisfy(\.isOfTime) {
                outcome = try cell.run(rounds: rounds, variant: index)
                breaches = Rule.breaches(in: cell, outcome)
            }
            results.append(Result(cell: cell, accounts: outcome.accounts))
            if verbose { say(cell.name + ": " + outcome.accounts.map(\.words).joined(separator: "; ")) }
            if breaches.isEmpty { continue }
            say("turns: \(cell.name): " + breaches.map(\.words).joined(separator: "; "))
            broken += 1
            // 20 breaches are enough to find the defect, and cells with starved players take the longest.
            if broken == 20 { break }
        }
        let worst = results.flatMap { $0.accounts.map(\.longestGap) }.max() ?? 0
        let line =
            "turns: \(results.count) cells of \(Kind.allCases.count) kinds in \(Form.allCases.count) forms, "
            + "\(results.flatMap { $0.accounts.map(\.turns) }.reduce(0, +)) turns in "
            + "\((GRunLoop.now - start).components.seconds) s: \(broken) against the rule, the longest gap "
            + "\(inMilliseconds(worst)) of processor time"
        say(line)
        if let page { try write(Page(results: results, real: runReal(), line: line), to: page) }
        if broken > 0 { throw ExitCode(1) }
    }

    /// Returns results for pairs of kinds that the real loop also has, with items of equal length.
    private func runReal() -> [Result] {
        let cells = Plan.whole.filter { cell in
            RealLoop.forms.contains(cell.form) && cell.kinds.count == 2 && Set(cell.kinds).count == 2
                && cell.kinds.allSatisfy(RealLoop.kinds.contains) && cell.loads[0] == cell.loads[1]
                && cell.loads[0].rawValue >= 1_000_000
        }
        return cells.map { Result(cell: $0, accounts: RealLoop.run($0, rounds: rounds)) }
    }

    private func write(_ page: Page, to path: String) throws {
        try page.text.write(toFile: path, atomically: true, encoding: .utf8)
    }
}

struct Result {
    let cell: Cell
    let accounts: [Ledger.Account]
}

extension Ledger.Account {
    fileprivate var words: String {
        "\(turns) turns, at most \(longestRow) items and \(inMilliseconds(longestGap)) between"
    }
}
