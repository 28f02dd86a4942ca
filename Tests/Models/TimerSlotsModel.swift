// SPDX-License-Identifier: Apache-2.0
// The slots of a timer heap: timers, closures, and timers that replace a closure.

@testable import GRunLoop

final class TimerSlotsModel: Model {
    static let name = "TimerSlots"

    private struct Body {
        let name: TimerSlots.Name
        let number: Int
        let isCommon: Bool
        let place: Int
    }

    private struct StandIn {
        let name: TimerSlots.Name
        let timer: GRunLoop.Timer
        let place: Int
    }

    private var slots: TimerSlots
    private var timers: [(slot: Int, timer: GRunLoop.Timer, place: Int)] = []
    private var bodies: [Body] = []
    private var standIns: [StandIn] = []
    /// Names that are no longer in use. No later closure may get one of them.
    private var formerNames: Set<TimerSlots.Name> = []
    private var made = 0
    private let called = Shared(0)

    init(_ random: inout Random) {
        let greatestUse: UInt32 = random.once(in: 2) ? UInt32(1 + random.below(3)) : .max >> 2
        // Use counts near their maximum.
        let firstUse = random.once(in: 2) ? greatestUse - UInt32(Swift.min(2, Int(greatestUse))) : 0
        slots = TimerSlots(greatestUse: greatestUse, firstUse: firstUse)
        Journal.note("greatest use \(greatestUse), first use \(firstUse)")
    }

    func step(_ random: inout Random) throws {
        switch random.below(10) {
        case 0, 1: try addTimer()
        case 2: try removeTimer(&random)
        case 3...5: try addBody(isCommon: random.once(in: 2))
        case 6, 7: try takeBody(&random)
        case 8: replaceBody(&random)
        default: removeStandIn(&random)
        }
        try check()
    }

    func finish() throws {
        for body in bodies {
            guard let slot = slots.slot(named: body.name) else { throw Mismatch(text: "a closure lost its slot") }
            _ = slots.takeBody(from: slot)
            slots.giveBack(slot)
        }
        bodies = []
        try expect(Counted.count, is: 0, "closures that were not released")
    }

    // MARK: Operations

    private func addTimer() throws {
        made += 1
        let timer = Self.timer()
        let slot = slots.add(.passUnretained(timer))
        Journal.note("add timer \(made): slot \(slot)")
        try expect(!timers.contains { $0.slot == slot }, "the slot \(slot) is used already")
        slots[place: slot] = made
        timers.append((slot, timer, made))
    }

    private func removeTimer(_ random: inout Random) throws {
        guard !timers.isEmpty else { return }
        let (slot, timer, _) = timers.remove(at: random.below(timers.count))
        Journal.note("give back slot \(slot)")
        try expect(slots.timer(of: slot).takeUnretainedValue() === timer, "another timer is in the slot")
        slots.giveBack(slot)
    }

    private func addBody(isCommon: Bool) throws {
        made += 1
        let counted = Counted(made)
        let slot = slots.add({ [called] in called.value = counted.number }, isCommon: isCommon)
        let name = slots.name(of: slot)
        Journal.note("add closure \(made): slot \(name.slot), use \(name.use)")
        let known = formerNames.union(bodies.map(\.name)).union(standIns.map(\.name))
        try expect(!known.contains(name), "the name \(name) was given before")
        slots[place: slot] = made
        bodies.append(Body(name: name, number: made, isCommon: isCommon, place: made))
    }

    private func takeBody(_ random: inout Random) throws {
        guard !bodies.isEmpty else { return }
        let body = bodies.remove(at: random.below(bodies.count))
        Journal.note("take closure \(body.number)")
        guard let slot = slots.slot(named: body.name) else { throw Mismatch(text: "the closure lost its slot") }
        called.value = 0
        slots.takeBody(from: slot)()
        try expect(called.value, is: body.number, "the closure in the slot")
        slots.giveBack(slot)
        formerNames.insert(body.name)
    }

    private func replaceBody(_ random: inout Random) {
        guard !bodies.isEmpty else { return }
        let body = bodies.remove(at: random.below(bodies.count))
        Journal.note("a timer takes the place of closure \(body.number)")
        let slot = Int(body.name.slot)
        _ = slots.takeBody(from: slot)
        let timer = Self.timer()
        slots.put(.passUnretained(timer), inPlaceOfBodyAt: slot)
        standIns.append(StandIn(name: body.name, timer: timer, place: body.place))
    }

    private func removeStandIn(_ random: inout Random) {
        guard !standIns.isEmpty else { return }
        let standIn = standIns.remove(at: random.below(standIns.count))
        Journal.note("give back the slot of a timer that took a closure's place")
        slots.giveBack(Int(standIn.name.slot))
        formerNames.insert(standIn.name)
    }

    private static func timer() -> GRunLoop.Timer {
        GRunLoop.Timer(date: 1, period: 0, tolerance: .zero, at: 0) { _ in }
    }

    // MARK: Comparison

    private func check() throws {
        for body in bodies {
            guard let slot = slots.slot(named: body.name) else { throw Mismatch(text: "a closure lost its name") }
            try expect(!slots.isTimer(slot), "a closure counts as a timer")
            try expect(slots.isCommon(slot), is: body.isCommon, "whether a closure is common")
            try expect(slots[place: slot], is: body.place, "the place of closure \(body.number)")
        }
        for standIn in standIns {
            guard let slot = slots.slot(named: standIn.name) else { throw Mismatch(text: "a timer lost its name") }
            try expect(slots.isTimer(slot) && !slots.isCommon(slot), "a timer in a closure's place")
            try expect(slots.timer(of: slot).takeUnretainedValue() === standIn.timer, "another timer")
            try expect(slots[place: slot], is: standIn.place, "the place of a timer in a closure's place")
        }
        for (slot, timer, place) in timers {
            try expect(slots.isTimer(slot) && !slots.isCommon(slot), "the slot of a timer")
            try expect(slots.timer(of: slot).takeUnretainedValue() === timer, "another timer is in slot \(slot)")
            try expect(slots[place: slot], is: place, "the place of the timer in slot \(slot)")
        }
        try expect(formerNames.allSatisfy { slots.slot(named: $0) == nil }, "a former name still has a slot")
        try expect(Counted.count, is: bodies.count, "closures that are alive")
    }
}
