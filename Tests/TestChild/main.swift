// SPDX-License-Identifier: Apache-2.0
// Scenarios that need a process of their own. Started by the tests with the scenario's name; what it prints is what they compare.

import Glibc
import TestSupport

let scenarios: [String: () -> Void] = [
    "main-loop-first-touched-elsewhere": mainLoopFirstTouchedElsewhere,
    "main-thread-ends": mainThreadEnds,
    "forked": forked,
    "run-in-common-modes": runInCommonModes,
    "drain-on-another-thread": drainOnAnotherThread,
    "after-dispatch-main": afterDispatchMain,
    "descriptor-limit": descriptorLimit,
]

if CommandLine.arguments.count == 2, let scenario = scenarios[CommandLine.arguments[1]] {
    scenario()
} else {
    printToStandardError("usage: grun-test-child SCENARIO, one of \(scenarios.keys.sorted())\n")
    exit(2)
}
