// SPDX-License-Identifier: Apache-2.0
// Blocks: the queues of two modes and of the common modes, and the steps that run them, nested and cut short.

@testable import GRunLoop

/// The model is one list of all blocks, in the order in which they were enqueued. A step runs the blocks of its mode
/// whose numbers are in the step's range, in order.
final class BlockQueueModel: Model {
    static let name = "BlockQueue"

    private struct Block {
        let sequence: UInt64
        let number: Int
        /// The numbers of the queues that hold the block.
        let queues: Set<Int>
    }

    /// A step of a pass, as `GRunLoop.runBlockStepLocked` has it. Only the innermost step goes on.
    private struct Step {
        let queues: [Int]
        let range: Range<UInt64>
        let outerHidden: UInt64
        /// The queue whose blocks were all taken out, and where they are.
        var exchanged: (queue: Int, taken: BlockQueue)?
        /// In a step that takes the blocks one by one: the next block has this sequence number or a later one.
        var next: UInt64
    }

    /// The queues 0 and 1 belong to modes, queue 2 to the common modes.
    private static let commonQueue = 2

    private let queues: [BlockQueue]
    private let isCommon: [Bool]
    private var sequence: UInt64
    private var hidden: UInt64 = 0
    private var steps: [Step] = []
    private var spare: BlockQueue?

    private var waiting: [Block] = []
    private var made = 0
    private let called = Shared<[Int]>([])

    init(_ random: inout Random) {
        let capacity = [1, 2, 8][random.below(3)]
        queues = (0..<3).map { _ in BlockQueue(capacity: capacity) }
        spare = random.once(in: 2) ? BlockQueue(capacity: capacity) : nil
        isCommon = [true, random.once(in: 2)]
        sequence = random.once(in: 2) ? 0 : .max - 100_000
        Journal.note("capacity \(capacity), mode 1 \(isCommon[1] ? "is" : "is not") common")
    }

    func step(_ random: inout Random) throws {
        switch random.below(20) {
        case 0...5: enqueue(in: [random.below(3)])
        case 6, 7: enqueue(in: Set((0..<3).filter { _ in random.once(in: 2) }))
        case 8: for _ in 0..<random.below(12) { enqueue(in: [random.below(3)]) }
        case 9...12: try beginStep(of: random.below(2))
        case 13...17: try callNext()
        default: try cutStep()
        }
        try check()
    }

    func finish() throws {
        while !steps.isEmpty { try cutStep() }
        for mode in [0, 1, 0] {
            try beginStep(of: mode)
            while !steps.isEmpty { try callNext() }
        }
        try check()
        let left = waiting.filter { !$0.queues.isEmpty }
        for queue in 0..<3 {
            let entries = queues[queue].removeAll()
            // If another queue has run a block for several modes, its entry in this queue remains.
            try expect(
                entries.count(where: { !$0.isTaken }), is: left.count(where: { $0.queues.contains(queue) }),
                "blocks left in queue \(queue)")
        }
        waiting = []
        for queue in queues + [spare].compactMap(\.self) { queue.deallocate() }
        try expect(Counted.count, is: 0, "bodies that were not released")
    }

    // MARK: Operations

    private func enqueue(in numbers: Set<Int>) {
        made += 1
        Journal.note("enqueue block \(made) in queues \(numbers.sorted())")
        let counted = Counted(made)
        let body: @Sendable () -> Void = { [called] in called.value.append(counted.number) }
        if numbers.count == 1, let queue = numbers.first {
            queues[queue].append(.init(sequence: sequence, body: body))
        } else {
            let token = BlockToken(body: body, queues: numbers.map { queues[$0] })
            for queue in numbers { queues[queue].append(.init(sequence: sequence, token: token)) }
        }
        if !numbers.isEmpty { waiting.append(Block(sequence: sequence, number: made, queues: numbers)) }
        sequence += 1
    }

    private func beginStep(of mode: Int) throws {
        guard steps.count < 5 else { return }
        let common = queues[Self.commonQueue]
        let hasCommon = common.live > 0
        var step = Step(
            queues: isCommon[mode] ? [mode, Self.commonQueue] : [mode], range: hidden..<sequence,
            outerHidden: hidden, next: hidden)
        // As GRunLoop.onlyQueueLocked.
        let only = hasCommon ? Self.commonQueue : mode
        if !hasCommon || isCommon[mode] && queues[mode].live == 0, queues[only].isPlain(from: hidden) {
            let taken = spare ?? BlockQueue()
            spare = nil
            taken.exchange(with: queues[only])
            step.exchanged = (only, taken)
        }
        Journal.note("begin step \(steps.count) of mode \(mode)\(step.exchanged == nil ? "" : ", exchanged")")
        hidden = sequence
        steps.append(step)
    }

    private func callNext() throws {
        guard let step = steps.last else { return }
        let expected = waiting.first { step.range.contains($0.sequence) && !$0.queues.isDisjoint(with: step.queues) }
        Journal.note("call \(expected.map { "block \($0.number)" } ?? "nothing")")
        called.value = []
        if let taken = step.exchanged?.taken {
            if taken.live > 0 { taken.removeFirst()?() }
        } else if let (queue, next) = firstBlock(of: step) {
            queues[queue].take(next)?()
            steps[steps.count - 1].next = next + 1
        }
        try expect(called.value, is: expected.map { [$0.number] } ?? [], "the block that was called")
        waiting.removeAll { $0.number == expected?.number }
        if expected == nil { endStep() }
    }

    /// As `GRunLoop.nextBlockLocked`.
    private func firstBlock(of step: Step) -> (queue: Int, sequence: UInt64)? {
        step.queues.compactMap { queue in queues[queue].first(from: step.next).map { (queue, $0) } }
            .filter { $0.1 < step.range.upperBound }.min { $0.1 < $1.1 }
    }

    /// The time slice is used up: the rest waits for a later step.
    private func cutStep() throws {
        guard let step = steps.last else { return }
        Journal.note("cut step \(steps.count - 1)")
        if let (queue, taken) = step.exchanged, taken.live > 0 {
            taken.appendAll(of: queues[queue])
            taken.exchange(with: queues[queue])
        }
        endStep()
    }

    private func endStep() {
        let step = steps.removeLast()
        hidden = step.outerHidden
        guard let taken = step.exchanged?.taken else { return }
        if spare == nil { spare = taken } else { taken.deallocate() }
    }

    // MARK: Comparison

    private func check() throws {
        for queue in 0..<3 {
            // What an exchanged step has taken out is not in the queue.
            let exchanged = steps.filter { $0.exchanged?.queue == queue }
            let held = waiting.filter { block in
                block.queues.contains(queue) && !exchanged.contains { $0.range.contains(block.sequence) }
            }
            try expect(queues[queue].live, is: held.count, "blocks that wait in queue \(queue)")
            try expect(
                queues[queue].first(from: hidden), is: held.first { $0.sequence >= hidden }?.sequence,
                "the first visible block of queue \(queue)")
        }
        try expect(Counted.count, is: waiting.count, "bodies that are alive")
    }
}
