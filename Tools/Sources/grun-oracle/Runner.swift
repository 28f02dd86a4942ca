// SPDX-License-Identifier: Apache-2.0
// Runs many programs on a few threads, and collects the divergences.

import LoopScript
import Synchronization

/// The result of a whole run.
struct Summary: Sendable {
    struct Divergence: Sendable {
        let seed: UInt64
        let program: Program
        let comparison: Comparison
    }

    var divergences: [Divergence] = []
    /// The programs whose first try differed, most of them by timing noise.
    var suspects = 0
    var firstSignatures: [String: Int] = [:]
    var statistics = Statistics()
    var exclusions: [Rule: Int] = [:]
    var lines = 0

    mutating func add(_ comparison: Comparison) {
        statistics.add(comparison.oracle.statistics)
        for (name, count) in comparison.other.statistics.counts where name.hasPrefix("choices") {
            statistics.count(name, count)
        }
        exclusions.merge(comparison.oracle.exclusions, uniquingKeysWith: +)
        if let cut = comparison.other.exclusions[.timeSlice] { exclusions[.timeSlice, default: 0] += cut }
        lines += comparison.oracle.trace.count
    }
}

struct Runner: Sendable {
    let comparer: Comparer
    let jobs: Int
    let makeProgram: @Sendable (_ seed: UInt64) -> Program
    /// Gets a line for each new comparison of programs that differ, which may take minutes.
    let tell: @Sendable (String) -> Void

    /// Runs the programs of all seeds. Programs that differ are compared again with longer slots. A hang is not noise.
    func run(seeds: [UInt64], progress: @escaping @Sendable (Int) -> Void) -> Summary {
        let summary = Mutex(Summary())
        let suspects = Mutex<[UInt64]>([])
        let done = Atomic(0)
        concurrently(seeds, jobs: jobs) { seed in
            let divergence = compare(seed, slot: comparer.slots.first)
            let comparison = divergence.comparison
            summary.withLock {
                $0.add(comparison)
                if !comparison.agrees { $0.firstSignatures[comparison.signature, default: 0] += 1 }
                if comparison.hangs { $0.divergences.append(divergence) }
            }
            if !comparison.agrees, !comparison.hangs { suspects.withLock { $0.append(seed) } }
            progress(done.wrappingAdd(1, ordering: .relaxed).newValue)
        }
        let again = suspects.withLock { $0.sorted() }
        let divergences = lookAgain(at: again)
        return summary.withLock {
            $0.suspects = again.count
            $0.divergences = ($0.divergences + divergences).sorted { $0.seed < $1.seed }
            return $0
        }
    }

    private func compare(_ seed: UInt64, slot: UInt64) -> Summary.Divergence {
        let program = makeProgram(seed)
        return Summary.Divergence(seed: seed, program: program, comparison: comparer.compare(program, slot: slot))
    }

    /// Returns the programs that differ at every patient length, or hang at one. At these lengths a program mostly
    /// sleeps, so many run at a time. One by one they would take minutes.
    private func lookAgain(at seeds: [UInt64]) -> [Summary.Divergence] {
        var hanging: [Summary.Divergence] = []
        var differing: [Summary.Divergence] = []
        var left = seeds
        for slot in comparer.slots.patient where !left.isEmpty {
            tell("looks again at \(left.count) programs that differ, with slots of \(slot / 1000) us")
            let found = Mutex<[Summary.Divergence]>([])
            concurrently(left, jobs: min(jobs * 4, left.count)) { seed in
                let divergence = compare(seed, slot: slot)
                if !divergence.comparison.agrees { found.withLock { $0.append(divergence) } }
            }
            let all = found.withLock { $0 }
            hanging += all.filter(\.comparison.hangs)
            differing = all.filter { !$0.comparison.hangs }
            left = differing.map(\.seed)
        }
        return hanging + (left.isEmpty ? [] : differing)
    }

    /// Shrinks divergences, first one for each signature.
    func shrink(_ divergences: [Summary.Divergence], count: Int, with shrinker: Shrinker) -> [Summary.Divergence] {
        var chosen: [UInt64: Summary.Divergence] = [:]
        var seen: Set<String> = []
        for divergence in divergences where chosen.count < count {
            if seen.insert(divergence.comparison.signature).inserted { chosen[divergence.seed] = divergence }
        }
        for divergence in divergences where chosen.count < count { chosen[divergence.seed] = divergence }
        let shrunk = Mutex<[Summary.Divergence]>([])
        let all = chosen
        concurrently(all.keys.sorted(), jobs: min(jobs, 6)) { seed in
            guard let divergence = all[seed] else { return }
            let (program, comparison) = shrinker.shrink(divergence.program, divergence.comparison)
            shrunk.withLock {
                $0.append(Summary.Divergence(seed: seed, program: program, comparison: comparison))
            }
        }
        return shrunk.withLock { $0.sorted { $0.seed < $1.seed } }
    }
}

/// Calls `body` with each element, on as many threads as there are jobs, and returns when all calls have.
func concurrently<Element: Sendable>(_ elements: [Element], jobs: Int, _ body: @escaping @Sendable (Element) -> Void) {
    let next = Mutex(0)
    // A worker mostly waits, because its programs run on their own threads.
    onFreshThreads(jobs) {
        while true {
            let index = next.withLock { next in
                next += 1
                return next - 1
            }
            guard index < elements.count else { return }
            body(elements[index])
        }
    }
}
