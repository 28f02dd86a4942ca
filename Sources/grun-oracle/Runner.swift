// SPDX-License-Identifier: Apache-2.0
// Runs many programs on a few threads and collects what diverges.

import LoopScript
import Synchronization

/// What came of a whole run.
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
        lines += comparison.oracle.trace.count
    }
}

struct Runner: Sendable {
    let comparer: Comparer
    let jobs: Int
    let steps: Int

    /// Runs the programs of all seeds; what differs at first is looked at again, patiently.
    func run(seeds: [UInt64], progress: @escaping @Sendable (Int) -> Void) -> Summary {
        let summary = Mutex(Summary())
        let suspects = Mutex<[UInt64]>([])
        let done = Atomic(0)
        concurrently(seeds, jobs: jobs) { seed in
            let program = Generator.program(seed: seed, steps: steps)
            let comparison = comparer.compare(program, slot: comparer.slots.first)
            summary.withLock { $0.add(comparison) }
            if !comparison.agrees {
                suspects.withLock { $0.append(seed) }
                summary.withLock { $0.firstSignatures[comparison.signature, default: 0] += 1 }
            }
            progress(done.wrappingAdd(1, ordering: .relaxed).newValue)
        }
        let again = suspects.withLock { $0.sorted() }
        concurrently(again, jobs: min(jobs, 6)) { seed in
            let program = Generator.program(seed: seed, steps: steps)
            guard let comparison = comparer.divergence(of: program) else { return }
            let divergence = Summary.Divergence(seed: seed, program: program, comparison: comparison)
            summary.withLock { $0.divergences.append(divergence) }
        }
        return summary.withLock {
            $0.suspects = again.count
            $0.divergences.sort { $0.seed < $1.seed }
            return $0
        }
    }

    /// Shrinks divergences, one for each signature as long as there are such.
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
    // A worker waits while its programs run on threads of their own.
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
