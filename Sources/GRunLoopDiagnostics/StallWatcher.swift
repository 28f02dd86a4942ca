// SPDX-License-Identifier: Apache-2.0
// The thread that watches a loop for stalls. While the loop waits, this thread sleeps without a timeout.
//
// The watcher reads the loop's state at intervals. If two successive reads give the same state, the callout has not
// returned between them.
//
// The stalled thread may hold any lock, such as the lock of the allocator, the dynamic linker or the log. Until the
// notice of a stall is scheduled, the watching thread allocates no memory, and waits only briefly for a lock. After
// that, the watching thread may wait longer, but never while it holds the loop's lock, because the program's threads
// may need this lock.

import CGRun
import CGRunDiagnostics
import GRunLoop
import Glibc

final class StallWatcher: @unchecked Sendable {
    typealias Report = GRunLoop.StallReport

    /// The default signal. A process without a handler for this signal ignores the signal, and few programs have a
    /// handler.
    static let usualSignal = SIGURG
    /// How long the watcher waits until the loop's thread answers the signal. On a busy machine, the loop's thread may
    /// have to wait for a processor.
    private static let patience: Nanoseconds = 200_000_000
    /// The largest number of backtraces that are taken for one report. If a backtrace has only one function, another
    /// backtrace is taken.
    private static let mostQuestions = 16
    /// The largest number of tries to look up the item's label, 1 ms apart, while another thread holds the lock of the
    /// labels.
    private static let mostLooksForLabel = 50
    /// How long the watcher waits for the loop's lock. A thread that holds the lock for longer may itself wait for the
    /// stalled thread.
    private static let longestWait: Nanoseconds = 5_000_000

    private let loop: GRunLoop
    private let diagnostics: LoopDiagnostics
    private var beat: UnsafeMutablePointer<cgrun_beat> { diagnostics.beat }
    private let threshold: Nanoseconds
    private let signal: Int32
    /// True if the reports are logged, false if they are passed to the program's handler.
    private let isLogged: Bool
    /// Delivers the report of a stall that was noticed, or of a stall that is over. Called without a lock, on the
    /// watcher's thread.
    private let tell: @Sendable (Report) -> Void
    /// Called without a lock when the watcher has ended.
    private let ended: @Sendable () -> Void
    private let lock = Lock.take()
    /// Guarded by the lock.
    private var isEnded = false
    /// An object that the watcher keeps alive until its thread has ended. Guarded by the lock.
    private var keeper: AnyObject?
    /// The error number that explains why no backtrace of the loop's thread can be taken; 0 if backtraces are possible.
    let signalError: Int32
    private let notice = StallNotice()

    // MARK: On the watcher's thread

    private var nudges: UInt32 = 0
    private var seen = LoopSight.waits
    private var since: Nanoseconds = 0
    /// The report of the stall that is not over yet; nil if there is none.
    private var told: Report?
    private let sample = UnsafeMutablePointer<cgrun_sample>.allocate(capacity: 1)
    /// For tests: how often the watcher has checked the loop. Guarded by the lock.
    private var looks = 0

    init(
        _ loop: GRunLoop, threshold: Nanoseconds, signal: Int32, isLogged: Bool,
        tell: @escaping @Sendable (Report) -> Void, ended: @escaping @Sendable () -> Void = {}
    ) {
        self.loop = loop
        diagnostics = loop.diagnostics
        self.threshold = threshold
        self.signal = signal
        self.isLogged = isLogged
        self.tell = tell
        self.ended = ended
        signalError = cgrun_sample_prepare(signal)
    }

    deinit {
        sample.deallocate()
        Lock.giveBack(lock)
    }

    var lookCount: Int { lock.withLock { looks } }

    /// Returns 0, or the error of `pthread_create`.
    func start() -> Int32 {
        let failure = notice.open()
        if failure != 0 {
            if signalError == 0 { cgrun_sample_finish(signal) }
            return failure
        }
        if loop.isCurrent {
            cgrun_beat_want(beat, UInt32(CGRUN_BEAT_UNKNOWN))
            cgrun_beat_answer(beat)
        } else if cgrun_beat_thread(beat) == 0 {
            cgrun_beat_want(beat, UInt32(CGRUN_BEAT_UNKNOWN))
        }
        loop.lock.withLock { diagnostics.beginWatchLocked(loop) }?.send()
        let own = Unmanaged.passRetained(self)
        let error = startDiagnosticsThread(own.toOpaque()) { argument in
            if let argument { Unmanaged<StallWatcher>.fromOpaque(argument).takeRetainedValue().watch() }
            return nil
        }
        if error != 0 {
            own.release()
            letGo()
        }
        return error
    }

