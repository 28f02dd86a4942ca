// SPDX-License-Identifier: Apache-2.0
// The queue of the jobs that Swift's runtime enqueues for a loop, and the version-0 source that runs them.

import CGRun
import Glibc
import Synchronization

/// A queue of jobs, first in, first out, to which every thread may add. The loop and its executors hold the queue. The
/// queue holds the loop through its source, as long as the loop's thread lives. Jobs that come after the thread's end
/// are late jobs: see `LateJobs.swift`.
final class JobQueue: @unchecked Sendable {
    /// How a job is begun.
    enum Kind {
        /// The job of an actor, which is isolated to its executor.
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
    /// Whether the jobs will be looked at again: by the loop, whose source is signalled, or as late jobs.
    var isScheduled = false
    /// Whether jobs have come after the end of the loop's thread.
    var hasLateJobs = false
    /// The loop's name in messages, once its thread has ended.
    var formerLoop: String?

    // Used by the loop's own thread only, and after its end by the late jobs.

    /// The jobs being run, from `next` on. A run that is nested in a job continues with them.
    @exclusivity(unchecked) private var batch: [Entry] = []
    private var next = 0
    /// How many calls of ``runAll()`` and of the source are on the thread's stack.
    private var depth = 0

    /// The identity of the loop, for comparison only.
    private let loopID: ObjectIdentifier
    /// Whether the loop's thread has ended, and no longer uses the queue. Set with the lock held, together with
    /// `formerLoop`.
    let isLate = Atomic(false)
    /// The thread that runs late jobs just now; 0 if there is none.
    let lateThread = Atomic<pthread_t>(0)
    /// Set before another thread can see the queue.
    private var source: GRunLoop.Source?
    private unowned(unsafe) let loop: GRunLoop

    init(of loop: GRunLoop) {
        self.loop = loop
        loopID = ObjectIdentifier(loop)
    }

    deinit {
        Lock.giveBack(lock)
    }

    /// Makes the source that runs the jobs. It stays in the common modes until the thread ends. Jobs may come at any
    /// time, so there is always something to wait for.
    func makeSource() -> GRunLoop.Source {
        let source = GRunLoop.Source { [unowned self] in runJobs() }
        self.source = source
        return source
    }

    /// Whether the calling thread is the loop's. After the loop's end: whether it is running the late jobs.
    var isOnLoop: Bool {
        if isLate.load(ordering: .relaxed) { return lateThread.load(ordering: .relaxed) == pthread_self() }
        return ThreadLoops.peek.map { ObjectIdentifier($0) == loopID } ?? false
    }

    /// The queue whose job the calling thread is running, so that the current task lives on its loop; nil if there is
    /// none.
    static var current: JobQueue? {
        guard let queue = ThreadLoops.peek?.jobQueue, queue.depth > 0 else { return nil }
        return queue
    }

    /// The loop, if the calling thread is the loop's own; otherwise nil. In virtual time, another loop may be the
    /// current one of this thread. After the loop's end it is nil, because another loop may have the same address.
    var loopOfThisThread: GRunLoop? {
        guard !isLate.load(ordering: .relaxed) else { return nil }
        var found = ThreadLoops.peek
        while let loop = found, ObjectIdentifier(loop) != loopID { found = loop.virtualTime?.hidden }
        return found
    }

    /// The loop's name in messages.
    var loopName: String { lock.withLock { formerLoop } ?? "the run loop \(hexAddress(loopID))" }

    /// Adds a job. Any thread. A burst of jobs wakes the loop once.
    func append(_ job: UnownedJob, _ kind: Kind, for executor: any SerialExecutor) {
        // A forked child has no thread that could run the job, and an executor cannot refuse one.
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
        // The thread may end meanwhile. Then it runs the remaining jobs itself, and the source has no loop any more.
        source?.signalAnsweringLoop()?.wakeUpEveryRun()
    }

    // MARK: On the loop's thread

    /// Runs the jobs that are queued now. Jobs that they enqueue wait for the next pass.
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
            // The source may still be signalled for a nested run that did not come. The signal is cleared under the
            // lock, so that no new job's signal is lost.
            if !isScheduled { source?.clearSignal() }
            return isScheduled
        }
        if hasMore { source?.signal() }
        dropDone()
    }

    /// Drops the jobs that were run. Call it without the lock: an executor that is released here may be a mailbox with
    /// an element of the program's.
    private func dropDone() {
        guard next == batch.count else { return }
        batch.removeAll(keepingCapacity: batch.capacity <= 1024)
        next = 0
    }

    var hasJobsLocked: Bool { next < batch.count || !incoming.isEmpty }
    var firstLocked: Entry? { next < batch.count ? batch[next] : incoming.first }

    /// Takes the incoming jobs if the batch is empty. Returns how many jobs are in the batch. Call it with the lock
    /// held, after ``dropDone()``.
    private func refillLocked() -> Int {
        if batch.isEmpty { swap(&batch, &incoming) }
        return batch.count - next
    }

    /// Runs the jobs that are queued now, whatever time they take. Returns false if there were none; then the next
    /// ``append(_:_:for:)`` wakes the loop or starts the late jobs.
    func runAll() -> Bool {
        dropDone()
        let hasJobs = lock.withLock {
            isScheduled = refillLocked() > 0
            return isScheduled
        }
        // Without jobs, nothing else is touched: another thread may be running new late jobs already.
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
        // The job may nest a run, which finds the rest only if the source is signalled.
        if next < batch.count { source?.signal() }
        return entry
    }
}

/// Runs a job. Debuggers and profilers know the function by its name: see the head of Pass.swift.
@inline(never) func callOutToJob(_ job: UnownedJob, _ kind: JobQueue.Kind, of executor: any SerialExecutor) {
    switch kind {
    case .actor: job.runSynchronously(on: executor.asUnownedSerialExecutor())
    case .task: job.runSynchronously(on: unsafeDowncast(executor, to: GRunLoop.Executor.self).asUnownedTaskExecutor())
    }
    cgrun_keep_frame()
}
