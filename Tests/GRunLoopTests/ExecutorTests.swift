// SPDX-License-Identifier: Apache-2.0
// Actors and tasks that run on a loop.

import GRunLoop
import Glibc
import TestSupport
import Testing

/// An actor that runs on a loop, and reports its thread.
private actor Resident {
    private nonisolated let executor: GRunLoop.Executor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private(set) var calls: [Int] = []

    init(on loop: GRunLoop) {
        executor = GRunLoop.Executor(loop, label: "Resident")
    }

    func thread() -> pid_t { threadID }
    func note(_ number: Int) { calls.append(number) }
    nonisolated func countIfHere() -> Int { assumeIsolated { $0.calls.count } }
    func call(_ body: @Sendable () -> Void) { body() }

    /// Returns true if the end of the loop's thread ends a sleep, on that thread.
    func isToldOfTheEnd(of loop: GRunLoop) async -> Bool {
        let thread = threadID
        do {
            try await loop.sleep(for: .seconds(3600))
            return false
        } catch {
            return error is GRunLoop.LoopEndedError && threadID == thread
        }
    }
}

private actor Plain {
    func thread() -> pid_t { threadID }
}

@Suite("Executors") struct ExecutorTests {
    @Test("an actor's jobs run on the thread of its loop, in order")
    func actor() async throws {
        try await withWorker { loop in
            let resident = Resident(on: loop)
            let thread = await loop.run { threadID }
            #expect(await resident.thread() == thread)
            #expect(thread != threadID)
            for number in 0..<1000 { await resident.note(number) }
            #expect(await resident.calls == Array(0..<1000))
        }
    }

    @Test("a task with the executor as its preference runs its nonisolated parts on the loop")
    func preference() async throws {
        try await withWorker { loop in
            let thread = await loop.run { threadID }
            let seen = await withTaskExecutorPreference(loop.executor) { () async -> [pid_t] in
                let first = await currentThread()
                try? await Task.sleep(for: .milliseconds(2))
                return [first, await currentThread()]
            }
            #expect(seen == [thread, thread])
        }
    }

    @Test("an actor without an executor of its own runs on the loop too when the task prefers it")
    func defaultActor() async throws {
        try await withWorker { loop in
            let thread = await loop.run { threadID }
            let plain = Plain()
            let resident = Resident(on: loop)
            let seen = await withTaskExecutorPreference(loop.executor) { () async -> [pid_t] in
                [await plain.thread(), await resident.thread(), await plain.thread(), await MainActor.run { 0 }]
            }
            #expect(seen == [thread, thread, thread, 0])
            #expect(await plain.thread() != thread)
        }
    }

