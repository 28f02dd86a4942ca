// SPDX-License-Identifier: Apache-2.0
// The changes of the timer heap model: it adds, moves and removes timers and performs, between batches and inside them.

@testable import GRunLoop

extension TimerHeapModel {
    func change(_ random: inout Random) throws {
        if entrants.count > 40 { invalidate(random.element(of: entrants)) }
        switch random.below(12) {
        case 0, 1: addTimer(to: random.below(2), at: date(&random), slack: [0, 0, 0, 5, 20][random.below(5)])
        case 2, 3: addPerform(to: random.below(2), at: date(&random), isCommon: random.once(in: 2))
        case 4: join(random.element(of: entrants), mode: random.below(2))
        case 5: leave(random.element(of: entrants), mode: random.below(2), comesBack: random.once(in: 2))
        case 6, 7: move(random.element(of: entrants), to: date(&random))
        case 8: setSlack(random.element(of: entrants), random.once(in: 2) ? 0 : 7)
        case 9: invalidate(random.element(of: entrants))
        case 10: try cancel(random.element(of: entrants))
        default: try replace(random.element(of: entrants), slack: random.below(2) * 4)
        }
    }

    func date(_ random: inout Random) -> Nanoseconds { now + Nanoseconds(random.below(40)) - 15 }

    func makeTimer(_ number: Int, at date: Nanoseconds, slack: Int) -> GRunLoop.Timer {
        let counted = Counted(number)
        return GRunLoop.Timer(date: date, period: 0, tolerance: .nanoseconds(slack), at: date) { _ in
            withExtendedLifetime(counted) {}
        }
    }

    func addTimer(to mode: Int, at date: Nanoseconds, slack: Int) {
        made += 1
        Journal.note("add timer \(made) to mode \(mode), due at \(date), slack \(slack)")
        let entrant = Entrant(made, mode: mode)
        let timer = makeTimer(made, at: date, slack: slack)
        entrant.timer = timer
        entrants.append(entrant)
        modes[mode].insert(timer)
        put(entrant, in: mode)
    }

    func addPerform(to mode: Int, at date: Nanoseconds, isCommon: Bool) {
        made += 1
        Journal.note("add perform \(made) to mode \(mode), due at \(date)")
        let entrant = Entrant(made, mode: mode)
        let counted = Counted(made)
        let body: @Sendable () -> Void = { [calledBody] in calledBody.value = counted.number }
        entrant.name = modes[mode].insert(body, at: date, isCommon: isCommon).name
        entrants.append(entrant)
        additions += 1
        entries[mode].append(Entry(entrant: entrant, deadline: date, addition: additions, slack: 0))
    }

    func join(_ entrant: Entrant?, mode: Int) {
        guard let entrant, let timer = entrant.timer, timer.isValidLocked, !timer.isIn(modes[mode]) else { return }
        Journal.note("timer \(entrant.number) joins mode \(mode)")
        modes[mode].insert(timer)
        if !timer.isFiring { put(entrant, in: mode) }
    }

    func leave(_ entrant: Entrant?, mode: Int, comesBack: Bool) {
        guard let entrant, let timer = entrant.timer, entrant.isKnown, timer.isIn(modes[mode]) else { return }
        Journal.note("timer \(entrant.number) leaves mode \(mode)\(comesBack ? " and comes back" : "")")
        modes[mode].remove(timer)
        entries[mode].removeAll { $0.entrant === entrant }
        if comesBack {
            modes[mode].insert(timer)
            if !timer.isFiring { put(entrant, in: mode) }
        }
    }

    func move(_ entrant: Entrant?, to date: Nanoseconds) {
        guard let entrant, let timer = entrant.timer, entrant.isKnown, timer.isValidLocked else { return }
        Journal.note("move timer \(entrant.number) to \(date)")
        takeOut(entrant, timer)
        timer.dates.move(to: date, at: 0)
        if !timer.isFiring { putBack(entrant, timer) }
    }

    func setSlack(_ entrant: Entrant?, _ slack: Int) {
        guard let entrant, let timer = entrant.timer, entrant.isKnown, timer.isValidLocked else { return }
        Journal.note("timer \(entrant.number) has slack \(slack)")
        takeOut(entrant, timer)
        timer.dates.setTolerance(.nanoseconds(slack))
        if !timer.isFiring { putBack(entrant, timer) }
    }

    func invalidate(_ entrant: Entrant?) {
        guard let entrant, let timer = entrant.timer else { return }
        Journal.note("invalidate timer \(entrant.number)")
        timer.isValidLocked = false
        for mode in 0..<2 where timer.isIn(modes[mode]) { modes[mode].remove(timer) }
        for mode in 0..<2 { entries[mode].removeAll { $0.entrant === entrant } }
        entrants.removeAll { $0 === entrant }
    }

    func cancel(_ entrant: Entrant?) throws {
        guard let entrant, entrant.isPerform, let name = entrant.name else { return }
        Journal.note("cancel perform \(entrant.number)")
        guard case .perform(let body) = modes[entrant.mode].remove(name) else {
            throw Mismatch(text: "the perform \(entrant.number) is not in the heap")
        }
        try call(body, of: entrant)
        forget(entrant)
        try expect(modes[entrant.mode].remove(name) == nil, "a perform can be cancelled twice")
    }

    func replace(_ entrant: Entrant?, slack: Int) throws {
        guard let entrant, entrant.isPerform, let name = entrant.name else { return }
        Journal.note("a timer takes the place of perform \(entrant.number), slack \(slack)")
        guard let index = entries[entrant.mode].firstIndex(where: { $0.entrant === entrant }) else { return }
        var found: Nanoseconds = 0
        entrant.timer = modes[entrant.mode].replace(name) { deadline, _ in
            found = deadline
            return makeTimer(entrant.number, at: deadline, slack: slack)
        }
        try expect(found, is: entries[entrant.mode][index].deadline, "the deadline")
        entries[entrant.mode][index].slack = Nanoseconds(slack)
    }

    // MARK: The model's heaps

    func put(_ entrant: Entrant, in mode: Int) {
        guard let timer = entrant.timer else { return }
        additions += 1
        entries[mode].append(
            Entry(
                entrant: entrant, deadline: timer.dates.deadline, addition: additions, slack: timer.dates.slack))
    }

    func takeOut(_ entrant: Entrant, _ timer: GRunLoop.Timer) {
        timer.leaveHeaps()
        for mode in 0..<2 { entries[mode].removeAll { $0.entrant === entrant } }
    }

    func putBack(_ entrant: Entrant, _ timer: GRunLoop.Timer) {
        // The order of Timer.returnToHeaps. A mode does not depend on it.
        for mode in 0..<2 where timer.isIn(modes[mode]) {
            modes[mode].heap.insert(timer, in: modes[mode])
            put(entrant, in: mode)
        }
    }

    func forget(_ entrant: Entrant) {
        entries[entrant.mode].removeAll { $0.entrant === entrant }
        entrants.removeAll { $0 === entrant }
    }

    func inOrder(_ mode: Int) -> [Entry] {
        entries[mode].sorted { ($0.deadline, $0.addition) < ($1.deadline, $1.addition) }
    }

    func call(_ body: TimerSlots.Body, of entrant: Entrant) throws {
        calledBody.value = 0
        body()
        try expect(calledBody.value, is: entrant.number, "the closure of the perform")
    }
}
