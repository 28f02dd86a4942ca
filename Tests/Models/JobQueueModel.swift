// SPDX-License-Identifier: Apache-2.0
// The jobs of tasks that prefer a loop's executor, with runs that are nested in jobs.

@testable import GRunLoop

final class JobQueueModel: Model, @unchecked Sendable {
    static let name = "JobQueue"
    static let length = 100

    /// A task of one job, which may begin another one.
    private struct Job {
        var number = 0
        /// The number of following tasks, each started by the previous one.
        var followers: Int
        var nests: Bool
    }

    private let loop = GRunLoop.current
    /// Always due.
    private let timer = GRunLoop.Timer(interval: .nanoseconds(1), repeats: true) { _ in }
    /// The numbers of the tasks whose jobs are enqueued.
    private var waiting: [Int] = []
    private var made = 0
    private var depth = 0
    private var problem: String?

    init(_ random: inout Random) {
        // With a slice of zero, each pass runs one job if something else is ready.
        let isCut = random.once(in: 2)
        loop.timeSlice = isCut ? .zero : .milliseconds(4)
        if isCut { loop.add(timer, forMode: .default) }
    }

    func step(_ random: inout Random) throws {
        switch random.below(10) {
        case 0...6: start(Job(followers: random.below(4), nests: random.once(in: 4)))
        case 7, 8: run()
        default: for _ in 0..<random.below(30) { start(Job(followers: 0, nests: random.once(in: 8))) }
        }
        if let problem { throw Mismatch(text: problem) }
    }

    func finish() throws {
        defer { timer.invalidate() }
        for _ in 0..<10_000 where !waiting.isEmpty && problem == nil { run() }
        if let problem { throw Mismatch(text: problem) }
        try expect(waiting.count, is: 0, "jobs that are never run")
        try expect(Counted.count, is: 0, "tasks that were not released")
    }

    private func run() {
        Journal.note("run")
        _ = loop.run(mode: .default, for: .zero)
    }

    private func start(_ kind: Job) {
        made += 1
        Journal.note("start task \(made), \(kind.followers) follow\(kind.nests ? ", nests a run" : "")")
        let job = Job(number: made, followers: kind.followers, nests: kind.nests)
        let counted = Counted(made)
        waiting.append(made)
        // Only the queue retains the executor of its jobs.
        Task.detached(executorPreference: GRunLoop.Executor(loop)) { [self] in
            execute(job)
            withExtendedLifetime(counted) {}
        }
    }

    private func execute(_ job: Job) {
        Journal.note("job of task \(job.number)")
        let expected = waiting.isEmpty ? nil : waiting.removeFirst()
        if job.number != expected, problem == nil {
            problem = "a job of task \(job.number) was run, expected task \(expected ?? 0)"
        }
        if job.nests, depth < 3 {
            depth += 1
            run()
            depth -= 1
        }
        if job.followers > 0 { start(Job(followers: job.followers - 1, nests: job.nests)) }
    }
}
