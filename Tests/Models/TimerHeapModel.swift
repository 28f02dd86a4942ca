// SPDX-License-Identifier: Apache-2.0
// The timers and delayed performs of two modes, with batches that are nested, cut short and changed meanwhile.

@testable import GRunLoop

final class TimerHeapModel: Model {
    static let name = "TimerHeap"

    /// A timer, or a delayed perform that a timer may replace.
    final class Entrant {
        let number: Int
        var timer: GRunLoop.Timer?
        /// The name of a delayed perform; nil for a timer.
        var name: TimerHeap.Name?
        let mode: Int

        init(_ number: Int, mode: Int) {
            self.number = number
            self.mode = mode
        }

        var isPerform: Bool { name != nil && timer == nil }
        /// Whether the program has the timer and can move it. A timer in a perform's place fires once.
        var isKnown: Bool { name == nil }
    }

    /// An entry in the heap of one mode.
    struct Entry {
        let entrant: Entrant
        let deadline: Nanoseconds
        let addition: Int
        var slack: Nanoseconds
    }

    /// A batch that is under way. Only the innermost batch goes on.
    struct Batch {
        let mode: Int
        let limit: Nanoseconds
        /// The entries that were due when the batch began, in order.
        let due: [Entrant]
        /// How many of them were called or skipped.
        var done = 0
        let outer: TimerHeap.Batch
        /// The entry whose callout runs now.
        var called: Entrant?
        /// The timers that a callout would retain.
        var held: [GRunLoop.Timer] = []
    }

    let modes: [ModeState]
    var entries: [[Entry]] = [[], []]
    var entrants: [Entrant] = []
    var batches: [Batch] = []
    var additions = 0
    var made = 0
    var now: Nanoseconds = 1_000_000
    let calledBody = Shared(0)

    init(_ random: inout Random) {
        modes = ["model", "other"].map { ModeState(name: $0, isCommon: false) }
        let greatestOrder: UInt32 = random.once(in: 2) ? UInt32(1 + random.below(12)) : .max
        let greatestUse: UInt32 = random.once(in: 2) ? UInt32(1 + random.below(4)) : .max >> 2
        Journal.note("greatest order \(greatestOrder), greatest use \(greatestUse)")
        for mode in modes { mode.heap = TimerHeap(greatestOrder: greatestOrder, greatestUse: greatestUse) }
    }

    func step(_ random: inout Random) throws {
        switch random.below(20) {
        case 0...11: try change(&random)
        case 12: now += Nanoseconds(random.below(12))
        case 13, 14: try beginBatch(of: random.below(2), &random)
        case 15...18: try callNext(&random)
        default: try endBatch(&random)
        }
        try check()
    }

    func finish() throws {
        var random = Random(seed: 1)
        while !batches.isEmpty { try endBatch(&random) }
        // Everything that is left is called in order, or removed.
        now = .max / 2
        for mode in 0..<2 {
            try beginBatch(of: mode, &random)
            while !batches.isEmpty { try callNext(&random, ends: true) }
            try expect(entries[mode].count, is: 0, "what is left in mode \(mode)")
        }
        try check()
        entrants = []
        try expect(Counted.count, is: 0, "closures that were not released")
    }

    // MARK: Batches

    func beginBatch(of mode: Int, _ random: inout Random) throws {
        // A nested run begins in a callout only.
        guard batches.count < 4, batches.last.map({ $0.called != nil }) ?? true else { return }
        Journal.note("begin batch \(batches.count) of mode \(mode) at \(now)")
        let due = inOrder(mode).filter { $0.deadline <= now }.map(\.entrant)
        batches.append(Batch(mode: mode, limit: now, due: due, outer: modes[mode].heap.beginBatch(by: now)))
        try callNext(&random)
    }

    /// Ends the callout of the innermost batch, and begins its next one.
    func callNext(_ random: inout Random, ends: Bool = false) throws {
        guard let index = batches.indices.last else { return }
        endCallout(&random, ends: ends)
        let mode = modes[batches[index].mode]
        var body: TimerSlots.Body?
        while let taken = mode.heap.nextOfBatch(in: mode, &body) {
            switch taken {
            case .timer(let reference):
                let timer = reference.takeUnretainedValue()
                let position = try position(in: index) { $0.timer === timer }
                guard canFire(timer, index) else { continue }
                return fire(batches[index].due[position], timer, index)
            case .perform(let name, let due, _):
                let position = try position(in: index) { $0.name == name }
                return try perform(batches[index].due[position], due, &body, index)
            }
        }
        try expectSkipped(batches[index].done..<batches[index].due.count, index)
        try endBatch(&random)
    }

    /// As `Timer.canFireLocked`.
    func canFire(_ timer: GRunLoop.Timer, _ index: Int) -> Bool {
        timer.isValidLocked && timer.isIn(modes[batches[index].mode]) && !timer.isFiring
            && timer.dates.deadline <= batches[index].limit
    }

