// SPDX-License-Identifier: Apache-2.0
// Ends the program if a scenario hangs: nobody can pass by not ending.

import Dispatch
import Glibc

/// Ends the process with status 1, and says why, unless it is cancelled in time.
struct Watchdog {
    private let cancelled = DispatchSemaphore(value: 0)
    private let thread: WorkerThread

    /// - Parameter report: what to say; called on a thread of its own.
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
