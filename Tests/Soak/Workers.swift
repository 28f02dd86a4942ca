// SPDX-License-Identifier: Apache-2.0
// Which workers there are now.

import GRunLoop
import TestSupport

/// Those that are there now. Producers take one, and replace one now and then.
final class Workers: @unchecked Sendable {
    private let slots: Shared<[Worker?]>
    private let made = Counted()
    /// Whether what was made has gone, loop and all.
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

    /// The loops that have not gone with their threads; they are forgotten.
    func takeLiving() -> [String] {
        loops.update { loops in
            defer { loops = [] }
            return loops.filter { $0.loop.object != nil }.map(\.name)
        }
    }

    var living: Int { loops.update { $0.filter { $0.loop.object != nil }.count } }
}
