// SPDX-License-Identifier: Apache-2.0
// Compares the list of a mode's observers with a model: an array that is sorted at each addition.

import TestSupport
import Testing

@testable import GRunLoop

@Suite("The list of observers") struct ObserverListTests {
    private struct Entry {
        let observer: GRunLoop.Observer
        let number: UInt64
    }

    @Test(
        "item 145: the list stays in calling order during additions and removals, and knows the watched stages",
        arguments: 1...20)
    func model(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var list = ObserverList()
        var model: [Entry] = []
        let stages: [GRunLoop.Activity] = [.entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit]
        for step in 0..<2000 {
            // The list grows and shrinks in turn.
            let isGrowing = step / 200 % 2 == 0
            if model.isEmpty || Int.random(in: 0..<4, using: &random) < (isGrowing ? 3 : 1) {
                let activities: GRunLoop.Activity =
                    Int.random(in: 0..<8, using: &random) == 0
                    ? .all : stages[Int.random(in: 0..<stages.count, using: &random)]
                let observer = GRunLoop.Observer(
                    activities: activities, order: Int.random(in: -3...3, using: &random)
                ) { _, _ in }
                let entry = Entry(observer: observer, number: list.insert(observer))
                let index = model.lastIndex { $0.observer.order <= observer.order }.map { $0 + 1 } ?? 0
                model.insert(entry, at: index)
            } else {
                let entry = model.remove(at: Int.random(in: 0..<model.count, using: &random))
                list.remove(entry.observer, entry.number)
            }
            let watched = stages.filter { stage in model.contains { $0.observer.activities.contains(stage) } }
            #expect(stages.filter { list.activities.contains($0) } == watched)
            #expect(list.all.map(ObjectIdentifier.init) == model.map { ObjectIdentifier($0.observer) })
            guard Int.random(in: 0..<16, using: &random) == 0 else { continue }
            let stage = stages[Int.random(in: 0..<stages.count, using: &random)]
            let called = model.map(\.observer).filter { $0.activities.contains(stage) }
            #expect(list.toCall(at: stage).map(ObjectIdentifier.init) == called.map(ObjectIdentifier.init))
        }
    }
}
