// SPDX-License-Identifier: Apache-2.0
// The findings of the check of GRUN_CHECK.

import CGRun
import CGRunDiagnostics
import GRunLoop

struct CheckFindings {
    /// The code that runs blocks of the main queue.
    enum Driver {
        case host
        case run(mode: String)
        /// A run of Foundation's loop, which also serves this library's loop.
        case foundation
        /// Code that is not this library drains the main queue.
        case otherCode
        /// The main loop sleeps, although a block waits.
        case sleeping
        /// Neither a run nor a host has served the main loop so far.
        case nobody

        /// The code that runs the present block of the main queue. Call this on the main queue.
        init(of loop: GRunLoop) {
            guard GRunLoop.isDrainingMainQueue else {
                self = .otherCode
                return
            }
            let run = loop.lock.withLock { loop.runSightLocked }
            if cgrun_foundation_is_running() {
                self = .foundation
            } else if let run, !run.isHosted {
                self = .run(mode: run.mode.rawValue)
            } else {
                self = .host
            }
        }
    }

    enum Service: CaseIterable {
        case mainQueue
        case mainActor
    }

    var start: Nanoseconds = 0
    /// The time until the first block of the main queue has run; nil if none has run.
    var block: Nanoseconds?
    var job: Nanoseconds?
    var isJobOnMainThread = true
    var driver: Driver?
    /// How many of the check's blocks other code has run.
    var otherDrains = 0
    var isFoundationLoaded = false
    var isFoundationServed = false
    /// The numbers of one second without work of the check; nil if they were not measured.
    var wakeUps: Int?
    var foundationRuns: Int?

    var missing: [Service] {
        Service.allCases.filter { service in
            switch service {
            case .mainQueue: block == nil
            case .mainActor: job == nil || !isJobOnMainThread
            }
        }
    }
}

/// The findings, which several threads add to.
final class GuardedFindings: @unchecked Sendable {
    private let lock = Lock.take()
    private var findings = CheckFindings()

    deinit { Lock.giveBack(lock) }

    func withLock<Result>(_ body: (inout CheckFindings) -> Result) -> Result {
        lock.withLock { body(&findings) }
    }
}

extension CheckFindings.Service {
    /// The message of the quiet check.
    var message: String {
        switch self {
        case .mainQueue:
            "the main dispatch queue is not served: a block of DispatchQueue.main has not run, although the main run "
                + "loop waits. Set GRUN_CHECK=1 for a report"
        case .mainActor:
            "the main actor is not served: a job of @MainActor has not run on the main thread, although the main run "
                + "loop waits. Set GRUN_CHECK=1 for a report"
        }
    }
}
