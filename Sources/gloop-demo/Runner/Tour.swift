// SPDX-License-Identifier: Apache-2.0
// Runs scenarios one after the other, checks and prints their lines, and counts the scenarios that pass.

import GRunLoop
import Glibc

struct Tour {
    private let scenarios: [Scenario]
    private let plotPath: String?
    private let printer = Printer()

    init(_ scenarios: [Scenario], plotPath: String? = nil) {
        self.scenarios = scenarios
        self.plotPath = plotPath
    }

    /// Returns true if all scenarios passed.
    func run() -> Bool {
        var passed = 0
        for scenario in scenarios {
            let outcome = outcome(of: scenario)
            printer.print(outcome)
            if outcome.isPassed { passed += 1 }
        }
        printer.printTotal(passed: passed, of: scenarios.count)
        return passed == scenarios.count
    }

    private func outcome(of scenario: Scenario) -> Outcome {
        let recorder = Recorder(plotPath: plotPath)
        let watchdog = Watchdog(limit: .seconds(120)) {
            "\n\(scenario.name) has not ended within 120 s. Recorded lines:\n"
                + recorder.lines.map { "    \($0.text)\n" }.joined()
        }
        defer { watchdog.cancel() }
        let start = GRunLoop.now
        var failure: String?
        do {
            try scenario.body(recorder)
        } catch {
            failure = "\(error)"
        }
        return Outcome(
            scenario: scenario, recorded: recorder.lines, notes: recorder.notes, failure: failure,
            time: start.duration(to: GRunLoop.now))
    }
}

struct Outcome {
    /// A recorded line that differs from the expected line. `expected` is nil if only the recorded list has a line at
    /// this place, and `got` is nil if only the expected list has one.
    struct Difference {
        let number: Int
        let expected: Line?
        let got: Line?
    }

    let scenario: Scenario
    let recorded: [Line]
    let notes: [String]
    let failure: String?
    let time: Duration

    var isPassed: Bool { failure == nil && recorded == scenario.expected }

    var differences: [Difference] {
        let expected = scenario.expected
        return (0..<max(recorded.count, expected.count)).compactMap { index in
            let (wanted, got) = (expected.dropFirst(index).first, recorded.dropFirst(index).first)
            return wanted == got ? nil : Difference(number: index + 1, expected: wanted, got: got)
        }
    }
}
