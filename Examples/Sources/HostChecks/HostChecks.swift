// SPDX-License-Identifier: Apache-2.0
// The list of checks while a toolkit drives.

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

    /// Returns how many checks fail.
    public func run() -> Int {
        // Lets the window appear.
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
