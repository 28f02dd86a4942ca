// SPDX-License-Identifier: Apache-2.0
// The results of the checks, one per line.

import Glibc

/// Prints each fact with its figures, and counts failed facts.
final class Report {
    private(set) var failures = 0

    func fact(_ what: String, _ holds: Bool, _ figures: String, isGate: Bool = true) {
        let verdict = holds ? "ok    " : isGate ? "FAILED" : "below "
        print("  \(verdict) \(what): \(figures)")
        fflush(nil)
        if !holds, isGate { failures += 1 }
    }
}

/// Ends the process with a message if feed() was not called for some seconds.
final class Watchdog: @unchecked Sendable {
    static let shared = Watchdog()

    private let patience: UInt32 = 15
    private var what = "the start"
    private var deadline: Int = 0
    private var lock = pthread_mutex_t()

    private init() {
        pthread_mutex_init(&lock, nil)
        feed("the start")
        var thread = pthread_t()
        let body: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { _ in Watchdog.shared.watch()
        }
        pthread_create(&thread, nil, body, nil)
    }

    /// Names the next check, and restarts the time.
    func feed(_ what: String) {
        pthread_mutex_lock(&lock)
        self.what = what
        deadline = time(nil) + Int(patience)
        pthread_mutex_unlock(&lock)
    }

    private func watch() -> Never {
        while true {
            sleep(1)
            pthread_mutex_lock(&lock)
            let (isLate, what) = (time(nil) > deadline, what)
            pthread_mutex_unlock(&lock)
            if isLate {
                print("  FAILED \(what): no end after \(patience) s")
                fflush(nil)
                _exit(3)
            }
        }
    }
}
