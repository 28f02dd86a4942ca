// SPDX-License-Identifier: Apache-2.0
// Gives the main thread of a test process to the main loop.

import CGRunTesting
import Foundation
import GRunLoop
import GRunLoopFoundation
import XCTest

/// The state that ``start(drives:)`` has set before main().
@MainActor enum Start {
    /// The token that serves Foundation's loop until the process ends. Nil if this loop cannot be served.
    static var serving: GRunLoop.Serving?
    /// Whether the main loop got the main thread. False if `GRUN_TESTING=0` is set.
    static var isDone = false
}

/// Called by a constructor on the main thread, before main().
///
/// `swift test` starts the process once for each testing library. Swift Testing suspends main(). Swift's runtime then
/// calls the driver, and the main loop runs until the process ends. XCTest does not suspend main(), but waits for its
/// async tests in Foundation's main loop, which serves the main loop as well.
@_cdecl("grun_testing_start")
func start(drives: Bool) {
    MainActor.assumeIsolated {
        XCTestObservationCenter.shared.addTestObserver(CurrentTestCase.observer)
        guard drives else { return }
        Start.isDone = true
        GRunLoop.driveAsyncMain()
        do {
            Start.serving = try GRunLoop.main.serve(RunLoop.main)
        } catch {
            note("the main loop does not serve Foundation's run loop in this test process: \(error)")
        }
    }
}

/// Called by `exit()`, which Swift Testing calls on a thread of the pool. While `exit()` unloads libraries such as
/// libX11, the main loop must not serve GTK, so a block stops the main loop. If the block does not run within a second,
/// the process ends nevertheless.
@_cdecl("grun_testing_end")
func end() {
    guard !Thread.isMainThread else { return }
    let isStopped = DispatchSemaphore(value: 0)
    GRunLoop.main.async(inModes: [.common]) {
        isStopped.signal()
        while true { pause() }
    }
    _ = isStopped.wait(timeout: .now() + .seconds(1))
}

/// Writes a line for the person who runs the tests.
func note(_ text: String) {
    FileHandle.standardError.write(Data("GRunLoopTesting: \(text)\n".utf8))
}
