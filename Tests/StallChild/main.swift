// SPDX-License-Identifier: Apache-2.0
// A program whose malloc() can be held. It is not in grun-test-child, whose code the tests' program contains.

import TestSupport

if CommandLine.arguments.count == 2, let scenario = stallLockScenarios[CommandLine.arguments[1]] {
    try scenario()
} else {
    printToStandardError("usage: grun-stall-child SCENARIO, one of \(stallLockScenarios.keys.sorted())\n")
}
