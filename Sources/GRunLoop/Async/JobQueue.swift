// SPDX-License-Identifier: Apache-2.0
// The jobs that Swift's runtime enqueues for a loop, and the version-0 source that runs them.

import CGRun
import Glibc
import Synchronization

/// A first-in, first-out queue of jobs, to which any thread can add. The loop and its executors retain the queue. The
/// queue's source retains the loop until the loop's thread ends. Jobs that are added after that are late jobs: see
/// `LateJobs.swift`.
final class JobQueue: @unchecked Sendable {
    /// How to start a job.
    enum Kind {
        /// The job of an actor. The job is isolated to its executor.
        case actor
        /// The job of a task that prefers the executor, which is a ``GRunLoop/Executor``. The job is not isolated.
        case task
    }

    struct Entry {
        let job: UnownedJob
        let kind: Kind
        let executor: any SerialExecutor
    }

    let lock = Lock.take()
    // Guarded by the lock.
    @exclusivity(unchecked) private var incoming: [Entry] = []
    /// True if the loop, or the task that runs late jobs, will check the queue again without a further wake-up.
    var isScheduled = false
    /// Whether the first late job was logged.
    var hasLateJobs = false
    /// The loop's name for messages; nil until the loop's thread has ended.
    var formerLoop: String?

    // Used only by the loop's own thread and, after the end of that thread, by the task that runs the late jobs.

    /// The jobs to run, from index `next` on. A run that is nested in a job continues with these jobs.
    @exclusivity(unchecked) private var batch: [Entry] = []
    private var next = 0
    /// How many calls of ``runJobs()`` and ``runAll()`` are on the thread's stack.
    private var depth = 0

    /// The identity of the loop, for comparison only.
    private let loopID: ObjectIdentifier
    /// True after the loop's thread has used the queue for the last time. Set with the lock held, together with
    /// `formerLoop`.
    let isLate = Atomic(false)
    /// The thread that is running late jobs; 0 if there is none.
    let lateThread = Atomic<pthread_t>(0)
    /// Set before another thread can use the queue; nil if the loop had ended before the queue was made.
    private var source: GRunLoop.Source?
    private unowned(unsafe) let loop: GRunLoop

    init(of loop: GRunLoop) {
        self.loop = loop
        loopID = ObjectIdentifier(loop)
    }

    deinit {
        Lock.giveBack(lock)
    }

    /// Makes the source that runs the jobs. The source stays in the common modes until the thread ends, because a job
    /// can be added at any time.
    func makeSource() -> GRunLoop.Source {
        let source = GRunLoop.Source { [unowned self] in runJobs() }
        self.source = source
        return source
    }

    /// True if the loop is the calling thread's current loop. After the loop's end, true only while the calling thread
    /// runs a late job of the loop.
    var isOnLoop: Bool {
        if isLate.load(ordering: .relaxed) { return lateThread.load(ordering: .relaxed) == pthread_self() }
        return ThreadLoops.peek.map { ObjectIdentifier($0) == loopID } ?? false
    }

    /// The queue whose job the calling thread is running; nil if the thread is running no job. The task of this job
    /// lives on the queue's loop.
    static var current: JobQueue? {
        guard let queue = ThreadLoops.peek?.jobQueue, queue.depth > 0 else { return nil }
        return queue
    }

    /// The queue's loop if it belongs to the calling thread, even if virtual time replaces the loop there; otherwise
    /// nil. Always nil after the loop's end, because a new loop may then have the same address.
    var loopOfThisThread: GRunLoop? {
        guard !isLate.load(ordering: .relaxed) else { return nil }
        var found = ThreadLoops.peek
        while let loop = found, ObjectIdentifier(loop) != loopID { found = loop.virtualTime?.hidden }
        return found
    }

    var loopName: String { lock.withLock { formerLoop } ?? "the run loop \(hexAddress(loopID))" }

    /// Adds a job. If other jobs already wait, the loop is not woken again. Threads: any.
    func append(_ job: UnownedJob, _ kind: Kind, for executor: any SerialExecutor) {
        // A forked child has no thread that could run the job, so the job is dropped.
        guard !Fork.refuses("Executor.enqueue") else { return }
        lock.lock()
        incoming.append(Entry(job: job, kind: kind, executor: executor))
        let wakes = !isScheduled
        isScheduled = true
        let isLate = formerLoop != nil
        lock.unlock()
        guard wakes else { return }
        if isLate { startLateJobs() } else { wake() }
    }

    private func wake() {
        // If the loop's thread is ending, the source is no longer in the loop. The ending thread runs the remaining
        // jobs itself.
        source?.signalAnsweringLoop()?.wakeUpEveryRun()
    }

    // MARK: On the loop's thread

    /// Runs the queued jobs until the time slice is used up. Jobs that are added meanwhile wait for the next pass.
    private func runJobs() {
        dropDone()
        var quota = lock.withLock {
            isScheduled = false
            return refillLocked()
        }
        depth += 1
        while quota > 0, let entry = take() {
            quota -= 1
            callOutToJob(entry.job, entry.kind, of: entry.executor)
            if quota > 0, loop.endItemOfCallout() { break }
        }
        depth -= 1
        let hasMore = lock.withLock { () -> Bool in
            isScheduled = hasJobsLocked
            // The source may still be signalled for a nested run. Clearing this signal without the lock could also
            // clear the signal for a new job.
            if !isScheduled { source?.clearSignal() }
            return isScheduled
        }
        if hasMore { source?.signal() }
        dropDone()
    }

    /// Drops the jobs that have run. Call this function without the lock, because it releases the executors of these
    /// jobs. An executor may be a mailbox that holds objects of the program.
    private func dropDone() {
        guard next == batch.count else { return }
        batch.removeAll(keepingCapacity: batch.capacity <= 1024)
        next = 0
    }

    var hasJobsLocked: Bool { next < batch.count || !incoming.isEmpty }
    var firstLocked: Entry? { next < batch.count ? batch[next] : incoming.first }

    /// Moves the incoming jobs to the batch if the batch is empty. Returns how many jobs of the batch still have to
    /// run. Call this function with the lock held, after ``dropDone()``.
    private func refillLocked() -> Int {
        if batch.isEmpty { swap(&batch, &incoming) }
        return batch.count - next
    }

    /// Runs the queued jobs without a time limit. Returns false if there were no jobs. In that case, the next call of
    /// ``append(_:_:for:)`` wakes the loop or starts the late jobs.
    func runAll() -> Bool {
        dropDone()
        let hasJobs = lock.withLock {
            isScheduled = refillLocked() > 0
            return isScheduled
        }
        // If there were no jobs, this thread must not use the queue any more, because another thread may already run
        // new late jobs.
        guard hasJobs else { return false }
        depth += 1
        while let entry = take() { callOutToJob(entry.job, entry.kind, of: entry.executor) }
        depth -= 1
        return true
    }

    private func take() -> Entry? {
        guard next < batch.count else { return nil }
        let entry = batch[next]
        next += 1
        // If the job starts a nested run, that run finds the other jobs only if the source is signalled.
        if next < batch.count { source?.signal() }
        return entry
    }
}

/// Runs a job. Debuggers and profilers show this function by its name: see the head of Pass.swift.
@inline(never) func callOutToJob(_ job: UnownedJob, _ kind: JobQueue.Kind, of executor: any SerialExecutor) {
    switch kind {
    case .actor: job.runSynchronously(on: executor.asUnownedSerialExecutor())
    case .task: job.runSynchronously(on: unsafeDowncast(executor, to: GRunLoop.Executor.self).asUnownedTaskExecutor())
    }
    cgrun_keep_frame()
}
