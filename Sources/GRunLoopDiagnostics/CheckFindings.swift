// SPDX-License-Identifier: Apache-2.0
// The findings of the check of GRUN_CHECK.

import CGRun
import CGRunDiagnostics
import GRunLoop

struct CheckFindings {
    /// The code that runs blocks of the main queue, or the reason why none has run.
    enum Driver {
        case host
        case run(mode: String)
        /// A run of Foundation's loop, which also serves this library's loop.
        case foundation
        /// A run of Foundation's loop, which does not serve this library's loop.
        case foundationAlone
        /// Code that is not this library drains the main queue.
        case otherCode
        /// libdispatch drains the main queue on another thread. The text is the reason.
        case libdispatch(String)
        /// The main loop sleeps, although a block waits.
        case sleeping
        /// A callback has not returned since the check began.
        case busy
        /// Neither a run nor a host has served the main loop so far.
        case nobody
        /// The check could not be made.
        case unknown

        /// The code that runs the present block of the main queue. Call this in the block.
        init(ofBlockIn loop: GRunLoop) {
            if let loss = GRunLoop.mainQueueLoss {
                self = .libdispatch(loss)
            } else if !GRunLoop.isDrainingMainQueue {
                self = cgrun_foundation_is_running() ? .foundationAlone : .otherCode
            } else if cgrun_foundation_is_running() {
                self = .foundation
            } else if let run = loop.lock.withLock({ loop.runSightLocked }), !run.isHosted {
                self = .run(mode: run.mode.rawValue)
            } else {
                self = .host
            }
        }

        /// The code that keeps the main thread while a block waits.
        init(ofIdle loop: GRunLoop, _ sight: LoopSight) {
            if let loss = GRunLoop.mainQueueLoss {
                self = .libdispatch(loss)
            } else if let run = loop.lock.withLock({ loop.runSightLocked }), !run.isHosted, sight == .waits {
                self = .run(mode: run.mode.rawValue)
            } else if case .isBusy = sight {
                self = .busy
            } else {
                self = .nobody
            }
        }
    }

    enum Service: CaseIterable {
        case mainQueue
        case mainActor
    }

    /// The measurements of one second.
    struct Idle {
        let wakeUps: Int
        /// The processor time of the main thread, in percent.
        let share: Int
        let foundationRuns: Int
    }

    var start: Nanoseconds = 0
    /// The time until the first block of the main queue has run; nil if none has run.
    var block: Nanoseconds?
    var job: Nanoseconds?
    var isJobOnMainThread = true
    var driver: Driver?
    /// How many of the check's blocks other code has run.
    var otherDrains = 0
    /// Nil if the check has not looked yet.
    var isFoundationLoaded: Bool?
    /// Nil if the check has not looked a second time.
    var isFoundationServed: Bool?
    /// How many runs of Foundation's main run loop have begun that this library has not made.
    var foundationRuns = 0
    /// Nil if it was not measured.
    var idle: Idle?

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
