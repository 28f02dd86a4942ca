// SPDX-License-Identifier: Apache-2.0
// The lock itself: nobody is let in beside another, and whoever sleeps for it is woken.

import Glibc
import TestSupport
import Testing

@testable import GRunLoop

@Suite("Locks", .serialized) struct LockTests {
    private final class Guarded: @unchecked Sendable {
        let lock = Lock.take()
        /// Guarded by it.
        var count = 0

        deinit { Lock.giveBack(lock) }
    }

    @Test("many threads take turns, however long some of them hold it", arguments: [2, 3, 8])
    func exclusion(threads: Int) {
        let guarded = Guarded()
        let rounds = 60_000 / threads
        let workers = (0..<threads).map { number in
            LoopThread { _ in
                for round in 0..<rounds {
                    guarded.lock.withLock {
                        guarded.count += 1
                        // The others give up looking, and sleep.
                        if (round + number) % 101 == 0 { usleep(50) }
                    }
                    // Now they come while it is being given up, now while nobody has it.
                    if round % 7 == number { for _ in 0..<round % 300 { _ = guarded.lock } }
                }
            }
        }
        for worker in workers { worker.join() }
        #expect(guarded.lock.withLock { guarded.count } == threads * rounds)
    }

    @Test("whoever sleeps for it is woken, each time, in any number", arguments: [1, 2, 5])
    func nobodyIsForgotten(sleepers: Int) {
        let guarded = Guarded()
        let rounds = 400
        let (go, done) = (Semaphore(), Semaphore())
        let threads = (0..<sleepers).map { _ in
            LoopThread { _ in
                for _ in 0..<rounds {
                    go.wait()
                    guarded.lock.withLock { guarded.count += 1 }
                    done.signal()
                }
            }
        }
        for round in 0..<rounds {
            guarded.lock.lock()
            for _ in 0..<sleepers { go.signal() }
            // Longer than anybody looks; in some rounds they are just about to sleep.
            usleep(UInt32(round % 60))
            guarded.lock.unlock()
            for _ in 0..<sleepers { done.wait() }
        }
        for thread in threads { thread.join() }
        #expect(guarded.count == sleepers * rounds)
    }
}
