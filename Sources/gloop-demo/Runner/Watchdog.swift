// SPDX-License-Identifier: Apache-2.0
// Ends the program if a scenario hangs, so that the demo fails.

import Dispatch
import Glibc

/// Prints a report and ends the process with status 1, unless the watchdog is cancelled before the time limit.
struct Watchdog {
    private let cancelled = DispatchSemaphore(value: 0)
    private let thread: WorkerThread

    /// - Parameter report: returns the text to print; called on the watchdog's thread.
    init(limit: Duration, report: @escaping @Sendable () -> String) {
        thread = WorkerThread { [cancelled] in
            guard cancelled.wait(timeout: .now() + .nanoseconds(Int(limit.nanoseconds))) == .timedOut else { return }
            print(report())
            fflush(nil)
            _exit(1)
        }
    }

    func cancel() {
        cancelled.signal()
        thread.join()
    }
}
