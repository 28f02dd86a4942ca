// SPDX-License-Identifier: Apache-2.0
// Compares the heap of timers with a sorted array: random additions, removals, moves and tolerances, with many ties.

import TestSupport
import Testing

@testable import GRunLoop

@Suite("The heap of timers") struct TimerHeapTests {
    /// An item of a heap, with its identity.
    private enum Item: Hashable {
        case timer(GRunLoop.Timer)
        case perform(GRunLoop.PerformName)

        init(_ member: TimerHeap.Member, in mode: ModeState) {
            self =
                switch member {
                case .timer(let timer): .timer(timer)
                case .perform(let name, _): .perform(GRunLoop.PerformName(mode: mode.number, name: name))
                }
        }

        var timer: GRunLoop.Timer? { if case .timer(let timer) = self { timer } else { nil } }

        static func == (left: Item, right: Item) -> Bool {
            switch (left, right) {
            case (.timer(let left), .timer(let right)): left === right
            case (.perform(let left), .perform(let right)): left == right
            default: false
            }
        }

        func hash(into hasher: inout Hasher) {
            switch self {
            case .timer(let timer): hasher.combine(ObjectIdentifier(timer))
            case .perform(let perform): hasher.combine(perform)
            }
        }
    }

    /// A mode, and the results that its heap must have: an array of all items, sorted by deadline and addition.
    private final class Model {
        struct Entry {
            var item: Item
            var deadline: Nanoseconds
            var slack: Nanoseconds
            var addition: Int
        }

        let mode = ModeState(name: "M", isCommon: false)
        private(set) var entries: [Entry] = []

        /// Every third model renumbers its additions all the time, as a heap does after four thousand million.
        init(seed: UInt64) {
            random = SeededRandom(seed: seed)
            if seed % 3 == 0 { mode.heap = TimerHeap(greatestOrder: UInt32(1 + seed)) }
        }

        private var additions = 0
        private var firing: [GRunLoop.Timer] = []
        /// The performs that are over.
        private(set) var gone: [GRunLoop.PerformName] = []
        var random: SeededRandom

        func add(_ timer: GRunLoop.Timer) {
            mode.insert(timer)
            note(timer)
        }

        func addPerform(at deadline: Nanoseconds) {
            let name = Shared(GRunLoop.PerformName.none)
            let called = self.called
            let perform = mode.insert({ called.value = name.value }, at: deadline, isCommon: false)
            name.value = perform
            note(.perform(perform), deadline, slack: 0)
        }

        /// The name of the perform whose closure was called last.
        private let called = Shared(GRunLoop.PerformName.none)

        @discardableResult func remove(at index: Int) -> Item {
            let item = entries.remove(at: index).item
            switch item {
            case .timer(let timer): mode.remove(timer)
            case .perform(let perform): end(perform, mode.remove(perform.name))
            }
            return item
        }

        private func end(_ perform: GRunLoop.PerformName, _ occupant: TimerHeap.Occupant?) {
            guard case .perform(let body) = occupant else {
                Issue.record("no closure is there")
                return
            }
            call(body, of: perform)
            gone.append(perform)
        }

        /// Calls the closure, and checks that it belongs to the perform.
        private func call(_ body: TimerSlots.Body, of perform: GRunLoop.PerformName) {
            called.value = .none
            body()
            #expect(called.value == perform)
        }

        /// Removes and adds the timer, as the loop does when its date or tolerance is set. Ignores timers that the
        /// program has no reference to.
        func change(at index: Int, _ change: (GRunLoop.Timer) -> Void) {
            guard let timer = entries[index].item.timer, !isStandIn(timer) else { return }
            entries.remove(at: index)
            mode.takeOut(timer)
            change(timer)
            mode.heap.insert(timer, in: mode)
            note(timer)
        }

        /// Replaces the perform by a timer of the same date, as the loop does when a perform joins a further mode.
        func replace(at index: Int) {
            guard case .perform(let perform) = entries[index].item else { return }
            let timer = mode.replace(perform.name) { deadline, body in
                self.call(body, of: perform)
                return GRunLoop.Timer(date: deadline, period: 0, tolerance: .zero, at: deadline) { _ in }
            }
            entries[index].item = .timer(timer)
            standIns[perform] = timer
        }

        private var standIns: [GRunLoop.PerformName: GRunLoop.Timer] = [:]

        func isStandIn(_ timer: GRunLoop.Timer) -> Bool { standIns.values.contains { $0 === timer } }

        /// Returns the timer if a timer has replaced the perform.
        private func now(_ item: Item) -> Item {
            guard case .perform(let perform) = item, let timer = standIns[perform] else { return item }
            return .timer(timer)
        }

