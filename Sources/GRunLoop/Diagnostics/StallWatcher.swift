// SPDX-License-Identifier: Apache-2.0
// The thread that watches a loop for stalls. While the loop waits it sleeps, and no clock runs.
//
// It never reads what the loop's thread is at: it looks now and then, and what is the same as before has not come back.
//
// The stalled thread may hold any lock: the allocator's, the dynamic linker's, the log's. Until the notice of a stall
// is scheduled, the watching thread allocates no memory, and waits for no lock for long. After that it may wait, but
// not while it holds the loop's lock: others would wait with it.

import CGRun
import Glibc

final class StallWatcher: @unchecked Sendable {
    typealias Report = GRunLoop.StallReport

    /// Does nothing where nobody has a handler for it, and hardly a program has one.
    static let usualSignal = SIGURG
    /// How long a thread has to say where it stands: on a busy machine it may have to wait for a processor.
    private static let patience: Nanoseconds = 200_000_000
    /// How often it is asked for a stack with more than one function.
    private static let mostQuestions = 16
    /// How long this thread waits for the loop's lock. A thread that keeps it for longer may wait for the stalled one.
    private static let longestWait: Nanoseconds = 5_000_000

    private let loop: GRunLoop
    private let threshold: Nanoseconds
    private let signal: Int32
    /// Whether the reports go to the log, and not to the program.
    private let isLogged: Bool
    /// What tells of a stall, and of its end. Without a lock, on the watcher's thread.
    private let tell: @Sendable (Report) -> Void
    private let lock = Lock.take()
    /// Guarded by the lock.
    private var isEnded = false
    /// What lives until the thread has ended. Guarded by the lock.
    private var keeper: AnyObject?
    /// Why threads are not asked where they stand; 0 if they are.
    let signalError: Int32
    private let notice = StallNotice()

    // MARK: Of the watcher's thread

    private var nudges: UInt32 = 0
    private var seen = LoopActivity.waits
    private var since: Nanoseconds = 0
    /// The stall that was told of, and is not over.
    private var told: Report?
    /// The last answer of the loop's thread.
    private let sample = UnsafeMutablePointer<cgrun_sample>.allocate(capacity: 1)
    /// For a test: how often the thread has looked. Guarded by the lock.
    private var looks = 0

    init(
        _ loop: GRunLoop, threshold: Nanoseconds, signal: Int32, isLogged: Bool,
        tell: @escaping @Sendable (Report) -> Void
    ) {
        self.loop = loop
        self.threshold = threshold
        self.signal = signal
        self.isLogged = isLogged
        self.tell = tell
        signalError = cgrun_sample_prepare(signal)
    }

    deinit {
        sample.deallocate()
        Lock.giveBack(lock)
    }

    var lookCount: Int { lock.withLock { looks } }

