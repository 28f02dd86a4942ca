// SPDX-License-Identifier: Apache-2.0
// Runs one program on both loops, and compares the traces.

import LoopScript

/// The two traces of one program.
struct Comparison {
    let oracle: Outcome
    let other: Outcome

    var agrees: Bool { !hangs && compared(oracle.trace) == compared(other.trace) }

    /// The compared part of a trace: up to the first cut of either loop (`Rule.timeSlice`).
    func compared<Line>(_ lines: [Line]) -> ArraySlice<Line> {
        lines.prefix(min(oracle.linesBeforeCut ?? .max, other.linesBeforeCut ?? .max))
    }

    /// Whether one or both of the programs did not end by itself.
    var hangs: Bool { !oracle.hasEnded || !other.hasEnded }

    /// The first lines that differ, without numbers. Divergences with one cause mostly share it.
    var signature: String {
        if hangs { return "\(ending(of: oracle)) | \(ending(of: other))" }
        let left = Array(compared(oracle.lines))
        let right = Array(compared(other.lines))
        guard let index = (0..<max(left.count, right.count)).first(where: { at(left, $0) != at(right, $0) }) else {
            return ""
        }
        return (at(left, index) + " | " + at(right, index)).filter { !$0.isNumber }
    }

    private func ending(of outcome: Outcome) -> String { outcome.hasEnded ? "ends" : "hangs" }

    private func at(_ lines: [String], _ index: Int) -> String { index < lines.count ? lines[index] : "" }
}

/// Makes the face of the loop to compare with the oracle.
typealias FaceMaker = @Sendable () -> any LoopFace

/// The lengths of a grid slot: at the first try, and if noise must not count.
struct Slots: Sendable {
    var first: UInt64
    /// Ever longer slots. On a busy machine a late wake-up stays within a long slot, while real differences remain.
    /// enough, while loops that behave differently do so at any length.
    var patient: [UInt64] { [8, 8, 32, 128].map { first * $0 } }
}

/// Runs programs on both loops.
struct Comparer: Sendable {
    let makeFace: FaceMaker
    let slots: Slots
    /// Makes the reference loop.
    var makeReference: FaceMaker = makeOracleFace
    /// How long after its last date a program counts as hanging, in nanoseconds.
    var grace: UInt64 = 10_000_000_000
    /// The time slice of GRunLoop; nil means none.
    var timeSlice: Duration?

    /// Runs a program once on each loop. If they differ and several items were ready, GRunLoop tries again with marked
    /// passes. The marks show which passes of the oracle left no line: those that consumed a wake-up or, at the third
    /// try, those whose item was removed before its turn.
    func compare(_ program: Program, slot: UInt64) -> Comparison {
        let oracle = Executor.run(
            program, options: ExecutorOptions(slot: slot, marksPasses: true, grace: grace, timeSlice: timeSlice),
            makeFace: makeReference)
        var options = ExecutorOptions(
            slot: slot, reference: oracle.entries, marksPasses: false, grace: grace, timeSlice: timeSlice)
        let first = Comparison(oracle: oracle, other: Executor.run(program, options: options, makeFace: makeFace))
        guard !first.agrees, !first.hangs,
            first.other.statistics.counts.keys.contains(where: { $0.hasPrefix("choices") })
        else { return first }
        options.marksPasses = true
        let second = Comparison(oracle: oracle, other: Executor.run(program, options: options, makeFace: makeFace))
        guard !second.agrees else { return second }
        options.silentPassesWake = false
        let third = Comparison(oracle: oracle, other: Executor.run(program, options: options, makeFace: makeFace))
        return third.agrees ? third : second
    }

    /// Returns the divergence of a program if it differs at every patient length. Noise disappears at one of the
    /// lengths. A hang is never noise.
    func divergence(of program: Program) -> Comparison? {
        var last: Comparison?
        for slot in slots.patient {
            let comparison = compare(program, slot: slot)
            if comparison.agrees { return nil }
            if comparison.hangs { return comparison }
            last = comparison
        }
        return last
    }
}
