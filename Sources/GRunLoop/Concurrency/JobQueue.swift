// SPDX-License-Identifier: Apache-2.0
// The jobs of Swift's runtime that are to run on a loop: a queue, and the version-0 source that empties it.

import CGRun
import Glibc
import Synchronization

/// First in, first out, from every thread. The loop and its executors hold the queue; the queue holds the loop, by way
/// of its source, as long as the loop's thread lives.
final class JobQueue: @unchecked Sendable {
    /// What a job belongs to.
    enum Kind {
        case actor, task
    }

    private struct Entry {
        let job: UnownedJob
        let kind: Kind
        let executor: GRunLoop.Executor
    }

    private let lock = Lock.take()
    // Guarded by the lock.
    @exclusivity(unchecked) private var incoming: [Entry] = []
    /// The source is signalled, and the loop will run jobs again.
    private var isScheduled = false
    /// The loop's name in messages, once its thread has ended.
    private var formerLoop: String?

    // The loop's own thread only.

    /// The jobs being run, from `next` on. A run that is nested in a job continues with them.
    @exclusivity(unchecked) private var batch: [Entry] = []
    private var next = 0

    /// For comparison only.
    private let loopID: ObjectIdentifier
    private let isClosed = Atomic(false)
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

    /// The source stays in the common modes until the thread ends: jobs may come at any time, so that there is always
    /// something to wait for.
    func makeSource() -> GRunLoop.Source {
        let source = GRunLoop.Source { [unowned self] in runJobs() }
        self.source = source
        return source
    }

    /// Whether the calling thread is the loop's.
    var isOnLoop: Bool {
        guard let current = ThreadLoops.peek, !isClosed.load(ordering: .relaxed) else { return false }
        return ObjectIdentifier(current) == loopID
    }

    /// The loop, on its own thread, where virtual time may have another be the current one; nil elsewhere.
    var loopOfThisThread: GRunLoop? {
        var found = ThreadLoops.peek
        while let loop = found, ObjectIdentifier(loop) != loopID { found = loop.virtualTime?.hidden }
        return found
    }

    /// What the loop is called in messages.
    var loopName: String { lock.withLock { formerLoop } ?? "the run loop \(hexAddress(loopID))" }

    /// Any thread. A burst of jobs wakes the loop once.
    func append(_ job: UnownedJob, _ kind: Kind, for executor: GRunLoop.Executor) {
        // A forked child has no thread that could run the job, and an executor cannot refuse one.
        guard !Fork.refuses("Executor.enqueue") else { return }
        var ended: String?
        var wakes = false
        lock.lock()
        if let formerLoop {
            ended = formerLoop
        } else {
            incoming.append(Entry(job: job, kind: kind, executor: executor))
            wakes = !isScheduled
            isScheduled = true
        }
        lock.unlock()
        if let ended { refuse(job, executor, ended) }
        if wakes { wake() }
    }

    private func wake() {
        // The thread may end meanwhile: it runs the remaining jobs itself, and the source has no loop any more.
        source?.signalAnsweringLoop()?.wakeUpEveryRun()
    }

    // MARK: On the loop's thread

    /// Runs the jobs that are queued now. Jobs that they enqueue wait for the next pass.
    private func runJobs() {
        var quota = lock.withLock {
            isScheduled = false
            return refillLocked()
        }
        while quota > 0, let entry = take() {
            quota -= 1
            callOutToJob(entry.job, entry.kind, of: entry.executor)
            if quota > 0, loop.isSliceSpent() { break }
        }
        let hasMore = lock.withLock { () -> Bool in
            isScheduled = next < batch.count || !incoming.isEmpty
            // The signal was for a nested run, and there was none. Cleared under the lock, so that no new job's signal
            // is lost.
            if !isScheduled { source?.clearSignal() }
            return isScheduled
        }
        if hasMore { source?.signal() }
        // Releases the jobs' executors.
        if next == batch.count { clear() }
    }

    private func clear() {
        batch.removeAll(keepingCapacity: batch.capacity <= 1024)
        next = 0
    }

    /// Returns how many jobs this call runs.
    private func refillLocked() -> Int {
        if next == batch.count {
            clear()
            swap(&batch, &incoming)
        }
        return batch.count - next
    }

    private func take() -> Entry? {
        guard next < batch.count else { return nil }
        let entry = batch[next]
        next += 1
        // The job may nest a run, which finds the rest only if the source is signalled.
        if next < batch.count { source?.signal() }
        return entry
    }

    // MARK: The end

    /// The thread is ending, but its loop is not dead yet: runs the remaining jobs, and those that they enqueue.
    /// Afterwards none is accepted.
    func close(_ description: String) {
        if isClosed.load(ordering: .relaxed) { return }
        // Limited: a task that enqueues itself for ever would keep its thread from ending, without a message.
        for _ in 0..<10_000 {
            let left = lock.withLock { () -> Int in
                let left = refillLocked()
                if left == 0 {
                    formerLoop = description
                    isClosed.store(true, ordering: .relaxed)
                }
                return left
            }
            if left == 0 { return }
            while let entry = take() { callOutToJob(entry.job, entry.kind, of: entry.executor) }
        }
        Log.fatal(
            "Executor",
            "the thread of \(description) is ending, but its jobs go on enqueuing others; end the "
                + "tasks that live there before the thread")
    }

    /// An executor cannot refuse a job, and a job that is dropped silently leaves its task suspended for ever.
    private func refuse(_ job: UnownedJob, _ executor: GRunLoop.Executor, _ ended: String) {
        // A plug-in with its own copy of the library must not end the program that has loaded it: the task stays
        // suspended, with a message.
        if OneCopy.other != nil { return OneCopy.explain("Executor") }
        let label = executor.label.map { " for " + quoted($0) } ?? ""
        Log.fatal(
            "Executor",
            "\(job)\(label) cannot run any more: the thread of \(ended) has ended. End what lives "
                + "on the loop (actors, tasks with its executor) before its thread")
    }
}

/// Its name is for debuggers and profilers: see the head of Pass.swift.
@inline(never) func callOutToJob(_ job: UnownedJob, _ kind: JobQueue.Kind, of executor: GRunLoop.Executor) {
    switch kind {
    case .actor: job.runSynchronously(on: executor.asUnownedSerialExecutor())
    case .task: job.runSynchronously(on: executor.asUnownedTaskExecutor())
    }
    cgrun_keep_frame()
}
