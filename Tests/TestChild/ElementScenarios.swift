// SPDX-License-Identifier: Apache-2.0
// Checks where tasks resume that await a loop. Counts the jobs that Swift's runtime passes to its own threads.

import GRunLoop
import Glibc
import Synchronization
import TestSupport

/// The number of jobs that ran on the runtime's own threads.
private let jobsElsewhere = Atomic(0)

/// For a function of two pointers, Swift's calling convention equals C's.
private typealias EnqueueGlobal = @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void

private let countJob: EnqueueGlobal = { job, original in
    jobsElsewhere.add(1, ordering: .relaxed)
    unsafeBitCast(original, to: (@convention(c) (UnsafeMutableRawPointer) -> Void).self)(job)
}

private func countJobsElsewhere() {
    guard let hook = dlsym(nil, "swift_task_enqueueGlobal_hook") else { fatalError("Swift's runtime has no such hook") }
    hook.assumingMemoryBound(to: EnqueueGlobal?.self).pointee = countJob
}

private let elements = 200

/// Measures many rounds. The first round does not count, because it may start elsewhere.
private func report(
    _ name: String, on thread: pid_t, isolation: isolated (any Actor)?,
    _ round: nonisolated(nonsending) () async throws -> Void
) async rethrows {
    try await round()
    let before = jobsElsewhere.load(ordering: .relaxed)
    var away = 0
    for _ in 0..<elements {
        try await round()
        if threadID != thread { away += 1 }
    }
    say(
        "\(name): \(jobsElsewhere.load(ordering: .relaxed) - before) jobs elsewhere, \(away) rounds off the loop's "
            + "thread"
    )
}

private func report<Elements: AsyncSequence>(
    _ name: String, of sequence: Elements, on thread: pid_t, isolation: isolated (any Actor)?
) async throws {
    var seen = -1
    var before = 0
    var away = 0
    for try await _ in sequence {
        seen += 1
        if seen == 0 { before = jobsElsewhere.load(ordering: .relaxed) }
        if threadID != thread { away += 1 }
        if seen == elements { break }
    }
    say(
        "\(name): \(jobsElsewhere.load(ordering: .relaxed) - before) jobs elsewhere, \(away) rounds off the loop's "
            + "thread"
    )
}

private func reportAll(_ loop: GRunLoop, on thread: pid_t, isolation: isolated (any Actor)?) async throws {
    let pipe = Pipe()
    pipe.send()
    try await report("readiness", of: loop.readiness(of: pipe.readEnd), on: thread, isolation: isolation)
    try await report("ticks", of: loop.ticks(every: .microseconds(100)), on: thread, isolation: isolation)
    try await report("activities", of: loop.activities(.beforeTimers), on: thread, isolation: isolation)
    var ticks = loop.ticks(every: .microseconds(100)).makeAsyncIterator()
    await report("next", on: thread, isolation: isolation) { _ = await ticks.next() }
    try await report("sleep", on: thread, isolation: isolation) { try await loop.sleep(for: .microseconds(100)) }
    try await report("clock", on: thread, isolation: isolation) {
        try await loop.clock.sleep(until: loop.clock.now.advanced(by: .microseconds(100)))
    }
    await report("run", on: thread, isolation: isolation) { await loop.run {} }
}

private actor Resident {
    private nonisolated let executor: GRunLoop.Executor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(on loop: GRunLoop) {
        executor = GRunLoop.Executor(loop, label: "Resident")
    }

    func report(_ loop: GRunLoop) async throws {
        try await reportAll(loop, on: threadID, isolation: self)
    }
}

func elementsOfAnActor() throws {
    try reporting { loop in try await Resident(on: loop).report(loop) }
}

func elementsOfATask() throws {
    try reporting { loop in
        try await withTaskExecutorPreference(loop.executor) {
            try await reportAll(loop, on: await loop.run { threadID }, isolation: nil)
        }
    }
}

private func reporting(_ body: @escaping @Sendable (GRunLoop) async throws -> Void) throws {
    countJobsElsewhere()
    let worker = try GRunLoop.Thread()
    let isDone = Flag()
    Task {
        try await body(worker.loop)
        isDone.set()
    }
    precondition(isDone.wait())
}