    /// Keeps an object alive as long as the watcher's thread. Does nothing if the watcher has ended already.
    func keep(_ object: AnyObject) {
        lock.withLock { if !isEnded { keeper = object } }
    }

    /// Makes the watcher end. Does not wait for a report that is being delivered.
    func end() {
        lock.withLock { isEnded = true }
        cgrun_beat_nudge(beat)
    }

    /// Counts a check, and returns whether the watcher must end. If another thread sends a nudge after this function
    /// has read `nudges`, the next wait returns immediately.
    private func isToEnd() -> Bool {
        nudges = cgrun_beat_nudges(beat)
        return lock.withLock {
            looks += 1
            return isEnded
        }
    }

    private func watch() {
        setThreadName("stall monitor")
        // A handler may have called fork(). In the forked child, take no lock. A thread of the parent may have held the
        // lock during the fork, so the lock would stay locked forever.
        while !Fork.isChild, !isToEnd() {
            let sight = look()
            let now = Nanoseconds.now()
            if sight != seen { endStall(at: now) }
            if Fork.isChild { return }
            switch sight {
            case .hasEnded: return stop()
            case .waits:
                seen = .waits
                park()
            case .isBusy:
                if sight != seen {
                    seen = sight
                    since = now
                } else if told == nil, now - since >= threshold {
                    guard examine(at: now) else {
                        park(untilBeat: true)
                        continue
                    }
                }
                wait(from: now)
            }
        }
        stop()
    }

    private func wait(from now: Nanoseconds) {
        cgrun_beat_wait(beat, nudges, now.addingSaturating(interval(at: now)))
    }

    /// Returns the time until the next check: an eighth of the threshold, or less if the callout reaches the threshold
    /// earlier. The time is at least a millisecond. While a reported stall is not over, the time is 5 ms, so that the
    /// end of the stall is noticed soon.
    private func interval(at now: Nanoseconds) -> Nanoseconds {
        if told != nil { return 5_000_000 }
        return max(1_000_000, min(threshold / 8, since.addingSaturating(threshold) - now))
    }

    private func stop() {
        if !Fork.isChild { endStall(at: .now()) }
        guard !Fork.isChild else { return }
        letGo()
        // Release the keeper after unlocking. This thread may own the last reference, and the keeper's deinit takes the
        // lock.
        let keeper = lock.withLock {
            isEnded = true
            return self.keeper.take()
        }
        withExtendedLifetime(keeper) {}
        ended()
    }

    private func letGo() {
        notice.close()
        loop.lock.withLock { diagnostics.endWatchLocked() }
        if signalError == 0 { cgrun_sample_finish(signal) }
    }

    /// Sleeps until a callout of the loop begins, or until a host's poll has ended.
    ///
    /// - Parameter untilBeat: true if the loop's state is busy, but the thread runs no callout. In this case, the
    ///   watcher sleeps only if the state is unchanged. If false, the watcher sleeps only if the loop still waits.
    private func park(untilBeat: Bool = false) {
        guard loop.lock.lock(within: Self.longestWait) else { return wait(from: .now()) }
        // Set the flag before the check of the loop's state. If the loop's thread does not see the flag, it changed the
        // state before the flag was set, so the check sees the change.
        cgrun_beat_want(beat, UInt32(CGRUN_BEAT_PARKED))
        let isLate = diagnostics.sightLocked(of: loop) != (untilBeat ? seen : .waits) || lock.withLock { isEnded }
        loop.lock.unlock()
        if isLate { cgrun_beat_unpark(beat) } else { cgrun_beat_park(beat) }
        seen = look()
        since = .now()
        // Without this wait, a loop that wakes a thousand times a second would also wake this thread a thousand times a
        // second.
        if seen != .hasEnded { wait(from: since) }
    }

