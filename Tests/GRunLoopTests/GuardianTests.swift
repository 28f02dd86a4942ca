// SPDX-License-Identifier: Apache-2.0
// A loop's lock or a bit of its own guards an item. Only one thread has access at a time, and only one loop wins.

import Synchronization
import TestSupport
import Testing

@testable import GRunLoop

@Suite("Guardians") struct GuardianTests {
    private final class Item: @unchecked Sendable {
        let guardian = Guardian()
        /// The guardian protects the count.
        var count = 0
    }

    @Test("one thread at a time has access while three threads add an item to a loop and remove it again")
    func exclusion() {
        let item = Item()
        let rounds = 200_000
        let visitors = (0..<2).map { _ in
            LoopThread { _ in for _ in 0..<rounds { item.guardian.withLock { item.count += 1 } } }
        }
        let loop = LoopThread { _ in
            let lock = Lock.take()
            for round in 0..<rounds {
                lock.withLock {
                    guard item.guardian.bind(to: lock) else { return }
                    item.count += 1
                    if round % 2 == 0 { item.guardian.unbind() }
                }
            }
            lock.withLock { if item.guardian.isBound(to: lock) { item.guardian.unbind() } }
            Lock.giveBack(lock)
        }
        for thread in visitors + [loop] { thread.join() }
        #expect(item.guardian.withLock { item.count } == 3 * rounds)
    }

    @Test("one of two loops that want an item gets it, each time")
    func oneWinner() {
        let rounds = 50_000
        let items = (0..<rounds).map { _ in Item() }
        let wins = (0..<2).map { _ in Counter() }
        let locks = (0..<2).map { _ in Lock.take() }
        let go = Flag()
        let threads = (0..<2).map { number in
            LoopThread { _ in
                go.wait()
                for item in items {
                    locks[number].withLock { if item.guardian.bind(to: locks[number]) { wins[number].increment() } }
                }
            }
        }
        go.set()
        for thread in threads { thread.join() }
        #expect(wins[0].value + wins[1].value == rounds)
        for lock in locks {
            lock.withLock { for item in items where item.guardian.isBound(to: lock) { item.guardian.unbind() } }
            Lock.giveBack(lock)
        }
    }

    @Test("a thread that waits for the lock of a loop that the item has left then waits for the item's new guardian")
    func looksAgain() {
        let item = Item()
        let (first, second) = (Lock.take(), Lock.take())
        func bind(to lock: Lock) {
            let isBound = item.guardian.bind(to: lock)
            #expect(isBound)
        }
        let isThere = Atomic(false)
        let isOthers = Atomic(false)
        let hasEntered = Atomic(false)
        let (isTaken, isOver) = (Flag(), Flag())
        let visitor = Shared<LoopThread?>(nil)
        /// The address of the lock word for which the visitor sleeps.
        func sleepsFor() -> String? {
            guard let visitor = visitor.value else { return nil }
            let call = systemCall(of: visitor.kernelID)
            return isThere.load(ordering: .acquiring) && call.count > 1 ? call[1] : nil
        }
        var (former, holder): (String?, LoopThread?)
        first.withLock {
            bind(to: first)
            visitor.value = LoopThread { _ in
                isThere.store(true, ordering: .releasing)
                let wasOthers = item.guardian.withLock {
                    defer { hasEntered.store(true, ordering: .releasing) }
                    return isOthers.load(ordering: .acquiring)
                }
                #expect(!wasOthers)
            }
            #expect(waitUntil { sleepsFor() != nil })
            former = sleepsFor()
            item.guardian.unbind()
            holder = LoopThread { _ in
                second.withLock {
                    isTaken.set()
                    isOver.wait()
                }
            }
            #expect(isTaken.wait())
            bind(to: second)
            isOthers.store(true, ordering: .releasing)
        }
        #expect(waitUntil { hasEntered.load(ordering: .acquiring) || sleepsFor().map { $0 != former } == true })
        isOthers.store(false, ordering: .releasing)
        isOver.set()
        holder?.join()
        visitor.value?.join()
        second.withLock { item.guardian.unbind() }
        Lock.giveBack(first)
        Lock.giveBack(second)
    }
}
