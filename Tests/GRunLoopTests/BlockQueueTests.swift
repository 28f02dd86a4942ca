// SPDX-License-Identifier: Apache-2.0
// Compares the queues of blocks with a plain list. Random blocks for one mode or several are taken in nested steps.

import TestSupport
import Testing

@testable import GRunLoop

@Suite("The queue of blocks") struct BlockQueueTests {
    /// Three queues that share tokens, and the list of their contents.
    private final class Model {
        struct Entry {
            let sequence: UInt64
            let queues: Set<Int>
        }

        let queues = (0..<3).map { _ in BlockQueue() }
        let taken = Shared<[UInt64]>([])
        private(set) var entries: [Entry] = []
        private(set) var sequence: UInt64 = 1

        // A token and its queues reference each other. Empty the queues to break the cycle.
        deinit {
            for queue in queues {
                _ = queue.removeAll()
                queue.deallocate()
            }
        }

        func append(_ targets: Set<Int>) {
            let number = sequence
            let body = { @Sendable [taken] in taken.update { $0.append(number) } }
            if let only = targets.first, targets.count == 1 {
                queues[only].append(.init(sequence: number, body: body))
            } else {
                let token = BlockToken(body: body, queues: targets.map { queues[$0] })
                for target in targets { queues[target].append(.init(sequence: number, token: token)) }
            }
            entries.append(Entry(sequence: number, queues: targets))
            sequence += 1
        }

        func first(_ queue: Int, from start: UInt64) -> UInt64? {
            entries.first { $0.queues.contains(queue) && $0.sequence >= start }?.sequence
        }

        /// Takes the first block with the number `start` or later; nil if there is none.
        func take(_ queue: Int, from start: UInt64) -> UInt64? {
            let expected = first(queue, from: start)
            #expect(queues[queue].first(from: start) == expected)
            guard let expected else { return nil }
            guard let body = queues[queue].take(expected) else {
                Issue.record("block \(expected) has no body")
                return nil
            }
            body()
            #expect(taken.value.last == expected)
            entries.removeAll { $0.sequence == expected }
            return expected
        }

        func check(_ comment: Comment) {
            for (index, queue) in queues.enumerated() {
                #expect(queue.live == entries.count { $0.queues.contains(index) }, comment)
                #expect(queue.first(from: 0) == first(index, from: 0), comment)
            }
        }
    }

    @Test("random operations take every block once and in order, also from the middle", arguments: 0..<24)
    func againstModel(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let model = Model()
        for step in 0..<600 {
            if Int.random(in: 0..<10, using: &random) < (step / 150 % 2 == 0 ? 6 : 4) {
                let targets = Set(
                    (0...Int.random(in: 0..<3, using: &random)).map { _ in Int.random(in: 0..<3, using: &random) })
                model.append(targets)
            } else {
                // Like a nested step, ignores blocks with lower numbers.
                let start = Bool.random(using: &random) ? 0 : UInt64.random(in: 0...model.sequence, using: &random)
                _ = model.take(Int.random(in: 0..<3, using: &random), from: start)
            }
            model.check("seed \(seed), step \(step)")
        }
        for queue in 0..<3 {
            while model.take(queue, from: 0) != nil {}
            #expect(model.queues[queue].live == 0)
        }
        let taken = model.taken.value
        #expect(taken.count == Int(model.sequence) - 1)
        #expect(Set(taken).count == taken.count)
    }

    @Test("a ring that wraps and grows keeps its order")
    func wrapsAndGrows() {
        let model = Model()
        for round in 1...40 {
            for _ in 0..<round { model.append([0]) }
            for _ in 0..<(round * 2 / 3) { _ = model.take(0, from: 0) }
        }
        while model.take(0, from: 0) != nil {}
        let taken = model.taken.value
        #expect(taken == taken.sorted())
        #expect(taken.count == (1...40).reduce(0, +))
    }

