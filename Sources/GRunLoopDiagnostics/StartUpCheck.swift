// SPDX-License-Identifier: Apache-2.0
// The check of the environment variable GRUN_CHECK: it tries the services of the main loop, and reports what works.

import CGRun
import CGRunDiagnostics
import GRunLoop
import Glibc
import Synchronization

/// Enqueues a block on the main queue and a job of the main actor, waits until they have run, and reports which of them
/// are served. With `GRUN_CHECK`, the check also looks for other code that does the same work, and prints its report
/// when it knows everything, or when the process exits.
///
/// `GRUN_CHECK=quiet` logs only which services are missing. If the compiler is newer than those that this release was
/// tested with, this check is the default. A new toolchain may serve the main queue or the main actor in another way.
enum StartUpCheck {
    enum Kind {
        case report, quiet
    }

    /// The check that this process makes; nil if it makes none.
    static let wanted: Kind? = {
        guard let text = cgrun_environment("GRUN_CHECK").map({ String(cString: $0) }), !text.isEmpty else {
            return Toolchain.isUntested ? .quiet : nil
        }
        return text == "quiet" ? .quiet : text == "0" ? nil : .report
    }()

    /// How long the loop must have slept, although the block and the job wait, before they count as not served.
    private static let patience: Nanoseconds = 1_000_000_000
    /// How long the check waits for a main loop that neither sleeps nor serves.
    private static let longestWait: Nanoseconds = 10_000_000_000

    static let findings = GuardedFindings()
    private static let hasBegun = Atomic(false)
    /// Held while the report is printed, so that an exit on another thread waits for it.
    private static let reportLock = Lock.take()
    /// Guarded by `reportLock`.
    private nonisolated(unsafe) static var hasReported = false

    /// Begins the check if it is wanted, once in a process. Called when the main loop is made.
    static func begin() {
        guard wanted != nil, !GRunLoop.isServedByAnotherCopy, !hasBegun.exchange(true, ordering: .relaxed) else {
            return
        }
        let failure = startDiagnosticsThread { _ in
            setThreadName("start-up check")
            StartUpCheck.check(GRunLoop.main)
            return nil
        }
        if failure != 0 { findings.withLock { $0.driver = .unknown } }
    }

    // MARK: On the thread of the check

    private static func check(_ loop: GRunLoop) {
        // While the loop is watched, it records whether a host polls and which callout it makes.
        loop.lock.withLock { loop.diagnostics.beginWatchLocked(loop) }?.send()
        // First, because the blocks ask whether Foundation's loop runs.
        if wanted == .report {
            let isLoaded = cgrun_foundation_begin_check()
            findings.withLock { $0.isFoundationLoaded = isLoaded }
        }
        findings.withLock { $0.start = .now() }
        enqueueBlock(on: loop)
        enqueueJob()
        waitUntilServed(by: loop)
        guard !Fork.isChild else { return }
        if wanted == .report, findings.withLock({ $0.missing.isEmpty }) {
            lookForOthers(loop)
            lookForFoundation()
            measureMainThread()
        }
        loop.lock.withLock { loop.diagnostics.endWatchLocked() }
        if wanted == .report { report() } else { logMissing() }
    }

    /// Logs which services are missing, if the loop has slept while their work waited.
    private static func logMissing() {
        guard case .sleeping = findings.withLock({ $0.driver }) else { return }
        findings.withLock { $0.missing }.forEach { Log.warning($0.message) }
    }

    private static func enqueueBlock(on loop: GRunLoop) {
        let loop = Unmanaged.passUnretained(loop).toOpaque()
        cgrun_call_on_main_queue(
            { address in
                guard let address else { return }
                // The main loop lives as long as the process.
                let loop = Unmanaged<GRunLoop>.fromOpaque(address).takeUnretainedValue()
                let driver = CheckFindings.Driver(ofBlockIn: loop)
                StartUpCheck.findings.withLock {
                    if $0.block == nil { $0.block = Nanoseconds.now() - $0.start }
                    $0.driver = $0.driver ?? driver
                    if case .otherCode = driver { $0.otherDrains += 1 }
                }
            }, loop)
    }

    private static func enqueueJob() {
        Task { @MainActor in
            let isOnMainThread = cgrun_is_main_thread()
            findings.withLock {
                $0.job = Nanoseconds.now() - $0.start
                $0.isJobOnMainThread = isOnMainThread
            }
        }
    }

