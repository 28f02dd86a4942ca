// SPDX-License-Identifier: Apache-2.0
// The command line of the differential runner.

import ArgumentParser
import Foundation
import LoopScript

@main
struct GRunOracle: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grun-oracle",
        abstract: "Runs generated programs on the real CFRunLoop and on GRunLoop and compares the traces.")

    @Option(help: "The seed of the first program; program i has the i-th number that follows from it.")
    var seed: UInt64 = 1

    @Option(help: "How many programs to run.")
    var programs = 200

    @Option(help: "Top-level steps of a program; as many actions stand in its callouts.")
    var steps = 40

    @Option(help: "How many programs to run at a time.")
    var jobs = 12

    @Option(help: "Microseconds between two dates of a program.")
    var slot = 300

    @Option(help: "How many divergences to shrink and print.")
    var show = 5

    @Flag(
        help: """
            Callouts are busy for longer than a time slice of 4 ms, and GRunLoop has such slices: see the exclusion \
            timeSlice.
            """)
    var longCallouts = false

    @Flag(help: "Print the exclusions that applied and what the programs reached.")
    var verbose = false

    @Flag(name: .customLong("print"), help: "Print each program and both traces.")
    var printing = false

    @Flag(help: "Take --seed as the seed of one program itself, as a divergence shows it.")
    var exact = false

    @Flag(help: "Compare the oracle with itself: differences are noise then.")
    var againstItself = false

    @Flag(help: "Compare GRunLoop by way of its C interface.")
    var cInterface = false

    @Flag(help: "Compare the oracle with itself as a guest of GRunLoop: RunLoop.current served by it.")
    var served = false

    @Flag(help: "Run the scripted scenarios instead.")
    var scenarios = false

    @Flag(
        help:
            "Compare GRunLoop under a host with GRunLoop under its own driver: the scripted scenarios, and --programs.")
    var hosted = false

    @Flag(help: "Check that a program which does not end is found, on either loop, and shrunk.")
    var watchdog = false

    @Flag(help: "List the exclusions with their reasons.")
    var exclusions = false

    func validate() throws {
        guard programs >= 0, steps > 0, jobs > 0, slot > 0 else {
            throw ValidationError("--programs, --steps, --jobs and --slot take positive numbers.")
        }
    }

    func run() throws {
        if exclusions {
            for rule in Rule.allCases { print("\(rule.rawValue): \(rule.reason)\n") }
            return
        }
        if watchdog {
            guard WatchdogCheck(slots: Slots(first: UInt64(slot) * 1000)).run() else { throw ExitCode(1) }
            return
        }
        if hosted {
            let scripts =
                Scenario.all.map { ($0.name, $0.program) }
                + makeSeeds().map { ("seed \($0)", makeProgram($0)) }
            let run = HostedRun(
                slots: Slots(first: UInt64(slot) * 1000), timeSlice: timeSlice, jobs: jobs, isVerbose: verbose)
            guard run.run(scripts: scripts) else { throw ExitCode(1) }
            return
        }
        let makeFace: FaceMaker =
            againstItself
            ? makeOracleFace : served ? makeServedFace : cInterface ? makeCInterfaceFace : makeOtherFace
        let comparer = Comparer(
            makeFace: makeFace, slots: Slots(first: UInt64(slot) * 1000),
            makeReference: served ? makeLookingFace : makeOracleFace, timeSlice: timeSlice)
        if scenarios {
            guard ScenarioRun(comparer: comparer, isVerbose: verbose).run() else { throw ExitCode(1) }
            return
        }
        let seeds = makeSeeds()
        if printing {
            for seed in seeds { show(seed, comparer) }
            return
        }
        let runner = Runner(
            comparer: comparer, jobs: jobs, makeProgram: { [self] in makeProgram($0) }, tell: tellOnStandardError)
        let started = Grid.now
        let count = seeds.count
        let isVerbose = verbose
        let summary = runner.run(seeds: seeds) { done in
            if isVerbose, done % 1000 == 0 { print("\(done) of \(count)") }
        }
        // A hanging program is shrunk with less patience, because each hanging candidate takes as long.
        var hasty = comparer
        hasty.grace /= 10
        let shrinker = Shrinker(comparer: hasty, budget: 60_000_000_000)
        if verbose { tell(summary, seconds: Double(Grid.now - started) / 1e9) }
        for divergence in runner.shrink(summary.divergences, count: show, with: shrinker) { report(divergence) }
        for divergence in summary.divergences where verbose || summary.divergences.count > show {
            print("diverges: seed \(divergence.seed): \(divergence.comparison.signature)")
        }
        print("programs=\(programs) divergences=\(summary.divergences.count)")
        if !summary.divergences.isEmpty { throw ExitCode(1) }
    }

    private func makeProgram(_ seed: UInt64) -> Program {
        Generator.program(seed: seed, steps: steps, hasLongCallouts: longCallouts)
    }

    private var timeSlice: Duration? { longCallouts ? .milliseconds(4) : nil }

    private func makeSeeds() -> [UInt64] {
        if exact { return (0..<UInt64(programs)).map { seed &+ $0 } }
        var random = SplitMix(seed: seed)
        return (0..<programs).map { _ in random.next() }
    }

    private func show(_ seed: UInt64, _ comparer: Comparer) {
        let program = makeProgram(seed)
        print("seed \(seed)\n\(program)\n")
        let comparison = comparer.compare(program, slot: comparer.slots.first)
        print(sideBySide(comparison))
    }

    private func report(_ divergence: Summary.Divergence) {
        print("divergence of seed \(divergence.seed) (--exact --programs 1 --seed \(divergence.seed)), shrunk:")
        print(divergence.program.tidied)
        print("")
        print(sideBySide(divergence.comparison))
        print("")
    }

    private func tell(_ summary: Summary, seconds: Double) {
        print("seconds=\(Int(seconds.rounded())) suspects=\(summary.suspects) lines=\(summary.lines)")
        for (signature, count) in summary.firstSignatures.sorted(by: { $0.value > $1.value }).prefix(20) {
            print("differed at first: \(count) x \(signature)")
        }
        for rule in Rule.allCases {
            print("exclusion \(rule.rawValue): \(summary.exclusions[rule, default: 0])")
        }
        for (name, count) in summary.statistics.counts.sorted(by: { $0.key < $1.key }) {
            print("reached \(name): \(count)")
        }
    }
}

/// Prints to standard error, which is read even if standard output is a file.
@Sendable func tellOnStandardError(_ line: String) { FileHandle.standardError.write(Data("\(line)\n".utf8)) }

/// The two traces as they are compared, with the first difference marked.
func sideBySide(_ comparison: Comparison) -> String {
    let oracle = comparison.oracle.lines
    let other = comparison.other.lines
    let width = min(max(oracle.map(\.count).max() ?? 0, 12), 90)
    var marked = false
    var text = ["  " + "CFRunLoop".padding(toLength: width, withPad: " ", startingAt: 0) + " | GRunLoop"]
    for index in 0..<max(oracle.count, other.count) {
        let left = index < oracle.count ? oracle[index] : ""
        let right = index < other.count ? other[index] : ""
        let mark = left == right ? " " : marked ? "~" : ">"
        if left != right { marked = true }
        text.append(
            "\(mark) " + left.padding(toLength: max(width, left.count), withPad: " ", startingAt: 0) + " | " + right)
    }
    return text.joined(separator: "\n")
}