        /// Fires a batch as a pass does, and compares each turn with a list that was made before the first turn. Calls
        /// `change` in each turn, with the depth of the batch.
        func fireBatch(by limit: Nanoseconds, depth: Int = 0, _ comment: Comment, change: (Model, Int) -> Void) {
            var turns = entries.prefix { $0.deadline <= limit }.map(\.item)[...]
            let canFire = { (item: Item) in
                guard let timer = self.now(item).timer else { return self.entries.contains { $0.item == item } }
                return timer.isValidLocked && timer.isIn(self.mode) && timer.dates.deadline <= limit
                    && !self.firing.contains { $0 === timer }
            }
            let outer = mode.heap.beginBatch(by: limit)
            var body: TimerSlots.Body?
            while let turn = mode.heap.nextOfBatch(in: mode, &body) {
                switch turn {
                case .timer(let reference):
                    let timer = reference.takeUnretainedValue()
                    guard canFire(.timer(timer)) else { continue }
                    while let next = turns.first, !canFire(next) { turns.removeFirst() }
                    #expect(turns.popFirst().map(now) == .timer(timer), comment)
                    mode.takeOut(timer)
                    entries.removeAll { $0.item == .timer(timer) }
                    firing.append(timer)
                    change(self, depth)
                    firing.removeLast()
                    if Bool.random(using: &random) || isStandIn(timer) {
                        mode.remove(timer)
                    } else {
                        // The timer repeats.
                        timer.dates.deadline += 10_000_000
                        mode.heap.insert(timer, in: mode)
                        note(timer)
                    }
                case .perform(let name, let due, _):
                    let perform = GRunLoop.PerformName(mode: mode.number, name: name)
                    while let next = turns.first, !canFire(next) { turns.removeFirst() }
                    let entry = entries.first { $0.item == .perform(perform) }
                    #expect(turns.popFirst() == entry?.item && due == entry?.deadline, comment)
                    entries.removeAll { $0.item == .perform(perform) }
                    change(self, depth)
                    mode.timerCount -= 1
                    if let body = body.take() { call(body, of: perform) } else { Issue.record("no closure") }
                    gone.append(perform)
                }
            }
            #expect(!turns.contains(where: canFire), comment)
            _ = mode.heap.endBatch(resuming: outer)
        }

        private func note(_ timer: GRunLoop.Timer) {
            note(.timer(timer), timer.dates.deadline, slack: timer.dates.slack)
        }

        private func note(_ item: Item, _ deadline: Nanoseconds, slack: Nanoseconds) {
            additions += 1
            let entry = Entry(item: item, deadline: deadline, slack: slack, addition: additions)
            let index = entries.firstIndex { $0.deadline > entry.deadline } ?? entries.count
            entries.insert(entry, at: index)
        }

        func check(_ limit: Nanoseconds, _ message: Comment) {
            #expect(mode.heap.count == entries.count, message)
            #expect(mode.timerCount == entries.count, message)
            #expect(mode.heap.earliest == entries.first?.deadline ?? .never, message)
            let hard = entries.map { $0.deadline.addingSaturating($0.slack) }.min()
            #expect(mode.heap.wakeUpTime() == hard ?? .never, message)
            #expect(items(mode.heap.due(by: limit)) == entries.prefix { $0.deadline <= limit }.map(\.item), message)
            for perform in gone.suffix(20) { #expect(mode.heap.takeOut(perform.name) == nil, message) }
        }

        private func items(_ members: [TimerHeap.Member]) -> [Item] { members.map { Item($0, in: mode) } }

        func checkAll(_ message: Comment) {
            check(.never, message)
            #expect(Set(items(mode.heap.all)) == Set(entries.map(\.item)), message)
        }
    }

    /// Returns one of few values, so that many are equal.
    private static func date(_ random: inout SeededRandom) -> Nanoseconds {
        1_000_000 * Nanoseconds.random(in: 0..<40, using: &random)
    }

    private static func timer(_ random: inout SeededRandom, tolerant: Bool) -> GRunLoop.Timer {
        let tolerance: Int = tolerant && Bool.random(using: &random) ? .random(in: 1..<20, using: &random) : 0
        let timer = GRunLoop.Timer(fireAt: GRunLoop.distantPast, tolerance: .milliseconds(tolerance)) { _ in }
        timer.dates.deadline = date(&random)
        return timer
    }

    @Test("random operations leave the heap equal to a sorted array", arguments: 0..<24)
    func againstModel(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let model = Model(seed: seed)
        // Every other run has no tolerances, because the heap treats that case separately.
        let tolerant = seed % 2 == 0
        for step in 0..<400 {
            let comment: Comment = "seed \(seed), step \(step)"
            // The heap grows for a while, and then shrinks for a while.
            let growth = step / 100 % 2 == 0 ? 6 : 2
            if model.entries.isEmpty || Int.random(in: 0..<10, using: &random) < growth {
                if Bool.random(using: &random) {
                    model.add(Self.timer(&random, tolerant: tolerant))
                } else {
                    model.addPerform(at: Self.date(&random))
                }
            } else {
                let index = Int.random(in: 0..<model.entries.count, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0: model.change(at: index) { $0.dates.deadline = Self.date(&random) }
                case 1 where tolerant:
                    let tolerance = Int.random(in: 0..<30, using: &random)
                    model.change(at: index) { $0.tolerance = .milliseconds(tolerance) }
                case 2: model.replace(at: index)
                default: model.remove(at: index)
                }
            }
            model.check(Self.date(&random), comment)
            if step % 20 == 0 { model.checkAll(comment) }
        }
        while !model.entries.isEmpty {
            model.remove(at: Int.random(in: 0..<model.entries.count, using: &random))
            model.check(Self.date(&random), "seed \(seed), emptying")
        }
    }

