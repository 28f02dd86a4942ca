// SPDX-License-Identifier: Apache-2.0
// The ways to wait for the end of a worker thread.

import GRunLoop
import Glibc
import TestSupport
import Testing

/// Holds the calling thread, when it ends, in a destructor of thread-specific data, until the flag is set.
private final class HeldDestructor: Sendable {
    let isHeld = Flag()
    let leave = Flag()
    let wasLetGo = Flag()

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key) { value in
            guard let value else { return }
            let held = Unmanaged<HeldDestructor>.fromOpaque(value).takeRetainedValue()
            held.isHeld.set()
            if held.leave.wait() { held.wasLetGo.set() }
        }
        return key
    }()

    func holdCallingThread() {
        pthread_setspecific(Self.key, Unmanaged.passRetained(self).toOpaque())
    }
}

@Suite("Worker threads: waiting for the end") struct ThreadWaitTests {
    @Test(
        "waitUntilEnded() blocks no thread, and returns before the thread's destructors, which join() waits for"
    )
    func blocksNothing() async throws {
        let worker = try GRunLoop.Thread(name: "held")
        let held = HeldDestructor()
        await worker.loop.run { held.holdCallingThread() }
        let joined = Flag()
        let joiner = startThread {
            worker.join()
            joined.set()
        }
        // Uses a loop of its own, because a blocked executor of the caller would delay the rest of the test.
        let other = try GRunLoop.Thread(name: "waits")
        let waiting = Task(executorPreference: other.loop.executor) { await worker.waitUntilEnded() }
        worker.stop()
        await waiting.value
        #expect(held.isHeld.wait())
        // Waits once more, after the end.
        await worker.waitUntilEnded()
        #expect(!joined.isSet)
        #expect(await other.loop.run { true })
        held.leave.set()
        join(joiner)
        #expect(held.wasLetGo.isSet, "somebody has waited for the destructor")
        other.stop()
        await other.waitUntilEnded()
    }

    @Test("a thousand callers may wait, cancelled or not: each returns once, after the last callout")
    func thousand() async throws {
        let worker = try GRunLoop.Thread(name: "awaited")
        let hasStopped = Flag()
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    if number % 2 == 0 { withUnsafeCurrentTask { $0?.cancel() } }
                    await worker.waitUntilEnded()
                    return hasStopped.isSet
                }
            }
            worker.loop.async {
                worker.stop()
                hasStopped.set()
            }
            var count = 0
            for await isAfter in group where isAfter { count += 1 }
            #expect(count == 1000)
        }
    }

    @Test("an actor of another loop that waits is resumed on its loop")
    func onItsLoop() async throws {
        let other = try GRunLoop.Thread(name: "waits")
        let waiter = Waiter(on: other.loop)
        for _ in 0..<10 {
            let worker = try GRunLoop.Thread(name: "awaited")
            async let isThere = waiter.comesBack(after: worker)
            worker.stop()
            #expect(await isThere)
        }
        other.stop()
        await other.waitUntilEnded()
    }
}

private actor Waiter {
    private nonisolated let executor: GRunLoop.Executor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(on loop: GRunLoop) {
        executor = GRunLoop.Executor(loop, label: "Waiter")
    }

    func comesBack(after worker: GRunLoop.Thread) async -> Bool {
        await worker.waitUntilEnded()
        return executor.isIsolatingCurrentContext() == true
    }
}