    /// Returns when the block and the job have run, on whichever thread, or when they count as not served.
    private static func waitUntilServed(by loop: GRunLoop) {
        let start = Nanoseconds.now()
        var asleepSince: Nanoseconds?
        while !Fork.isChild {
            if findings.withLock({ $0.block != nil && $0.job != nil }) { return }
            let now = Nanoseconds.now()
            let (sight, sleeps) = loop.lock.withLock {
                (loop.diagnostics.sightLocked(of: loop), loop.awaitsMainQueueLocked)
            }
            // If another source of a host is being dispatched, the loop's sleep has not ended, but the host is busy.
            let waits = sight == .waits && sleeps
            asleepSince = waits ? asleepSince ?? now : nil
            let hasSlept = now - (asleepSince ?? now) > patience
            if sight == .hasEnded || hasSlept || now - start > longestWait {
                let driver: CheckFindings.Driver = hasSlept ? .sleeping : CheckFindings.Driver(ofIdle: loop, sight)
                return findings.withLock { $0.driver = $0.driver ?? driver }
            }
            usleep(20_000)
        }
    }

    /// Enqueues blocks for a moment. Other code that drains the queue would run some of them.
    private static func lookForOthers(_ loop: GRunLoop) {
        for _ in 0..<20 {
            enqueueBlock(on: loop)
            usleep(10_000)
        }
    }

    /// Asks a second time whether a timer of Foundation fires, because the program may have run Foundation's loop only
    /// at its start.
    private static func lookForFoundation() {
        guard findings.withLock({ $0.isFoundationLoaded == true }) else { return }
        let fires = cgrun_foundation_fires()
        cgrun_foundation_add_timer()
        usleep(200_000)
        let isServed = cgrun_foundation_fires() != fires
        findings.withLock { $0.isFoundationServed = isServed }
    }

    /// Measures for a second without work of the check.
    private static func measureMainThread() {
        let runs = findings.withLock { $0.foundationRuns }
        guard let switches = switchesOfMainThread() else { return }
        let time = cgrun_processor_time_of_main_thread()
        sleep(1)
        guard let later = switchesOfMainThread() else { return }
        let share = Int((cgrun_processor_time_of_main_thread() - time) / 10_000_000)
        findings.withLock {
            $0.idle = .init(wakeUps: later - switches, share: share, foundationRuns: $0.foundationRuns - runs)
        }
    }

    /// How often the main thread has waited in the kernel; nil if that cannot be read.
    private static func switchesOfMainThread() -> Int? {
        guard let file = fopen("/proc/self/task/\(getpid())/status", "re") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        var count: Int = 0
        var isFound = false
        while fgets(&line, Int32(line.count), file) != nil {
            withUnsafeMutablePointer(to: &count) { count in
                isFound = withVaList([count]) { vsscanf(line, "voluntary_ctxt_switches: %ld", $0) } == 1 || isFound
            }
        }
        return isFound ? count : nil
    }

    /// Prints the report once.
    ///
    /// - Parameter isOwn: false in a child process that was forked before the check began.
    fileprivate static func report(inOwnProcess isOwn: Bool = true) {
        let hasMainLoop = hasBegun.load(ordering: .relaxed)
        guard !Fork.isChild, hasMainLoop || isOwn, !GRunLoop.isServedByAnotherCopy else { return }
        reportLock.lock()
        defer { reportLock.unlock() }
        if hasReported { return }
        hasReported = true
        let hasFired = cgrun_foundation_fires() > 0
        let text = findings.withLock {
            if $0.isFoundationServed == nil { $0.isFoundationServed = hasFired }
            return CheckReport(of: $0, hasMainLoop: hasMainLoop).text
        }
        cgrun_print_report(text)
    }
}

/// Called when the process exits, if `GRUN_CHECK` is set.
@_cdecl("cgrun_finish_check")
func finishCheck(_ isOwnProcess: Bool) {
    if StartUpCheck.wanted == .report { StartUpCheck.report(inOwnProcess: isOwnProcess) }
}

/// Called when a run of Foundation's main run loop begins. If this library serves Foundation's loop, this library makes
/// such runs itself, but never in a callout for a GLib source or a timer.
@_cdecl("cgrun_note_foundation_run")
func noteFoundationRun() {
    let loop = GRunLoop.main
    switch loop.lock.withLock({ loop.runSightLocked?.callout.kind }) {
    case nil, .context?, .timer?: StartUpCheck.findings.withLock { $0.foundationRuns += 1 }
    default: break
    }
}