    /// Returns the activity of the loop. If another thread holds the loop's lock, only the count of callouts can be
    /// read, and an unchanged count means an unchanged state. If the count is still unchanged when the lock is free,
    /// the callout has not changed. Then `seen` gets the values of `sleep` and `frame`, which could not be read before.
    private func look() -> LoopSight {
        guard loop.lock.lock(within: Self.longestWait) else {
            let count = cgrun_beat_count(beat)
            if case .isBusy(let known, _, _) = seen, known == count { return seen }
            return .isBusy(count: count, sleep: 0, frame: LoopSight.unknownFrame)
        }
        let sight = diagnostics.sightLocked(of: loop)
        loop.lock.unlock()
        if case .isBusy(let count, _, LoopSight.unknownFrame) = seen, case .isBusy(count, _, _) = sight {
            seen = sight
        }
        return sight
    }

    /// Returns the callout whose state is `seen`. Returns nil if this callout has returned.
    private func sight() -> StallSight? {
        guard loop.lock.lock(within: Self.longestWait) else { return .unknown }
        defer { loop.lock.unlock() }
        return diagnostics.sightLocked(of: loop) == seen ? loop.stallSightLocked : nil
    }

    /// Reads the details of the callout. While another thread holds the lock of the labels, this function tries again.
    /// It releases the loop's lock between two tries, because the program's threads may wait for that lock.
    private func details() -> CalloutDetails {
        var details = CalloutDetails()
        var looks = 0
        // This loop is not a `for` loop, because in a debug build the first iteration over a range allocates memory.
        repeat {
            if looks > 0 { usleep(1_000) }
            looks += 1
            guard loop.lock.lock(within: Self.longestWait) else { return details }
            // If the callout has ended, return the details that were read before.
            let isSame = diagnostics.sightLocked(of: loop) == seen
            if isSame { details = loop.calloutDetailsLocked }
            loop.lock.unlock()
            if !isSame { break }
        } while details.isLabelUnknown && looks < Self.mostLooksForLabel
        return details
    }

    /// Takes a backtrace of a loop whose state has not changed within the threshold, and reports the stall. Returns
    /// false if the loop's thread runs no callback, or if the watcher cannot check this because it cannot take
    /// backtraces.
    private func examine(at now: Nanoseconds) -> Bool {
        guard let sight = sight() else { return true }
        let hasSample = ask()
        if sight.callout == .host {
            // Only a backtrace shows whether a callback of the host is running.
            guard hasSample else {
                // The loop's thread blocks the signal, or is in the kernel. To avoid constant signals, try again only
                // after another full threshold.
                since = now
                return signalError == 0
            }
            guard sample.pointee.depth > 0 else { return false }
            // A callback of another context is running, perhaps inside a callback of the home context. Only callbacks
            // of the home context are reported, so try again at the next check.
            guard sample.pointee.context == sight.home else { return true }
        }
        // The callout may have returned while the backtrace was taken.
        guard look() == seen else { return true }
        let span = Nanoseconds.now() - since
        notice.schedule(sight, hasSample ? sample : nil, of: loop, after: span)
        let report = Report(sight, details(), hasSample ? StallSample(sample.pointee) : nil, after: span)
        told = report
        // The program's handler may take as long as it needs, so the notice is cancelled before the handler is called.
        if !isLogged { notice.cancel() }
        tell(report)
        if isLogged, !Fork.isChild { notice.cancel() }
        return true
    }

    /// Takes a backtrace of the loop's thread. Returns false if this thread does not answer, or already executes a
    /// later callout.
    ///
    /// Small functions of Swift's library have no tables for unwinding. If the signal interrupts such a function, the
    /// backtrace ends there, without the function at fault. A moment later the thread has usually left the small
    /// function, so another backtrace is taken.
    private func ask() -> Bool {
        guard signalError == 0, case .isBusy(let count, _, _) = seen else { return false }
        var questions = 0
        repeat {
            if questions > 0 { usleep(500) }
            guard cgrun_sample_take(beat, signal, Self.patience, sample), sample.pointee.count == count else {
                return false
            }
            questions += 1
        } while sample.pointee.frame_count <= 1 && questions < Self.mostQuestions
        return true
    }

    private func endStall(at now: Nanoseconds) {
        guard let report = told else { return }
        told = nil
        tell(report.ended(after: now - since))
    }
}
