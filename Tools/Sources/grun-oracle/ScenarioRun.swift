// SPDX-License-Identifier: Apache-2.0
// Runs the scripted scenarios on both loops.

import LoopScript

struct ScenarioRun {
    let comparer: Comparer
    /// Whether to print every trace.
    let isVerbose: Bool

    /// Returns whether every scenario gave its literal trace on both loops.
    func run() -> Bool {
        var failures = 0
        for scenario in Scenario.all {
            var comparison = comparer.compare(scenario.program, slot: comparer.slots.first)
            // Uses the same slot lengths as for generated programs.
            for slot in comparer.slots.patient where !comparison.hangs && !scenario.isMet(by: comparison) {
                comparison = comparer.compare(scenario.program, slot: slot)
            }
            if isVerbose {
                print("# \(scenario.name)")
                for line in comparison.oracle.lines { print(line) }
            }
            guard !scenario.isMet(by: comparison) else { continue }
            failures += 1
            print("scenario \"\(scenario.name)\" (items \(scenario.items.map(String.init).joined(separator: ", ")))")
            print(scenario.program)
            if comparison.oracle.lines != scenario.expected {
                print("expected:")
                for line in scenario.expected { print("  \(line)") }
            }
            print(sideBySide(comparison))
            print("")
        }
        print("scenarios=\(Scenario.all.count) failures=\(failures)")
        return failures == 0
    }
}

extension Scenario {
    fileprivate func isMet(by comparison: Comparison) -> Bool {
        comparison.other.lines == expected && (comparison.oracle.lines == expected || isGRunLoopOnly)
    }
}