    @Test("blocks that are taken out of a queue and put back stay ahead of blocks that were added meanwhile")
    func putBack() {
        let (queue, taken) = (BlockQueue(), BlockQueue())
        let other = BlockQueue()
        let ran = Shared<[Int]>([])
        func block(_ number: Int) -> @Sendable () -> Void { { ran.update { $0.append(number) } } }
        var added = 0
        for round in 1...60 {
            for _ in 0..<(round % 7 + 1) {
                added += 1
                queue.append(.init(sequence: UInt64(added), body: block(added)))
            }
            #expect(queue.isPlain(from: 1))
            #expect(!queue.isPlain(from: UInt64(added + 1)))
            taken.exchange(with: queue)
            #expect(queue.live == 0 && !queue.isPlain(from: 0))
            for _ in 0..<min(3, taken.live) { taken.removeFirst()?() }
            added += 1
            queue.append(.init(sequence: UInt64(added), body: block(added)))
            if round == 30 {
                added += 1
                let token = BlockToken(body: block(added), queues: [queue, other])
                for each in [queue, other] { each.append(.init(sequence: UInt64(added), token: token)) }
            }
            taken.appendAll(of: queue)
            taken.exchange(with: queue)
            #expect(taken.live == 0)
            #expect(queue.live == added - ran.value.count)
            #expect(queue.isPlain(from: 0) == (round < 30))
            guard round >= 30 else { continue }
            while let first = queue.first(from: 0) { queue.take(first)?() }
            if round == 30 { #expect(other.live == 0) }
            queue.exchange(with: other)
            _ = other.removeAll()
            break
        }
        #expect(ran.value == Array(1...added))
        for each in [queue, taken, other] { each.deallocate() }
    }

    @Test("a queue that takes over another queue takes none of the blocks that were taken already", arguments: 0..<24)
    func takesOver(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let (queue, other, rest) = (BlockQueue(), BlockQueue(), BlockQueue())
        let ran = Shared<[UInt64]>([])
        var waiting: [UInt64] = []
        func append(_ sequence: UInt64, to queues: [BlockQueue]) {
            let body = { @Sendable in ran.update { $0.append(sequence) } }
            if queues.count == 1 { return queues[0].append(.init(sequence: sequence, body: body)) }
            let token = BlockToken(body: body, queues: queues)
            for each in queues { each.append(.init(sequence: sequence, token: token)) }
        }
        for sequence in UInt64(1)...3 { append(sequence, to: [rest]) }
        for sequence in UInt64(4)...40 {
            append(sequence, to: Int.random(in: 0..<4, using: &random) == 0 ? [queue, other] : [queue])
            waiting.append(sequence)
            guard Bool.random(using: &random) else { continue }
            let taken = waiting.remove(at: Int.random(in: waiting.indices, using: &random))
            #expect(queue.take(taken) != nil)
        }
        rest.appendAll(of: queue)
        rest.exchange(with: queue)
        #expect(queue.live == waiting.count + 3 && rest.live == 0 && rest.first(from: 0) == nil)
        while queue.isPlain(from: 0) { queue.removeFirst()?() }
        while let first = queue.first(from: 0) { queue.take(first)?() }
        #expect(ran.value == [1, 2, 3] + waiting)
        #expect(queue.live == 0 && other.live == 0)
        for each in [queue, other, rest] { each.deallocate() }
    }

    @Test("blocks that a nested step takes from behind a hidden block leave no entries in the queue")
    func takenBehindHidden() {
        let queue = BlockQueue()
        queue.append(.init(sequence: 1, body: {}))
        for round in UInt64(0)..<1000 {
            for sequence in 0..<UInt64(3) { queue.append(.init(sequence: 2 + round * 3 + sequence, body: {})) }
            while let first = queue.first(from: 2) { #expect(queue.take(first) != nil) }
            #expect(queue.live == 1 && queue.isPlain(from: 1))
        }
        queue.deallocate()
    }

    @Test("blocks that were taken in another mode do not pile up behind a waiting block")
    func takenElsewhere() {
        final class Weak {
            weak var token: BlockToken?
            init(_ token: BlockToken) { self.token = token }
        }
        let (busy, blocked) = (BlockQueue(), BlockQueue())
        blocked.append(.init(sequence: 1, body: {}))
        var tokens: [Weak] = []
        for sequence in 2...5000 {
            let token = BlockToken(body: {}, queues: [busy, blocked])
            tokens.append(Weak(token))
            for queue in [busy, blocked] { queue.append(.init(sequence: UInt64(sequence), token: token)) }
            #expect(busy.take(UInt64(sequence)) != nil)
        }
        #expect(tokens.count { $0.token != nil } < 100)
        #expect(blocked.live == 1)
        #expect(blocked.first(from: 0) == 1)
        #expect(blocked.first(from: 2) == nil)
        for queue in [busy, blocked] { queue.deallocate() }
    }

    @Test("removing all blocks returns those that nobody took; deallocating a queue releases its blocks")
    func ends() {
        let gone = Counter()
        func block() -> @Sendable () -> Void {
            let witness = Witness { gone.increment() }
            return { withExtendedLifetime(witness) {} }
        }
        do {
            let queue = BlockQueue()
            for sequence in 1...10 { queue.append(.init(sequence: UInt64(sequence), body: block())) }
            var body = queue.take(4)
            #expect(gone.value == 0)
            body = nil
            #expect(body == nil)
            #expect(gone.value == 1)
            do {
                let rest = queue.removeAll()
                #expect(rest.count { $0.body != nil } == 9)
                #expect(queue.live == 0)
                #expect(queue.first(from: 0) == nil)
                #expect(gone.value == 1)
            }
            #expect(gone.value == 10)
            for sequence in 11...13 { queue.append(.init(sequence: UInt64(sequence), body: block())) }
            _ = queue.take(12)
            queue.deallocate()
        }
        #expect(gone.value == 13)
    }
}