    func fire(_ entrant: Entrant, _ timer: GRunLoop.Timer, _ index: Int) {
        Journal.note("batch \(index) fires timer \(entrant.number)")
        timer.isFiring = true
        takeOut(entrant, timer)
        batches[index].called = entrant
        batches[index].held.append(timer)
    }

    func perform(
        _ entrant: Entrant, _ due: Nanoseconds, _ body: inout TimerSlots.Body?, _ index: Int
    ) throws {
        Journal.note("batch \(index) performs \(entrant.number)")
        let entry = entries[entrant.mode].first { $0.entrant === entrant }
        try expect(entry?.deadline, is: due, "the deadline of the perform")
        guard let called = body.take() else { throw Mismatch(text: "a perform has no closure") }
        try call(called, of: entrant)
        forget(entrant)
        batches[index].called = entrant
    }

    func endCallout(_ random: inout Random, ends: Bool) {
        guard let index = batches.indices.last, let entrant = batches[index].called else { return }
        batches[index].called = nil
        guard let timer = entrant.timer, timer.isFiring else {
            // The mode counts a perform until its callout has returned.
            modes[batches[index].mode].timerCount -= 1
            return
        }
        timer.isFiring = false
        guard timer.isValidLocked else { return }
        guard !ends, entrant.isKnown, random.once(in: 2) else { return invalidate(entrant) }
        let date = random.once(in: 2) ? batches[index].limit - 3 : now + Nanoseconds(random.below(9))
        Journal.note("timer \(entrant.number) is due again at \(date)")
        timer.dates.move(to: date, at: 0)
        putBack(entrant, timer)
    }

    /// The entry's position in the batch. Checks that the entries before it were skipped correctly.
    func position(in index: Int, _ isWanted: (Entrant) -> Bool) throws -> Int {
        let batch = batches[index]
        guard let position = (batch.done..<batch.due.count).first(where: { isWanted(batch.due[$0]) }) else {
            throw Mismatch(text: "batch \(index) takes what is not due in it, or takes it twice or too late")
        }
        try expectSkipped(batch.done..<position, index)
        batches[index].done = position + 1
        return position
    }

    func expectSkipped(_ range: Range<Int>, _ index: Int) throws {
        let batch = batches[index]
        for entrant in batch.due[range] {
            let isLeft =
                entrant.timer.map { canFire($0, index) }
                ?? entries[entrant.mode].contains { $0.entrant === entrant }
            try expect(!isLeft, "batch \(index) has skipped \(entrant.number)")
        }
    }

    func endBatch(_ random: inout Random) throws {
        guard !batches.isEmpty else { return }
        endCallout(&random, ends: false)
        let batch = batches.removeLast()
        Journal.note("end batch \(batches.count)")
        let released = modes[batch.mode].heap.endBatch(resuming: batch.outer)
        withExtendedLifetime((released, batch.held)) {}
    }

    // MARK: Comparison

    func check() throws {
        for mode in 0..<2 {
            let wanted = inOrder(mode)
            try expect(modes[mode].heap.count, is: wanted.count, "the entries of mode \(mode)")
            try expect(modes[mode].heap.earliest, is: wanted.first?.deadline ?? .never, "the earliest deadline")
            let hard = wanted.map { $0.deadline.addingSaturating($0.slack) }.min() ?? .never
            try expect(modes[mode].heap.wakeUpTime(), is: hard, "when to wake up")
            let due = wanted.filter { $0.deadline <= now }
            let found = modes[mode].heap.due(by: now)
            try expect(found.count, is: due.count, "how many are due")
            for (found, wanted) in zip(found, due) { try compare(found, wanted) }
            let timers = entrants.count { $0.timer?.isIn(modes[mode]) ?? false }
            let performs = wanted.count { $0.entrant.isPerform }
            let called = batches.count { $0.mode == mode && $0.called.map { !($0.timer?.isFiring ?? false) } ?? false }
            try expect(modes[mode].timerCount, is: timers + performs + called, "the count of mode \(mode)")
        }
        for entrant in entrants {
            guard let timer = entrant.timer else { continue }
            for mode in 0..<2 where timer.isIn(modes[mode]) {
                let isInHeap = entries[mode].contains { $0.entrant === entrant }
                try expect(timer.slot(in: modes[mode]) >= 0, is: isInHeap, "whether \(entrant.number) has a slot")
                try expect(isInHeap, is: !timer.isFiring, "whether \(entrant.number) is in the heap")
            }
        }
    }

    func compare(_ found: TimerHeap.Member, _ wanted: Entry) throws {
        switch found {
        case .timer(let timer): try expect(timer === wanted.entrant.timer, "another timer is due")
        case .perform(let name, let due):
            try expect(wanted.entrant.isPerform, "a perform is due in the place of a timer")
            try expect(name, is: wanted.entrant.name, "the perform that is due")
            try expect(due, is: wanted.deadline, "its deadline")
        }
    }
}
