// SPDX-License-Identifier: Apache-2.0
// Runs scripts under a host and in runs of the loop, and compares the order of callouts.

import LoopScript
import Synchronization

/// A host cannot make a single pass, and cannot end with a source, a stop or an empty mode. So a script is compared
/// only if each of its outermost runs ends by its time limit, without a run nested in it at that time. Scripts are
/// adapted if that changes nothing else: the modes of these runs become common, like an ambient mode, and get an item
/// that is never ready.
struct HostedRun {
    let comparer: Comparer
    let jobs: Int
    let isVerbose: Bool

    init(slots: Slots, timeSlice: Duration?, jobs: Int, isVerbose: Bool) {
        comparer = Comparer(
            makeFace: { GRunLoopFace(isHosted: true) }, slots: slots, makeReference: { GRunLoopFace() },
            timeSlice: timeSlice)
        self.jobs = jobs
        self.isVerbose = isVerbose
    }

    private enum Verdict: Sendable {
        case ownsRun, agrees
        case differs(Program, Comparison)
    }

    /// Returns whether all of them agree.
    func run(scripts: [(name: String, program: Program)]) -> Bool {
        let verdicts = Mutex([Verdict](repeating: .ownsRun, count: scripts.count))
        concurrently(Array(scripts.indices), jobs: jobs) { index in
            let verdict = verdict(on: scripts[index].program)
            verdicts.withLock { $0[index] = verdict }
        }
        var (owning, differences) = (0, 0)
        for (script, verdict) in zip(scripts, verdicts.withLock { $0 }) {
            switch verdict {
            case .agrees: break
            case .ownsRun:
                owning += 1
                if isVerbose { print("owns a run: \(script.name)") }
            case .differs(let program, let comparison):
                differences += 1
                print("\"\(script.name)\" differs under a host\n\(program)\n\(sideBySide(comparison))\n")
            }
        }
        print("hosted: scripts=\(scripts.count - owning) differences=\(differences) (\(owning) own an outermost run)")
        return differences == 0
    }

    private func verdict(on program: Program) -> Verdict {
        guard let hosted = program.forHost else { return .ownsRun }
        // A run that ended late looks as if something else had ended it.
        let comparisons = ([comparer.slots.first] + comparer.slots.patient.prefix(1)).lazy.map {
            comparer.compare(hosted, slot: $0)
        }
        guard let comparison = comparisons.first(where: { $0.hangs || $0.oracle.ownsNoRun }) else { return .ownsRun }
        if comparison.hangs { return .differs(hosted, comparison) }
        guard !comparison.agrees, let divergence = comparer.divergence(of: hosted) else { return .agrees }
        // In the first comparison a late item may have hidden that the item ends a run.
        return divergence.oracle.ownsNoRun ? .differs(hosted, divergence) : .ownsRun
    }
}

extension Outcome {
    /// Whether every outermost run ended by its time limit, and no run nested in it lasted longer. A longer nested run
    /// would be woken (item 183), and the outer run would end with its pass.
    fileprivate var ownsNoRun: Bool {
        var deadline = Int.max
        for line in trace {
            let gap = line.text.split(separator: "@").last.flatMap { Int($0) } ?? 0
            if line.depth == 0, line.text.hasPrefix("run ") {
                deadline = gap + (line.text.split(separator: " ").lazy.compactMap { Int($0) }.first ?? 0)
            } else if line.text.hasPrefix("-> ") {
                if line.depth == 0 ? !line.text.hasPrefix("-> timedOut") || gap > deadline : gap >= deadline {
                    return false
                }
            }
        }
        return true
    }
}

extension Program {
    /// The program with outermost runs that a host can replace; nil if a host cannot replace one of them.
    var forHost: Program? {
        var program = self
        var modes: [ModeName] = []
        for (index, step) in steps.enumerated() {
            guard case .run(let mode, let limit, _) = step else { continue }
            guard mode != "common" else { return nil }
            let span: RunLimit = if case .gaps = limit { limit } else { .gaps(1) }
            program.steps[index] = .run(mode, span, returnAfterSourceHandled: false)
            if !modes.contains(mode) { modes.append(mode) }
        }
        guard !modes.isEmpty else { return nil }
        // A wake-up between runs is meant for the host (item 68).
        program.steps.removeAll { $0 == .wakeUp }
        program.ports.append(PortSpec())
        let idle = ItemID.port(program.ports.count - 1)
        for mode in modes.reversed() {
            program.steps.insert(.add(idle, mode), at: 0)
            if mode != "default" { program.steps.insert(.addCommonMode(mode), at: 0) }
        }
        return program
    }
}
