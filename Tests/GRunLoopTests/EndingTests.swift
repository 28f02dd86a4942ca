// SPDX-License-Identifier: Apache-2.0
// The end of a loop, and the tasks that run on it or await it.

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite("The end of a loop and the tasks on it") struct EndingTests {
    @Test("each form of await ends with its task or its loop, in every order, on the living loop's thread")
    func endings() async throws {
        // Uses a fresh thread, because the pool has few threads, which the tasks of other tests need.
        let child = try await onFreshThread(timeout: Patience.normal * 10) { _ in
            runChild("endings", timeout: Patience.normal * 10)
        }
        #expect(child.output == ["each task has ended"])
        #expect(child.status == 0 && child.signal == nil, "\(child.errors.suffix(500))")
    }

    @Test("late jobs run one at a time, in order, isolated to their actors, and the first one is logged")
    func lateJobs() {
        let child = runChild("late-jobs")
        #expect(
            child.output == [
                "made", "isolated: false", "calls: true, true", "items: true", "tasks: true", "run: true",
                "isolated: false", "ended: true",
            ])
        #expect(child.status == 0)
        #expect(child.errors.components(of: "still has to run").count == 2, "\(child.errors)")
        for part in ["run loop 0x", "of the thread \"short-lived\"", "has ended"] {
            #expect(child.errors.contains(part), "\(child.errors)")
        }
    }

    @Test("a task that yields forever does not prevent its thread's end, and continues in late jobs")
    func jobsWithoutEnd() {
        let child = runChild("jobs-without-end")
        #expect(child.output == ["joined", "ended: true"])
        #expect(child.status == 0, "\(child.errors)")
    }

    @Test("a late job resumes a task that runs on a thread and awaits the thread's end, with a message")
    func awaitsItself() {
        let child = runChild("await-itself")
        #expect(child.output == ["back, isolated: true", "ended: true"])
        #expect(child.errors.contains("of the thread \"awaits itself\" has ended"), "\(child.errors)")
    }

    @Test("stopAndWait() returns after the last callout, also for a thread that has ended")
    func stopAndWait() async throws {
        let worker = try GRunLoop.Thread(name: "stopped")
        let hasEnded = Flag()
        try worker.loop.addEndHandler {
            usleep(20_000)
            hasEnded.set()
        }
        await worker.stopAndWait()
        #expect(hasEnded.isSet)
        await worker.stopAndWait()
    }

    @Test("until its last step, the ending thread is isolated to the loop: in cancel closures and in their jobs")
    func lastAct() async throws {
        let record = Recorder()
        let worker = try GRunLoop.Thread(name: "last act")
        let executor = worker.loop.executor
        let id = await worker.loop.run { threadID }
        worker.loop.add(
            GRunLoop.Source(
                cancel: { _, _ in
                    record("cancelled: \(threadID == id && executor.isIsolatingCurrentContext() == true)")
                    Task(executorPreference: executor) {
                        record("job: \(threadID == id && executor.isIsolatingCurrentContext() == true)")
                    }
                }, perform: {}), forMode: .default)
        await worker.stopAndWait()
        #expect(record.lines == ["cancelled: true", "job: true"])
    }

    @Test("an executor that is created while the loop ends runs its jobs on the ending thread, each once")
    func executorMadeAtTheEnd() {
        let (ran, elsewhere) = (Counter(), Counter())
        for _ in 0..<50 {
            let thread = startThread {
                let id = threadID
                let source = GRunLoop.Source(
                    cancel: { loop, _ in
                        for _ in 0..<20 {
                            Task(executorPreference: loop.executor) {
                                ran.increment()
                                if threadID != id { elsewhere.increment() }
                            }
                        }
                    }, perform: {})
                GRunLoop.current.add(source, forMode: .default)
            }
            pthread_join(thread, nil)
        }
        #expect(ran.value == 1000)
        #expect(elsewhere.value == 0)
    }

    @Test("a task of another loop that is cancelled while it waits is resumed on its own loop")
    func cancelledElsewhere() async throws {
        let (awaited, home) = (try GRunLoop.Thread(name: "awaited"), try GRunLoop.Thread(name: "home"))
        let id = await home.loop.run { threadID }
        for _ in 0..<100 {
            let isWaiting = Flag()
            let task = Task(executorPreference: home.loop.executor) {
                isWaiting.set()
                try? await awaited.loop.sleep(for: .seconds(3600))
                return threadID == id
            }
            while !isWaiting.isSet { await Task.yield() }
            // The job is enqueued while the awaited loop does nothing.
            task.cancel()
            #expect(await task.value)
        }
        await awaited.stopAndWait()
        await home.stopAndWait()
    }
}

extension String {
    /// The parts of the string between the occurrences of a separator.
    fileprivate func components(of separator: String) -> [String] {
        var parts = [""]
        var rest = self[...]
        while let first = rest.first {
            if rest.hasPrefix(separator) {
                parts.append("")
                rest = rest.dropFirst(separator.count)
            } else {
                parts[parts.count - 1].append(first)
                rest = rest.dropFirst()
            }
        }
        return parts
    }
}