    @Test("isolation checks succeed on the loop's thread, in any callout, and nowhere else")
    func isolation() async throws {
        let worker = try GRunLoop.Thread(name: "isolation")
        let resident = Resident(on: worker.loop)
        await resident.note(1)
        #expect(worker.loop.executor.isIsolatingCurrentContext() == false)
        let inBlock = await withCheckedContinuation { continuation in
            worker.loop.async {
                continuation.resume(
                    returning: (resident.countIfHere(), worker.loop.executor.isIsolatingCurrentContext()))
            }
        }
        #expect(inBlock.0 == 1)
        #expect(inBlock.1 == true)
        let inTimer = await withCheckedContinuation { continuation in
            let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: false) { _ in
                continuation.resume(returning: resident.countIfHere())
            }
            worker.loop.add(timer, forMode: .default)
        }
        #expect(inTimer == 1)
        let other = try GRunLoop.Thread(name: "other")
        let elsewhere = await other.loop.run { worker.loop.executor.isIsolatingCurrentContext() }
        #expect(elsewhere == false)
        for thread in [worker, other] {
            thread.stop()
            await thread.waitUntilEnded()
        }
    }

    @Test("all executors of a loop share one isolation; executors of two loops do not")
    func oneIsolation() async throws {
        let loop = GRunLoop.main
        let (first, second) = (GRunLoop.Executor(loop), GRunLoop.Executor(loop, label: "x"))
        #expect(first.isSameExclusiveExecutionContext(other: second))
        #expect(loop.executor === loop.executor)
        let worker = try GRunLoop.Thread()
        #expect(!first.isSameExclusiveExecutionContext(other: worker.loop.executor))
        worker.stop()
        await worker.waitUntilEnded()
    }

    @Test("jobs enqueued while the loop sleeps wake it once, and it sleeps again")
    func oneWakeUp() async throws {
        try await onFreshThread { loop in
            let passes = Counter()
            loop.on(.afterWaiting) { _ in passes.increment() }
            let executor = loop.executor
            let ran = Counter()
            loop.on(.beforeWaiting, repeats: false) { _ in
                // Another thread enqueues a hundred jobs in one burst, while this thread is about to sleep.
                onPlainThread {
                    for _ in 0..<100 { Task(executorPreference: executor) { ran.increment() } }
                }
            }
            #expect(loop.runUntilAsleep() == .stopped)
            #expect(ran.value == 100)
            // The burst takes one pass, and so does the stop.
            #expect(passes.value == 2)
        }
    }

    @Test("jobs run in every common mode, and wait while a private mode runs")
    func modes() async throws {
        try await onFreshThread { loop in
            let executor = loop.executor
            try loop.addCommonMode("common too")
            loop.keepAlive("private")
            let ran = Counter()
            Task(executorPreference: executor) { ran.increment() }
            #expect(loop.run(mode: "private", for: .milliseconds(5)) == .timedOut)
            #expect(ran.value == 0)
            #expect(loop.run(mode: "common too", for: .seconds(5), returningAfterSourceHandled: true) == .handledSource)
            #expect(ran.value == 1)
        }
    }

    @Test("a run that is nested in a job continues with the later jobs, in order")
    func nested() async throws {
        try await onFreshThread { loop in
            let executor = loop.executor
            let record = Recorder()
            let startNested: @Sendable () -> Void = {
                record("nested begins")
                loop.run(for: .seconds(5), returningAfterSourceHandled: true)
                record("nested ends")
            }
            Task(executorPreference: executor) { startNested() }
            for number in 1...3 { Task(executorPreference: executor) { record("job \(number)") } }
            loop.run(for: .zero)
            #expect(record.take() == ["nested begins", "job 1", "job 2", "job 3", "nested ends"])
            // The queue is empty, so the run calls nothing.
            #expect(loop.run(for: .zero) == .timedOut)
        }
    }

    @Test("a job that another job enqueues runs in the next pass, after the observers are called")
    func nextPass() async throws {
        try await onFreshThread { loop in
            let executor = loop.executor
            let record = Recorder()
            loop.on(.beforeSources) { _ in record("pass") }
            Task(executorPreference: executor) {
                record("first")
                Task(executorPreference: executor) { record("second") }
            }
            loop.run(for: .zero)
            loop.run(for: .zero)
            #expect(record.lines == ["pass", "first", "pass", "second"])
        }
    }

    @Test("an endless series of jobs does not starve timers, sources or contexts")
    func fairness() async throws {
        try await onFreshThread { loop in
            let executor = loop.executor
            let hasEnded = Flag()
            let count = Counter()
            @Sendable func enqueue() {
                Task(executorPreference: executor) {
                    count.increment()
                    if !hasEnded.isSet { enqueue() }
                }
            }
            enqueue()
            let fires = Counter()
            let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { _ in
                if fires.increment() == 10 { loop.stop() }
            }
            loop.add(timer, forMode: .default)
            #expect(loop.run(for: Patience.normal) == .stopped)
            #expect(count.value > 10)
            hasEnded.set()
            loop.run(for: .milliseconds(5))
        }
    }

    @Test("queued jobs run on their thread when it ends, and so does the rest of a task that awaits the loop")
    func threadEnds() async throws {
        let record = Recorder()
        let worker = LoopThread { loop in
            let executor = loop.executor
            Task(executorPreference: executor) {
                record("queued, \(executor.isIsolatingCurrentContext() == true)")
                Task(executorPreference: executor) {
                    record("enqueued by it, \(executor.isIsolatingCurrentContext() == true)")
                }
                do {
                    try await loop.sleep(for: .seconds(3600))
                } catch {
                    record("\(error is GRunLoop.LoopEndedError)")
                }
            }
            // The thread ends without a run.
        }
        worker.join()
        #expect(record.lines == ["queued, true", "true", "enqueued by it, true"])
    }

    @Test("the end of the thread ends the sleep of a task on its loop, and the task ends there")
    func sleeperAtTheEnd() async throws {
        let worker = try GRunLoop.Thread(name: "sleeper")
        let loop = worker.loop
        let task = Task(executorPreference: loop.executor) { () -> Bool in
            do {
                try await loop.sleep(for: .seconds(3600))
                return false
            } catch {
                return error is GRunLoop.LoopEndedError
            }
        }
        // The task sleeps as soon as its timer is there.
        while loop.nextFireDate(forMode: .default) == nil { await Task.yield() }
        worker.stop()
        #expect(await task.value)
        await worker.waitUntilEnded()
    }

    @Test("the end of the thread ends the sleep of the loop's actor, on that thread and before its jobs are closed")
    func sleepingActorAtTheEnd() async throws {
        for _ in 0..<20 {
            let worker = try GRunLoop.Thread(name: "sleeping actor")
            let resident = Resident(on: worker.loop)
            let isAnnounced = Task { await resident.isToldOfTheEnd(of: worker.loop) }
            while worker.loop.nextFireDate(forMode: .default) == nil { await Task.yield() }
            worker.stop()
            #expect(await isAnnounced.value)
            await worker.waitUntilEnded()
        }
    }

    @Test("checkIsolated stops the process on another thread, and names the label")
    func checkIsolated() {
        let child = runChild("check-isolated-elsewhere")
        #expect(child.signal != nil)
        #expect(child.output == ["on its thread: passed"])
        #expect(
            child.errors.contains("GRunLoop.Executor \"Checked\": the code needs the thread of the run loop"),
            "\(child.errors)")
    }

    @Test(
        "a million jobs from eight threads, on the executor and the main queue: each runs once, in order")
    func stress() {
        let child = runChild("million-jobs", timeout: Patience.normal * 12)
        let expected = [false, true].map {
            "hosted \($0): every job, 0 out of order, 0 elsewhere, timers and sources went on, 0 wake-ups afterwards"
        }
        #expect(child.output == expected, "\(child.errors)")
        #expect(child.status == 0)
    }

    @Test("a closure on the loop's thread passes its value, typed errors, task-local values and cancellation")
    func runOnLoop() async throws {
        struct Refusal: Error, Equatable {
            let number: Int
        }
        try await withWorker { loop in
            let (id, here) = await loop.run { (threadID, loop.executor.isIsolatingCurrentContext()) }
            #expect(id != threadID)
            #expect(here == true)
            do throws(Refusal) {
                try await loop.run { () throws(Refusal) in throw Refusal(number: 4) }
                Issue.record("nothing was thrown")
            } catch {
                #expect(error == Refusal(number: 4))
            }
            #expect(await Local.$value.withValue(7) { await loop.run { Local.value } } == 7)
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await loop.run { Task.isCancelled }
            }
            #expect(await task.value)
        }
    }
}

private enum Local {
    @TaskLocal static var value = 0
}

@concurrent private func currentThread() async -> pid_t { threadID }
