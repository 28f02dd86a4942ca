// SPDX-License-Identifier: Apache-2.0
// The heap of timers against a sorted array: random additions, removals, moves and tolerances, with many ties.

import TestSupport
import Testing

@testable import GRunLoop

@Suite("The heap of timers") struct TimerHeapTests {
    /// A mode, and what its heap must answer: an array of all timers, sorted by deadline and addition.
    private final class Model {
        struct Entry {
            var timer: GRunLoop.Timer
            var deadline: Nanoseconds
            var slack: Nanoseconds
            var addition: Int
        }

        let mode = ModeState(name: "M", isCommon: false)
        private(set) var entries: [Entry] = []

        /// Every third one numbers its additions anew all the time, as a heap does after four thousand million of them.
        init(seed: UInt64) {
            random = SeededRandom(seed: seed)
            if seed % 3 == 0 { mode.heap = TimerHeap(greatestOrder: UInt32(1 + seed)) }
        }

        private var additions = 0
        private var firing: [GRunLoop.Timer] = []
        var random: SeededRandom

        func add(_ timer: GRunLoop.Timer) {
            mode.insert(timer)
            note(timer)
        }

        func remove(at index: Int) -> GRunLoop.Timer {
            let timer = entries.remove(at: index).timer
            mode.remove(timer)
            return timer
        }

        /// What the loop does when a timer's date or tolerance is set: out, and in again.
        func change(at index: Int, _ change: (GRunLoop.Timer) -> Void) {
            let timer = entries.remove(at: index).timer
            mode.takeOut(timer)
            change(timer)
            mode.heap.insert(timer, in: mode)
            note(timer)
        }

        /// Fires a batch as a pass does, and compares each turn with a list that was made at first. `change` is called
        /// in each turn, with the depth of the batch.
        func fireBatch(by limit: Nanoseconds, depth: Int = 0, _ comment: Comment, change: (Model, Int) -> Void) {
            var turns = entries.prefix { $0.deadline <= limit }.map(\.timer)[...]
            let canFire = { (timer: GRunLoop.Timer) in
                timer.isValidLocked && timer.isIn(self.mode) && timer.dates.deadline <= limit
                    && !self.firing.contains { $0 === timer }
            }
            let outer = mode.heap.beginBatch(by: limit)
            while let timer = mode.heap.nextOfBatch(in: mode)?.takeUnretainedValue() {
                guard canFire(timer) else { continue }
                while let next = turns.first, !canFire(next) { turns.removeFirst() }
                #expect(turns.popFirst() === timer, comment)
                mode.takeOut(timer)
                entries.removeAll { $0.timer === timer }
                firing.append(timer)
                change(self, depth)
                firing.removeLast()
                if Bool.random(using: &random) {
                    mode.remove(timer)
                } else {
                    // It repeats.
                    timer.dates.deadline += 10_000_000
                    mode.heap.insert(timer, in: mode)
                    note(timer)
                }
            }
            #expect(!turns.contains(where: canFire), comment)
            _ = mode.heap.endBatch(resuming: outer)
        }

        private func note(_ timer: GRunLoop.Timer) {
            additions += 1
            let dates = timer.dates
            let entry = Entry(timer: timer, deadline: dates.deadline, slack: dates.slack, addition: additions)
            let index = entries.firstIndex { $0.deadline > entry.deadline } ?? entries.count
            entries.insert(entry, at: index)
        }

        func check(_ limit: Nanoseconds, _ message: Comment) {
            #expect(mode.heap.count == entries.count, message)
            #expect(mode.timerCount == entries.count, message)
            #expect(mode.heap.earliest == entries.first?.deadline ?? .never, message)
            let hard = entries.map { $0.deadline.addingSaturating($0.slack) }.min()
            #expect(mode.heap.wakeUpTime() == hard ?? .never, message)
            let due = entries.prefix { $0.deadline <= limit }.map { ObjectIdentifier($0.timer) }
            #expect(mode.heap.due(by: limit).map { ObjectIdentifier($0) } == due, message)
        }

