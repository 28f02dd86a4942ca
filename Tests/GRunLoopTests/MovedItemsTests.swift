// SPDX-License-Identifier: Apache-2.0
// Items of every kind whose closures move them to other loops. Those loops end before the closures return.

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite("Items: moved by their closures") struct MovedItemsTests {
    @Test("item 8: a loop's end also affects an item whose closure moved it there", arguments: Movable.Kind.allCases)
    func loopEnds(kind: Movable.Kind) async throws {
        try await onFreshThread { loop in
            let (calls, item) = (Counter(), Shared<Movable?>(nil))
            let movable = try Movable(kind) {
                guard let item = item.value else { return }
                guard calls.increment() == 1 else {
                    item.invalidate()
                    return loop.stop()
                }
                item.remove(loop)
                GRunLoop.withVirtualTime { time in
                    item.add(time.loop)
                    #expect(item.isIn(time.loop))
                }
                item.add(loop)
                #expect(item.isIn(loop))
                item.rouse()
                loop.async {}
            }
            item.value = movable
            loop.keepAlive()
            movable.add(loop)
            movable.rouse()
            #expect(loop.run(mode: .default, for: .seconds(20)) == .stopped)
            #expect(calls.value == 2 && !movable.isValid() && !movable.isIn(loop))
            item.value = nil
        }
    }

    @Test(
        "an item that is invalidated while its closure runs is in no loop, even if the closure has moved it",
        arguments: Movable.Kind.allCases)
    func invalidated(kind: Movable.Kind) async throws {
        try await onFreshThread { loop in
            let other = LoopThread.running()
            let (calls, item) = (Counter(), Shared<Movable?>(nil))
            let movable = try Movable(kind) {
                calls.increment()
                guard let item = item.value else { return }
                item.remove(loop)
                item.add(other.loop)
                onPlainThread { item.invalidate() }
                #expect(!item.isValid() && !item.isIn(other.loop))
                loop.stop()
            }
            item.value = movable
            loop.keepAlive()
            movable.add(loop)
            movable.rouse()
            #expect(loop.run(mode: .default, for: .seconds(20)) == .stopped)
            movable.add(loop)
            #expect(!movable.isIn(loop))
            loop.run(mode: .default, for: .zero)
            other.finish()
            #expect(calls.value == 1)
            item.value = nil
        }
    }
}
