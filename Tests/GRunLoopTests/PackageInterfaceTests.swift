// SPDX-License-Identifier: Apache-2.0
// What the core offers to the other products of the package, used as they use it: without @testable.

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite struct PackageInterfaceTests {
    @Test("a loop is current on its own thread, and in virtual time it is not, but the thread is still its own")
    func whoCalls() async throws {
        try await onFreshThread { loop in
            #expect(loop.isCurrent && loop.isOfThisThread && loop.isCalledOnOwnThread(by: "test"))
            #expect(!GRunLoop.main.isCurrent && !GRunLoop.main.isOfThisThread)
            GRunLoop.withVirtualTime { time in
                #expect(time.loop.isCurrent && time.loop.isOfThisThread)
                #expect(!loop.isCurrent && loop.isOfThisThread)
            }
        }
    }

    @Test("a time in nanoseconds is the nearest one, at least one of a positive span, and the last that there is")
    func times() {
        #expect(Duration.seconds(-2).wholeNanoseconds == -2_000_000_000)
        #expect(Duration(secondsComponent: 0, attosecondsComponent: 1).wholeNanoseconds == 1)
        #expect(Duration.seconds(Int64.max).wholeNanoseconds == .max)
        #expect(GRunLoop.distantFuture.wholeNanoseconds == .max)
        #expect(GRunLoop.Instant(wholeNanoseconds: 12_345).wholeNanoseconds == 12_345)
    }

    @Test("what another product awaits reaches a task of the loop there, and what came meanwhile is one element")
    func awaited() async throws {
        let ceased = Shared(0)
        let (isOwnThread, found) = try await withWorker { loop in
            let awaited = GRunLoop.Awaited<Int>(on: loop, merging: +) { ceased.update { $0 += 1 } }
            let task = Task(executorPreference: loop.executor) { () -> (pthread_t, [Int?]) in
                let first = await awaited.next()
                let thread = pthread_self()
                // These two wait for nobody, and are one.
                awaited.send(3)
                awaited.send(4)
                let second = await awaited.next()
                awaited.end()
                return (thread, [first, second, await awaited.next()])
            }
            // Behind the job in which the task begins to wait.
            await loop.run {}
            loop.async { awaited.send(1) }
            let (thread, found) = await task.value
            let own = await loop.run { pthread_self() }
            #expect(!awaited.hasLoopEnded)
            return (thread == own, found)
        }
        #expect(isOwnThread && found == [1, 7, nil])
        #expect(ceased.value == 1)
    }

    @Test("what is awaited ceases once: when the task is cancelled, or when the loop's thread ends")
    func ceases() async throws {
        let ceased = Shared<[String]>([])
        let last = try await withWorker { loop in
            let cancelled = GRunLoop.Awaited<Void>(on: loop, merging: { _, newer in newer }) {
                ceased.update { $0.append("cancelled") }
            }
            let task = Task { await cancelled.next() == nil }
            task.cancel()
            #expect(await task.value && !cancelled.hasLoopEnded)
            cancelled.end()
            return GRunLoop.Awaited<Void>(on: loop, merging: { _, newer in newer }) {
                ceased.update { $0.append("loop ended") }
            }
        }
        #expect(await last.next() == nil && last.hasLoopEnded)
        last.end()
        #expect(ceased.value == ["cancelled", "loop ended"])
    }
}
