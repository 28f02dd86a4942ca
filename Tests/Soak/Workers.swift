// SPDX-License-Identifier: Apache-2.0
// The present workers.

import GRunLoop
import TestSupport

/// The present workers. Producers use a worker, and replace one at times.
final class Workers: @unchecked Sendable {
    private let slots: Shared<[Worker?]>
    private let made = Counted()
    /// The loops of all workers, to check that each loop is freed.
    private let loops = Shared<[(name: String, loop: Weak<GRunLoop>)]>([])

    init() { slots = Shared(Array(repeating: nil, count: 3)) }

    func make(_ form: Int) -> Worker {
        let number = made.add()
        let worker = Worker.make("loop \(number)", form: form)
        loops.update { $0.append((worker.consumer.name, Weak(worker.consumer.loop))) }
        return worker
    }

    func pick(_ number: Int) -> Consumer? { slots.update { $0[number % 3]?.consumer } }

    func replace(_ dice: inout Dice) {
        let (slot, form) = (dice.number(0...2), dice.number(0...3))
        let new = make(form)
        let old = slots.update { slots -> Worker? in
            defer { slots[slot] = new }
            return slots[slot]
        }
        old?.end()
    }

    func endAll() {
        let all = slots.update { slots -> [Worker?] in
            defer { slots = slots.map { _ in nil } }
            return slots
        }
        for worker in all { worker?.end() }
    }

    /// Returns the names of the loops that outlived their threads, and forgets them.
    func takeLiving() -> [String] {
        loops.update { loops in
            defer { loops = [] }
            return loops.filter { $0.loop.object != nil }.map(\.name)
        }
    }

    var living: Int { loops.update { $0.filter { $0.loop.object != nil }.count } }
}
