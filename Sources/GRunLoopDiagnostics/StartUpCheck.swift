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
            #if compiler(>=6.4)
                return .quiet
            #else
                return nil
            #endif
        }
        return text == "quiet" ? .quiet : text == "0" ? nil : .report
    }()

    /// How long the loop must have slept, although the block and the job wait, before they count as not served.
    private static let patience: Nanoseconds = 1_000_000_000
    /// How long the check waits for a main loop that neither sleeps nor serves.
    private static let longestWait: Nanoseconds = 10_000_000_000

    static let findings = GuardedFindings()
    private static let hasBegun = Atomic(false)
    /// How many runs of Foundation's main run loop have begun while this library's loop called nothing.
    fileprivate static let foundationRuns = Atomic(0)
    private static let hasReported = Atomic(false)

    /// Begins the check if it is wanted, once in a process. Called when the main loop is made.
    static func begin() {
        guard wanted != nil, !GRunLoop.isServedByAnotherCopy, !hasBegun.exchange(true, ordering: .relaxed) else {
            return
        }
        _ = startDiagnosticsThread { _ in
            setThreadName("start-up check")
            StartUpCheck.check(GRunLoop.main)
            return nil
        }
    }

    // MARK: On the thread of the check

    private static func check(_ loop: GRunLoop) {
        let start = Nanoseconds.now()
        findings.withLock { $0.start = start }
        enqueueBlock(on: loop)
        enqueueJob()
        if wanted == .report, cgrun_foundation_begin_check() { findings.withLock { $0.isFoundationLoaded = true } }
        waitUntilServed(by: loop, since: start)
        guard !Fork.isChild else { return }
        guard wanted == .report else { return logMissing() }
        if findings.withLock({ $0.missing.isEmpty }) {
            lookForOthers(loop)
            measureWakeUps()
        }
        report()
    }

    /// Logs which services are missing, if the loop has slept while their work waited.
    private static func logMissing() {
        guard case .sleeping = findings.withLock({ $0.driver }) else { return }
        findings.withLock { $0.missing }.forEach { Log.critical($0.message) }
    }

    private static func enqueueBlock(on loop: GRunLoop) {
        let loop = Unmanaged.passUnretained(loop).toOpaque()
        cgrun_call_on_main_queue(
            { address in
                guard let address else { return }
                // The main loop lives as long as the process.
                let loop = Unmanaged<GRunLoop>.fromOpaque(address).takeUnretainedValue()
                let driver = CheckFindings.Driver(of: loop)
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

    private static func waitUntilServed(by loop: GRunLoop, since start: Nanoseconds) {
        var asleepSince: Nanoseconds?
        while !Fork.isChild {
            if findings.withLock({ $0.missing.isEmpty }) { return }
            let now = Nanoseconds.now()
            let sleeps = loop.lock.withLock { loop.awaitsMainQueueLocked }
            asleepSince = sleeps ? asleepSince ?? now : nil
            if now - start > longestWait || now - (asleepSince ?? now) > patience {
                return findings.withLock { $0.driver = $0.driver ?? (sleeps ? .sleeping : .nobody) }
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

    private static func measureWakeUps() {
        let switches = switchesOfMainThread()
        let runs = foundationRuns.load(ordering: .relaxed)
        sleep(1)
        let wakeUps = switchesOfMainThread() - switches
        findings.withLock {
            $0.wakeUps = wakeUps
            $0.foundationRuns = foundationRuns.load(ordering: .relaxed) - runs
        }
    }

    /// How often the main thread has waited in the kernel.
    private static func switchesOfMainThread() -> Int {
        guard let file = fopen("/proc/self/task/\(getpid())/status", "re") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        var count: Int = 0
        while fgets(&line, Int32(line.count), file) != nil {
            withUnsafeMutablePointer(to: &count) { count in
                _ = withVaList([count]) { vsscanf(line, "voluntary_ctxt_switches: %ld", $0) }
            }
        }
        return count
    }

    /// Prints the report once.
    fileprivate static func report() {
        guard !Fork.isChild, !hasReported.exchange(true, ordering: .relaxed) else { return }
        let isFoundationServed = cgrun_foundation_timer_fired()
        let hasMainLoop = hasBegun.load(ordering: .relaxed)
        let text = findings.withLock {
            $0.isFoundationServed = isFoundationServed
            return CheckReport(of: $0, hasMainLoop: hasMainLoop).text
        }
        text.withCString { _ = write(STDERR_FILENO, $0, strlen($0)) }
    }
}

/// Called when the process exits, if `GRUN_CHECK` is set.
@_cdecl("cgrun_finish_check")
func finishCheck() {
    if StartUpCheck.wanted == .report { StartUpCheck.report() }
}

/// Called when a run of Foundation's main run loop begins. If this library serves Foundation's loop, this library makes
/// such runs itself, in a callout.
@_cdecl("cgrun_note_foundation_run")
func noteFoundationRun() {
    let loop = GRunLoop.main
    if loop.lock.withLock({ loop.runSightLocked }) == nil { StartUpCheck.foundationRuns.add(1, ordering: .relaxed) }
}
