// SPDX-License-Identifier: Apache-2.0
// Random programs that pass all kinds of work to a loop, and count. Everything that the loop has accepted is called
// exactly once, or released if it was cancelled.

import ArgumentParser
import CGRun
import GRunLoop
import Glibc

@main
struct Conserve: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grun-conserve",
        abstract: "Runs random programs on run loops, and checks that each accepted thing is called exactly once.",
        discussion: """
            GRUN_PERTURB=seed,permille,sites perturbs the timing of the loops. For each program the perturbation \
            begins again with the program's seed. A violation is printed with the command that repeats it.
            """)

    @Option(help: "The seed of the first program; the others follow it.")
    var seed: UInt64 = 1

    @Option(help: "How many programs to run.")
    var seeds: UInt64 = 1

    @Option(help: "Start no further program after this many seconds.")
    var seconds: Int?

    @Flag(help: "Run the programs on the main loop, with the main dispatch queue.")
    var main = false

    @Option(help: "Leave out a kind of work; may be repeated. One of: \(Program.kindNames.joined(separator: ", ")).")
    var without: [String] = []

    @Flag(help: "Print what each program does.")
    var verbose = false

    func validate() throws {
        if let unknown = without.first(where: { !Program.kindNames.contains($0) }) {
            throw ValidationError("\(unknown) is not a kind of work.")
        }
    }

    func run() throws {
        // The first use is here, so that the main loop belongs to the main thread.
        _ = GRunLoop.main
        Findings.arguments = (main ? ["--main"] : []) + without.flatMap { ["--without", $0] }
        let end = seconds.map { ContinuousClock.now.advanced(by: .seconds($0)) }
        var count: UInt64 = 0
        while count < seeds, end.map({ ContinuousClock.now < $0 }) ?? true {
            runProgram(seed + count)
            count += 1
        }
        print(
            "conserve: seed \(seed), \(count) programs, \(Ticket.made) things accepted, \(Findings.count) violations"
        )
        if Findings.count > 0 { throw ExitCode(1) }
    }

    private func runProgram(_ seed: UInt64) {
        perturb(seed)
        let settings = Program.Settings(seed: seed, isMain: main, without: Set(without), isVerbose: verbose)
        Findings.seed = seed
        Program.runAndJoin(settings)
        Ticket.expectNoneLeft()
    }

    /// Gives each program the same perturbation, independent of earlier programs.
    private func perturb(_ seed: UInt64) {
        #if GRUN_PERTURB
            cgrun_perturb_restart(seed)
        #endif
    }
}
