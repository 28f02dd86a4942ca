// SPDX-License-Identifier: Apache-2.0
// What must hold while a toolkit drives: the list.

import CGRunGLib
import Dispatch
import GRunLoop

/// Runs every check in a toolkit's window, on the main thread.
public final class HostChecks: @unchecked Sendable {
    let toolkit: Toolkit
    let gatesFrames: Bool
    let report = Report()

    public init(_ toolkit: Toolkit, gatesFrames: Bool) {
        self.toolkit = toolkit
        self.gatesFrames = gatesFrames
    }

    /// Returns how many do not hold.
    public func run() -> Int {
        // The window appears.
        Host.run(milliseconds: 300)
        checkSleeps()
        checkDraining()
        checkCallouts()
        checkFloods()
        checkIdleWork()
        checkSlowDrawing()
        checkForeignFlood()
        checkStalls()
        return report.failures
    }
}