        func checkAll(_ message: Comment) {
            check(.never, message)
            #expect(
                Set(mode.heap.all.map { ObjectIdentifier($0) }) == Set(entries.map { ObjectIdentifier($0.timer) }),
                message)
        }
    }

    /// Few values, so that many are equal.
    private static func date(_ random: inout SeededRandom) -> Nanoseconds {
        1_000_000 * Nanoseconds.random(in: 0..<40, using: &random)
    }

    private static func timer(_ random: inout SeededRandom, tolerant: Bool) -> GRunLoop.Timer {
        let tolerance: Int = tolerant && Bool.random(using: &random) ? .random(in: 1..<20, using: &random) : 0
        let timer = GRunLoop.Timer(fireAt: GRunLoop.distantPast, tolerance: .milliseconds(tolerance)) { _ in }
        timer.dates.deadline = date(&random)
        return timer
    }

    @Test("random operations leave it as a sorted array would be", arguments: 0..<24)
    func againstModel(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let model = Model(seed: seed)
        // Every other run is without tolerances, the case that the heap treats apart.
        let tolerant = seed % 2 == 0
        for step in 0..<400 {
            let comment: Comment = "seed \(seed), step \(step)"
            // Grows for a while, shrinks for a while.
            let growth = step / 100 % 2 == 0 ? 6 : 2
            if model.entries.isEmpty || Int.random(in: 0..<10, using: &random) < growth {
                model.add(Self.timer(&random, tolerant: tolerant))
            } else {
                let index = Int.random(in: 0..<model.entries.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: model.change(at: index) { $0.dates.deadline = Self.date(&random) }
                case 1 where tolerant:
                    let tolerance = Int.random(in: 0..<30, using: &random)
                    model.change(at: index) { $0.tolerance = .milliseconds(tolerance) }
                default: _ = model.remove(at: index)
                }
            }
            model.check(Self.date(&random), comment)
            if step % 20 == 0 { model.checkAll(comment) }
        }
        while !model.entries.isEmpty {
            _ = model.remove(at: Int.random(in: 0..<model.entries.count, using: &random))
            model.check(Self.date(&random), "seed \(seed), emptying")
        }
    }

    @Test("items 127-129: a batch is what was due at first, whatever its timers do to each other", arguments: 0..<40)
    func batches(seed: UInt64) {
        let model = Model(seed: seed)
        func random(_ range: Range<Int>) -> Int { .random(in: range, using: &model.random) }
        func change(_ model: Model, depth: Int) {
            for _ in 0..<random(0..<3) {
                guard !model.entries.isEmpty else { break }
                // The first ones are those that are due.
                let index = random(0..<min(12, model.entries.count))
                switch random(0..<6) {
                case 0: model.add(Self.timer(&model.random, tolerant: true))
                case 1: model.change(at: index) { $0.dates.deadline = Self.date(&model.random) }
                case 2: _ = model.remove(at: index)
                case 3:
                    // Out, and in again.
                    model.add(model.remove(at: index))
                case 4 where depth < 2:
                    model.fireBatch(
                        by: Self.date(&model.random), depth: depth + 1, "seed \(seed), nested", change: change)
                default:
                    model.entries[index].timer.invalidate()
                    _ = model.remove(at: index)
                }
            }
        }
        // Every other one is left alone at first: there its batch is no list.
        for round in 0..<20 {
            while model.entries.count < 30 { model.add(Self.timer(&model.random, tolerant: seed % 2 == 0)) }
            model.fireBatch(by: Self.date(&model.random), "seed \(seed), round \(round)") { model, depth in
                if round % 4 != 0, depth > 0 || random(0..<4) == 0 { change(model, depth: depth) }
            }
            model.checkAll("seed \(seed), round \(round)")
        }
        while !model.entries.isEmpty { _ = model.remove(at: 0) }
    }

    @Test(
        "timers with one deadline come out in the order in which they went in, whatever goes meanwhile",
        arguments: 0..<8)
    func ties(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let model = Model(seed: seed)
        for _ in 0..<200 {
            let timer = GRunLoop.Timer(fireAt: GRunLoop.distantPast) { _ in }
            timer.dates.deadline = 1
            model.add(timer)
            if Int.random(in: 0..<3, using: &random) == 0 {
                _ = model.remove(at: Int.random(in: 0..<model.entries.count, using: &random))
            }
        }
        model.checkAll("seed \(seed)")
        // A timer and a mode hold each other.
        while !model.entries.isEmpty { _ = model.remove(at: 0) }
    }

    @Test("a timer in the heaps of many modes has its own place in each")
    func manyModes() {
        var random = SeededRandom(seed: 1)
        let modes = (0..<5).map { ModeState(name: .init("M\($0)"), isCommon: false) }
        let timers = (0..<60).map { _ in Self.timer(&random, tolerant: false) }
        var members = modes.map { _ in Set<Int>() }
        for step in 0..<2000 {
            let (mode, timer) = (Int.random(in: 0..<5, using: &random), Int.random(in: 0..<60, using: &random))
            if members[mode].remove(timer) != nil {
                modes[mode].remove(timers[timer])
            } else {
                members[mode].insert(timer)
                modes[mode].insert(timers[timer])
            }
            #expect(timers[timer].isIn(modes[mode]) == members[mode].contains(timer))
            guard step % 50 == 0 else { continue }
            for (mode, members) in zip(modes, members) {
                let sorted = mode.heap.due(by: .never).map(\.dates.deadline)
                #expect(sorted == members.map { timers[$0].dates.deadline }.sorted())
            }
        }
        for (mode, members) in zip(modes, members) {
            for timer in members { mode.remove(timers[timer]) }
            #expect(mode.timerCount == 0)
            #expect(mode.heap.count == 0)
        }
        for timer in timers { #expect(timer.firstMode == nil) }
    }

    @Test("an empty heap has no date")
    func empty() {
        let mode = ModeState(name: "M", isCommon: false)
        #expect(mode.heap.earliest == .never)
        #expect(mode.heap.wakeUpTime() == .never)
        #expect(mode.heap.due(by: .never).isEmpty)
    }
}

/// The same numbers for the same seed, on every machine (SplitMix64).
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    /// Mixed: seeds that are neighbours would give one sequence, each a step behind the other.
    init(seed: UInt64) {
        state = seed
        state = next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