    /// Returns what `pthread_create` does.
    func start() -> Int32 {
        let failure = notice.open()
        if failure != 0 {
            if signalError == 0 { cgrun_sample_finish(signal) }
            return failure
        }
        if loop.isCurrent {
            cgrun_beat_want(loop.beat, UInt32(CGRUN_BEAT_UNKNOWN))
            cgrun_beat_answer(loop.beat)
        } else if cgrun_beat_thread(loop.beat) == 0 {
            cgrun_beat_want(loop.beat, UInt32(CGRUN_BEAT_UNKNOWN))
        }
        loop.lock.withLock { loop.beginWatchLocked() }?.send()
        // The new thread has them all blocked from its beginning: signals are for the program's threads.
        var all = sigset_t()
        var former = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &former)
        defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
        var thread = pthread_t()
        let own = Unmanaged.passRetained(self)
        let error = pthread_create(
            &thread, nil,
            { argument in
                if let argument { Unmanaged<StallWatcher>.fromOpaque(argument).takeRetainedValue().watch() }
                return nil
            }, own.toOpaque())
        guard error == 0 else {
            own.release()
            letGo()
            return error
        }
        pthread_detach(thread)
        return 0
    }

    /// Has an object live as long as the thread. It may have ended already.
    func keep(_ object: AnyObject) {
        lock.withLock { if !isEnded { keeper = object } }
    }

    /// It does not wait for what is being told.
    func end() {
        lock.withLock { isEnded = true }
        cgrun_beat_nudge(loop.beat)
    }

    /// Counts a look. What another thread asks for from here on ends the next wait.
    private func isToEnd() -> Bool {
        nudges = cgrun_beat_nudges(loop.beat)
        return lock.withLock {
            looks += 1
            return isEnded
        }
    }

    private func watch() {
        setThreadName("stall monitor")
        // A handler may have forked: in the child, locks are those of the parent.
        while !Fork.isChild, !isToEnd() {
            let activity = look()
            let now = Nanoseconds.now()
            if activity != seen { endStall(at: now) }
            if Fork.isChild { return }
            switch activity {
            case .hasEnded: return stop()
            case .waits:
                seen = .waits
                park()
            case .isBusy:
                if activity != seen {
                    seen = activity
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

    /// Passing a `String` to C would allocate memory. A literal ends with a NUL.
    private func setThreadName(_ name: StaticString) {
        cgrun_set_thread_name(UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self))
    }

    private func wait(from now: Nanoseconds) {
        cgrun_beat_wait(loop.beat, nudges, now.addingSaturating(interval(at: now)))
    }

    /// An eighth of the threshold, or exactly until it has passed. What has stalled is looked at more often, so that
    /// its end is known.
    private func interval(at now: Nanoseconds) -> Nanoseconds {
        if told != nil { return 5_000_000 }
        return max(1_000_000, min(threshold / 8, since.addingSaturating(threshold) - now))
    }

    private func stop() {
        if !Fork.isChild { endStall(at: .now()) }
        guard !Fork.isChild else { return }
        letGo()
        // The last to hold it may be this thread.
        let keeper = lock.withLock {
            isEnded = true
            return self.keeper.take()
        }
        withExtendedLifetime(keeper) {}
    }

    private func letGo() {
        notice.close()
        loop.lock.withLock { loop.endWatchLocked() }
        if signalError == 0 { cgrun_sample_finish(signal) }
    }

    /// Sleeps until the loop calls somebody, or a host's poll has ended.
    ///
    /// - Parameter untilBeat: nobody runs the loop, though it does not look so. Else only if it still waits.
    private func park(untilBeat: Bool = false) {
        guard loop.lock.lock(within: Self.longestWait) else { return wait(from: .now()) }
        // First: who has missed this has not missed the change that is looked for next.
        cgrun_beat_want(loop.beat, UInt32(CGRUN_BEAT_PARKED))
        let isLate = loop.activityLocked != (untilBeat ? seen : .waits) || lock.withLock { isEnded }
        loop.lock.unlock()
        if isLate { cgrun_beat_unpark(loop.beat) } else { cgrun_beat_park(loop.beat) }
        seen = look()
        since = .now()
        // A loop that wakes a thousand times a second does not wake this thread as often.
        if seen != .hasEnded { wait(from: since) }
    }

    /// What the loop does. If another thread keeps the loop's lock, a count that has not changed decides. Once the lock
    /// is free, the same count is the same stall: `seen` only gets the rest, which was not known.
    private func look() -> LoopActivity {
        guard loop.lock.lock(within: Self.longestWait) else {
            let count = cgrun_beat_count(loop.beat)
            if case .isBusy(let known, _, _) = seen, known == count { return seen }
            return .isBusy(count: count, mark: 0, frame: LoopActivity.unknownFrame)
        }
        let activity = loop.activityLocked
        loop.lock.unlock()
        if case .isBusy(let count, _, LoopActivity.unknownFrame) = seen, case .isBusy(count, _, _) = activity {
            seen = activity
        }
        return activity
    }

    /// The callout that has stalled; nil if it has returned.
    private func sight() -> StallSight? {
        guard loop.lock.lock(within: Self.longestWait) else { return .unknown }
        defer { loop.lock.unlock() }
        return loop.activityLocked == seen ? loop.stallSightLocked : nil
    }

    private func details() -> StallDetails {
        guard loop.lock.lock(within: Self.longestWait) else { return StallDetails() }
        defer { loop.lock.unlock() }
        return loop.activityLocked == seen ? loop.stallDetailsLocked : StallDetails()
    }

    /// The loop has not come back for as long as it may. Returns false if nobody runs it.
    private func examine(at now: Nanoseconds) -> Bool {
        guard let sight = sight() else { return true }
        let hasSample = ask()
        if sight.callout == .host {
            // Whether a host runs is not known: only its thread can tell.
            guard hasSample else {
                // It has blocked the signal, or is in the kernel: it is asked again, but not all the time.
                since = now
                return signalError == 0
            }
            guard sample.pointee.depth > 0 else { return false }
            // Another context's callback, inside one of this context's or not: asked again in a moment.
            guard sample.pointee.context == sight.home else { return true }
        }
        // It may have come back meanwhile.
        guard look() == seen else { return true }
        let span = Nanoseconds.now() - since
        notice.schedule(sight, hasSample ? sample : nil, of: loop, after: span)
        let report = Report(sight, details(), hasSample ? StallSample(sample.pointee) : nil, after: span)
        told = report
        // The program's own handler may take as long as it needs.
        if !isLogged { notice.cancel() }
        tell(report)
        if isLogged, !Fork.isChild { notice.cancel() }
        return true
    }

    /// Asks the thread where it stands. False if it does not say, or not of what was seen.
    ///
    /// Small functions of Swift's library have no tables for unwinding: a stack that is interrupted there ends with
    /// them, and the function at fault is not in it. A moment later the thread is elsewhere.
    private func ask() -> Bool {
        guard signalError == 0, case .isBusy(let count, _, _) = seen else { return false }
        var questions = 0
        repeat {
            if questions > 0 { usleep(500) }
            guard cgrun_sample_take(loop.beat, signal, Self.patience, sample), sample.pointee.count == count else {
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

extension GRunLoop {
    /// With the lock held. A sleep that is under way begins again: a host's poll is to beat.
    fileprivate func beginWatchLocked() -> Kick? {
        if watchers == 0 {
            // What was called while nobody watched is not known.
            for frame in framesLocked { frame.callout.store(0, ordering: .relaxed) }
        }
        watchers += 1
        cgrun_count_inspecting(1)
        return sleep.kick(self)
    }

    /// With the lock held.
    fileprivate func endWatchLocked() {
        watchers -= 1
        cgrun_count_inspecting(-1)
        if watchers == 0 { stopBeatingLocked() }
    }
}