    @Test("items 127-129: a batch has the items that were due at first, whatever its timers do", arguments: 0..<40)
    func batches(seed: UInt64) {
        let model = Model(seed: seed)
        func random(_ range: Range<Int>) -> Int { .random(in: range, using: &model.random) }
        func change(_ model: Model, depth: Int) {
            for _ in 0..<random(0..<3) {
                guard !model.entries.isEmpty else { break }
                // Chooses one of the first items, which are due.
                let index = random(0..<min(12, model.entries.count))
                switch random(0..<8) {
                case 0: model.add(Self.timer(&model.random, tolerant: true))
                case 6: model.addPerform(at: Self.date(&model.random))
                case 7: model.replace(at: index)
                case 1: model.change(at: index) { $0.dates.deadline = Self.date(&model.random) }
                case 2: model.remove(at: index)
                case 3:
                    // Removes the timer, and adds it again.
                    if let timer = model.remove(at: index).timer, !model.isStandIn(timer) { model.add(timer) }
                case 4 where depth < 2:
                    model.fireBatch(
                        by: Self.date(&model.random), depth: depth + 1, "seed \(seed), nested", change: change)
                default:
                    model.entries[index].item.timer?.invalidate()
                    model.remove(at: index)
                }
            }
        }
        // Every fourth round makes no changes, so that its batch needs no list.
        for round in 0..<20 {
            while model.entries.count < 30 {
                if random(0..<3) == 0 { model.addPerform(at: Self.date(&model.random)) }
                model.add(Self.timer(&model.random, tolerant: seed % 2 == 0))
            }
            model.fireBatch(by: Self.date(&model.random), "seed \(seed), round \(round)") { model, depth in
                if round % 4 != 0, depth > 0 || random(0..<4) == 0 { change(model, depth: depth) }
            }
            model.checkAll("seed \(seed), round \(round)")
        }
        while !model.entries.isEmpty { model.remove(at: 0) }
    }

    @Test(
        "timers with one deadline fire in the order of addition, whatever is removed meanwhile",
        arguments: 0..<8)
    func ties(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let model = Model(seed: seed)
        for _ in 0..<200 {
            let timer = GRunLoop.Timer(fireAt: GRunLoop.distantPast) { _ in }
            timer.dates.deadline = 1
            model.add(timer)
            if Int.random(in: 0..<3, using: &random) == 0 {
                model.remove(at: Int.random(in: 0..<model.entries.count, using: &random))
            }
        }
        model.checkAll("seed \(seed)")
        // Removes all timers, because a timer and a mode reference each other.
        while !model.entries.isEmpty { model.remove(at: 0) }
    }

    @Test("a slot whose use counter has reached its limit is not used again, so that no name has two closures")
    func names() {
        var slots = TimerSlots(greatestUse: 3)
        var names: Set<TimerSlots.Name> = []
        let timer = GRunLoop.Timer(fireAt: GRunLoop.now) { _ in }
        for round in 0..<100 {
            let timerSlot = slots.add(.passUnretained(timer))
            #expect(slots.isTimer(timerSlot) && !slots.isCommon(timerSlot))
            let slot = slots.add({}, isCommon: round % 4 == 1)
            #expect(!slots.isTimer(slot) && slots.isCommon(slot) == (round % 4 == 1))
            let name = slots.name(of: slot)
            #expect(names.insert(name).inserted)
            #expect(slots.slot(named: name) == slot)
            slots.takeBody(from: slot)()
            if round % 3 == 0 {
                slots.put(.passUnretained(timer), inPlaceOfBodyAt: slot)
                #expect(slots.isTimer(slot) && slots.slot(named: name) == slot)
            }
            slots.giveBack(slot)
            slots.giveBack(timerSlot)
            for name in names { #expect(slots.slot(named: name) == nil) }
        }
        #expect(Set(names.map(\.slot)).count == 34)
    }

    @Test("a heap releases its remaining items when it is released")
    func letGo() {
        let witness = Weak<AnyObject>()
        do {
            let mode = ModeState(name: "M", isCommon: false)
            let object = Witness {}
            witness.object = object
            for date: Nanoseconds in 0..<20 {
                _ = mode.insert({ withExtendedLifetime(object) {} }, at: date, isCommon: date % 2 == 0)
            }
        }
        #expect(witness.object == nil)
    }

    @Test("a timer in the heaps of many modes has its own position in each")
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
                let sorted = mode.heap.due(by: .never).compactMap { Item($0, in: mode).timer?.dates.deadline }
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

/// Returns the same numbers for the same seed on every machine (SplitMix64).
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    /// Mixes the seed. Otherwise neighbouring seeds would give the same sequence, shifted by one.
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
