// SPDX-License-Identifier: Apache-2.0
// Gives the main thread of a test process to the main loop.

import CGRunTesting
import Foundation
import GRunLoop
import GRunLoopFoundation
import XCTest

/// The state that ``start()`` has set before main().
@MainActor enum Start {
    /// Foundation's loop is served until the process ends. Nil if it cannot be served.
    static var serving: GRunLoop.Serving?
    /// Whether the constructor has run, and was not told to do nothing.
    static var isDone = false
}

/// Called by a constructor on the main thread, before main().
///
/// `swift test` starts the process once for each testing library. Swift Testing suspends main(). Swift's runtime then
/// calls the driver, and the main loop runs until the process ends. XCTest does not suspend main(), but waits for its
/// async tests in Foundation's main loop, which serves the main loop as well.
@_cdecl("grun_testing_start")
func start() {
    GRunLoop.driveAsyncMain()
    MainActor.assumeIsolated {
        Start.isDone = true
        XCTestObservationCenter.shared.addTestObserver(CurrentTestCase.observer)
        do {
            Start.serving = try GRunLoop.main.serve(RunLoop.main)
        } catch {
            note("the main loop does not serve Foundation's run loop in this test process: \(error)")
        }
    }
}

/// Writes a line for the person who runs the tests.
func note(_ text: String) {
    FileHandle.standardError.write(Data("GRunLoopTesting: \(text)\n".utf8))
}
