// SPDX-License-Identifier: Apache-2.0
// The lock itself: one thread holds it at a time, and releasing it wakes a sleeping thread.

import Glibc
import Synchronization
import TestSupport
import Testing

@testable import GRunLoop

@Suite("Locks", .serialized) struct LockTests {
    private final class Guarded: @unchecked Sendable {
        let lock = Lock.take()
        /// The lock protects the count.
        var count = 0

        deinit { Lock.giveBack(lock) }
    }

    @Test("many threads take turns, however long some of them hold the lock", arguments: [2, 3, 8])
    func exclusion(threads: Int) {
        let guarded = Guarded()
        let rounds = 60_000 / threads
        let workers = (0..<threads).map { number in
            LoopThread { _ in
                for round in 0..<rounds {
                    guarded.lock.withLock {
                        guarded.count += 1
                        // The other threads stop spinning, and sleep.
                        if (round + number) % 101 == 0 { usleep(50) }
                    }
                    // Varies the delay, so that threads find the lock held, being released, or free.
                    if round % 7 == number { for _ in 0..<round % 300 { _ = guarded.lock } }
                }
            }
        }
        for worker in workers { worker.join() }
        #expect(guarded.lock.withLock { guarded.count } == threads * rounds)
    }

    @Test("every thread that sleeps for the lock is woken, each time, in any number", arguments: [1, 2, 5])
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
            guarded.lock.withLock {
                for _ in 0..<sleepers { go.signal() }
                // Holds the lock longer than a thread spins. In some rounds the threads are just about to sleep.
                usleep(UInt32(round % 60))
            }
            for _ in 0..<sleepers { done.wait() }
        }
        for thread in threads { thread.join() }
        #expect(guarded.count == sleepers * rounds)
    }

    /// While stores wait for memory, a processor may execute later loads first. The sleeper's barrier prevents that.
    @Test(
        "a thread that is about to sleep for the lock while it is released does not sleep on",
        .enabled(if: sysconf(Int32(_SC_NPROCESSORS_ONLN)) > 1))
    func givenUpJustNow() {
        let guarded = Guarded()
        let wanted = Atomic(0)
        let had = Atomic(0)
        let other = LoopThread { _ in
            var round = 0
            while true {
                round += 1
                while wanted.load(ordering: .acquiring) == round - 1 {}
                if wanted.load(ordering: .acquiring) < 0 { return }
                guarded.lock.withLock { guarded.count += 1 }
                had.store(round, ordering: .releasing)
            }
        }
        let size = 16 << 20
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: size)
        memory.initialize(repeating: 0, count: size)
        var random = SeededRandom(seed: 1)
        var round = 0
        let end = GRunLoop.now + .seconds(1)
        while GRunLoop.now < end {
            round += 1
            guarded.lock.withLock {
                wanted.store(round, ordering: .releasing)
                let number = random.next()
                // Somewhere in this range the other thread stops spinning.
                for _ in 0..<(number >> 40) % 400 { _ = had.load(ordering: .relaxed) }
                for line in 0..<8 as Range<UInt64> { memory[Int((number >> (8 + 5 * line)) & 0x3FFF) * 1024] = 1 }
            }
            while had.load(ordering: .acquiring) < round {}
        }
        wanted.store(-1, ordering: .releasing)
        other.join()
        memory.deallocate()
        #expect(guarded.count == round)
    }

    @Test(
        "a thread that sleeps for the lock is woken even if a sandbox forbids membarrier from now on",
        .enabled(if: sysconf(Int32(_SC_NPROCESSORS_ONLN)) > 1), arguments: ["EPERM", "ENOSYS"])
    func sandboxedLater(error: String) {
        let child = runChild(error, of: "grun-lock-check")
        #expect(child.status == 0, "\(child.output) \(child.errors)")
    }

    @Test("in a forked child, acquiring a lock that another thread had at the fork ends the child, with a message")
    func forkedMeanwhile() {
        let child = runChild("fork", of: "grun-lock-check")
        #expect(child.status == 0, "\(child.output) \(child.errors)")
        #expect(
            child.errors.contains(
                "this process was forked and did not exec(). It needs a lock that another thread held during fork()"))
    }
}
