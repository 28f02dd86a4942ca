// SPDX-License-Identifier: Apache-2.0
// The timers and delayed performs of one mode, ordered by deadline and then by the order of addition: an indexed 4-ary
// heap with cached keys.

import CGRun
import Glibc

/// Guarded by the loop's lock. What is ordered stands in ``TimerSlots``: an entry knows its slot, which does not
/// change, and the slot where the entry is.
struct TimerHeap: ~Copyable {
    /// What a sift compares and moves. The four children of an entry are 64 bytes.
    private struct Entry {
        let deadline: Nanoseconds
        /// The order of addition, which decides between equal deadlines, above the slot.
        let orderAndSlot: UInt64

        init(deadline: Nanoseconds, order: UInt32, slot: Int) {
            self.deadline = deadline
            orderAndSlot = UInt64(order) << 32 | UInt64(UInt32(truncatingIfNeeded: slot))
        }

        var order: UInt32 { UInt32(truncatingIfNeeded: orderAndSlot >> 32) }
        var slot: Int { Int(UInt32(truncatingIfNeeded: orderAndSlot)) }

        /// Both in one number, so that comparing needs no branch: half of them would be mispredicted.
        private var key: Int128 { Int128(deadline) << 64 | Int128(orderAndSlot) }

        func precedes(_ other: Entry) -> Bool { key < other.key }
    }

    private var capacity = 1
    private var entries: UnsafeMutablePointer<Entry>
    private var slots: TimerSlots
    /// Read by tests only.
    private(set) var count = 0
    /// How many were ever added. An entry's order is the number of its addition, counted from `base`.
    private var additions: UInt64 { base + UInt64(lastOrder) }
    private var base: UInt64 = 0
    private var lastOrder: UInt32 = 0
    private let greatestOrder: UInt32
    /// What ``wakeUpTime()`` computed, until the heap changes.
    private var window: Nanoseconds?
    /// How many of the timers have a tolerance. In the usual case of none, the first timer decides.
    private var tolerant = 0
    private var batch = Batch()

    /// For tests: after `greatestOrder` additions they are numbered again, and after `greatestUse` uses the slot of a
    /// closure is left alone.
    init(
        greatestOrder: UInt32 = .max,
        greatestUse: UInt32 = perturbs(CGRUN_SITE_COUNTER) ? 2 : TimerSlots.greatestUse
    ) {
        self.greatestOrder = greatestOrder
        slots = TimerSlots(greatestUse: greatestUse)
        entries = Table.memory(nil, for: capacity)
    }

    deinit {
        for index in 0..<count where !slots.isTimer(entries[index].slot) {
            _ = slots.takeBody(from: entries[index].slot)
        }
        free(entries)
    }

    private func additionNumber(of entry: Entry) -> UInt64 { base + UInt64(entry.order) }

    /// How much later than its deadline it may fire.
    private func slack(of entry: Entry) -> Nanoseconds {
        guard slots.isTimer(entry.slot) else { return 0 }
        return slots.timer(of: entry.slot)._withUnsafeGuaranteedRef { $0.dates.slack }
    }

    /// The earliest deadline.
    var earliest: Nanoseconds { count > 0 ? entries[0].deadline : .never }

    // MARK: Timers

    mutating func insert(_ timer: GRunLoop.Timer, in mode: ModeState) {
        let slot = slots.add(.passUnretained(timer))
        timer.setSlot(slot, in: mode)
        if timer.dates.slack > 0 { tolerant += 1 }
        insert(slot, at: timer.dates.deadline)
    }

    mutating func remove(_ timer: GRunLoop.Timer, from slot: Int, in mode: ModeState) {
        let index = slots[place: slot]
        // An invalidated one loses its turn; any other keeps it.
        if entries[index].deadline <= batch.limit, timer.isValidLocked { listBatch() }
        takeOut(timer, at: index, in: mode)
    }

    private mutating func takeOut(_ timer: GRunLoop.Timer, at index: Int, in mode: ModeState) {
        timer.setSlot(-1, in: mode)
        // Its tolerance changes only while it is not in the heap.
        if timer.dates.slack > 0 { tolerant -= 1 }
        takeOut(at: index)
    }

    // MARK: Delayed performs

    typealias Name = TimerSlots.Name

    mutating func insert(
        _ body: consuming @escaping TimerSlots.Body, at deadline: Nanoseconds, isCommon: Bool
    ) -> Name {
        let slot = slots.add(body, isCommon: isCommon)
        insert(slot, at: deadline)
        return slots.name(of: slot)
    }

    /// What has a name: the closure itself, or the timer that has its name since it took its place.
    enum Occupant {
        case perform(TimerSlots.Body)
        case timer(GRunLoop.Timer)
    }

    /// A closure leaves the heap; a timer is to be invalidated. Nil if there is neither any more.
    mutating func takeOut(_ name: Name) -> Occupant? {
        guard let slot = slots.slot(named: name) else { return nil }
        if slots.isTimer(slot) { return .timer(slots.timer(of: slot).takeUnretainedValue()) }
        return .perform(takeOut(bodyAt: slots[place: slot]))
    }

    private mutating func takeOut(bodyAt index: Int) -> TimerSlots.Body {
        let body = slots.takeBody(from: entries[index].slot)
        takeOut(at: index)
        return body
    }

    /// Puts a timer of the same deadline in the place of a closure.
    mutating func replace(
        _ name: Name, in mode: ModeState, by makeTimer: (Nanoseconds, @escaping TimerSlots.Body) -> GRunLoop.Timer
    ) -> GRunLoop.Timer {
        let slot = Int(name.slot)
        let timer = makeTimer(entries[slots[place: slot]].deadline, slots.takeBody(from: slot))
        slots.put(.passUnretained(timer), inPlaceOfBodyAt: slot)
        timer.setSlot(slot, in: mode)
        if timer.dates.slack > 0 { tolerant += 1 }
        window = nil
        checkInvariants()
        return timer
    }

    /// Those that are to join every mode that becomes common, in firing order.
    var commonPerforms: [Name] {
        (0..<count).map { entries[$0] }.filter { slots.isCommon($0.slot) }
            .sorted { $0.precedes($1) }.map { slots.name(of: $0.slot) }
    }

    // MARK: Both

    private mutating func insert(_ slot: Int, at deadline: Nanoseconds) {
        if count == capacity { grow() }
        if lastOrder >= greatestOrder { numberAnew() }
        lastOrder += 1
        count += 1
        window = nil
        siftUp(Entry(deadline: deadline, order: lastOrder, slot: slot), at: count - 1)
        checkInvariants()
    }

    @inline(__always) private mutating func takeOut(at index: Int) {
        slots.giveBack(entries[index].slot)
        count -= 1
        window = nil
        defer { checkInvariants() }
        guard index < count else { return }
        let last = entries[count]
        if index > 0, last.precedes(entries[(index - 1) >> 2]) {
            siftUp(last, at: index)
        } else {
            siftDown(last, at: index)
        }
    }

    /// The numbers are used up: all get new ones in the same order, all greater than any before. So that no batch takes
    /// them for its own, the rest of the current batch is listed; batches of outer runs are listed already, or have no
    /// rest.
    private mutating func numberAnew() {
        listBatch()
        let order = (0..<count).sorted { entries[$0].order < entries[$1].order }
        base = additions
        lastOrder = UInt32(count)
        for (number, index) in order.enumerated() {
            entries[index] = Entry(
                deadline: entries[index].deadline, order: UInt32(number + 1), slot: entries[index].slot)
        }
    }

    // MARK: The batch

    /// What was due when a pass began to fire. Normally the keys of the heap tell what that is, and it is taken out one
    /// by one: a pass may have time for only a few of a hundred thousand. It is listed only if something of it leaves
    /// the heap otherwise.
    struct Batch {
        fileprivate var limit = Nanoseconds.min
        /// What was added later waits for the next pass.
        fileprivate var lastAddition: UInt64 = 0
        /// The rest of the batch, from `next` on, once the keys do not tell it any more.
        fileprivate var list: [Member]?
        fileprivate var next = 0
    }

    /// What fires next.
    enum Taken {
        /// It has left the heap, unless the batch is listed: then it may have left the mode as well.
        case timer(Unmanaged<GRunLoop.Timer>)
        /// It has left the heap. The mode still counts it.
        case perform(Name, due: Nanoseconds, isCommon: Bool)
    }

    /// Begins a batch of what is due at `limit` or earlier. Returns the outer batch if this run is nested in one.
    mutating func beginBatch(by limit: Nanoseconds) -> Batch {
        if earliest <= batch.limit { listBatch() }
        let outer = batch
        batch = Batch(limit: limit, lastAddition: additions)
        return outer
    }

    /// - Parameter body: nil when called; of a perform it is the closure afterwards, its one reference, which is let go
    ///   where no lock is held.
    mutating func nextOfBatch(in mode: ModeState, _ body: inout TimerSlots.Body?) -> Taken? {
        if batch.list == nil {
            guard earliest <= batch.limit else { return nil }
            if additionNumber(of: entries[0]) <= batch.lastAddition {
                let taken = takeOutFirst(in: mode, &body)
                // The next one is needed when the callout of this one has returned.
                if count > 0 { prefetch(entries[0]) }
                return taken
            }
            // What was added meanwhile, with an earlier date, hides the rest of the batch.
            listBatch()
        }
        return nextOfList(&body)
    }

    private mutating func takeOutFirst(in mode: ModeState, _ body: inout TimerSlots.Body?) -> Taken {
        let first = entries[0]
        guard slots.isTimer(first.slot) else {
            let (name, isCommon) = (slots.name(of: first.slot), slots.isCommon(first.slot))
            body = takeOut(bodyAt: 0)
            return .perform(name, due: first.deadline, isCommon: isCommon)
        }
        let timer = slots.timer(of: first.slot)
        timer._withUnsafeGuaranteedRef { takeOut($0, at: 0, in: mode) }
        return .timer(timer)
    }

    private mutating func nextOfList(_ body: inout TimerSlots.Body?) -> Taken? {
        guard let list = batch.list else { return nil }
        while batch.next < list.count {
            batch.next += 1
            switch list[batch.next - 1] {
            case .timer(let timer): return .timer(.passUnretained(timer))
            case .perform(let name, let due):
                // It may have been cancelled, or performed by a nested run.
                guard let slot = slots.slot(named: name) else { continue }
                if slots.isTimer(slot) { return .timer(slots.timer(of: slot)) }
                let isCommon = slots.isCommon(slot)
                body = takeOut(bodyAt: slots[place: slot])
                return .perform(name, due: due, isCommon: isCommon)
            }
        }
        return nil
    }

    /// Sifts do not touch the timers: without a prefetch each would be a cache miss when its turn comes.
    private func prefetch(_ entry: Entry) {
        guard slots.isTimer(entry.slot) else { return }
        let timer = slots.timer(of: entry.slot).toOpaque()
        cgrun_prefetch(timer)
        cgrun_prefetch(timer + 64)
    }

    /// Resumes the outer batch. Returns what is to be released after the lock.
    mutating func endBatch(resuming outer: Batch) -> [Member] {
        defer { batch = outer }
        return batch.list ?? []
    }

    /// Lists the rest of the batch, because keys are about to change: a timer that is moved, or fired by a nested run,
    /// keeps its turn.
    private mutating func listBatch() {
        guard batch.list == nil else { return }
        batch.list = due(by: batch.limit, addedUpTo: batch.lastAddition)
    }

    // MARK: What is there

    /// For those who look, and for a list, which does not change while the heap does.
    enum Member {
        case timer(GRunLoop.Timer)
        case perform(Name, due: Nanoseconds)
    }

    private func member(_ entry: Entry) -> Member {
        guard slots.isTimer(entry.slot) else {
            return .perform(slots.name(of: entry.slot), due: entry.deadline)
        }
        return .timer(slots.timer(of: entry.slot).takeUnretainedValue())
    }

    /// That of the earliest deadline.
    var first: Member? { count > 0 ? member(entries[0]) : nil }

    /// What is due at `limit` or earlier, in firing order.
    func due(by limit: Nanoseconds, addedUpTo lastAddition: UInt64 = .max) -> [Member] {
        guard earliest <= limit, count > 0 else { return [] }
        var due: [Entry] = []
        var parents = [0]
        var next = 0
        while next < parents.count {
            let parent = parents[next]
            next += 1
            if additionNumber(of: entries[parent]) <= lastAddition { due.append(entries[parent]) }
            let firstChild = 4 * parent + 1
            for child in firstChild..<Swift.max(firstChild, Swift.min(firstChild + 4, count))
            where entries[child].deadline <= limit {
                parents.append(child)
            }
        }
        due.sort { $0.precedes($1) }
        return due.map { member($0) }
    }

    /// Those of the timers that are in the heap, in firing order.
    func inFiringOrder(_ timers: [GRunLoop.Timer], in mode: ModeState) -> [GRunLoop.Timer] {
        timers.compactMap { timer -> (entry: Entry, timer: GRunLoop.Timer)? in
            let slot = timer.slot(in: mode)
            return slot < 0 ? nil : (entries[slots[place: slot]], timer)
        }
        .sorted { $0.entry.precedes($1.entry) }.map(\.timer)
    }

    /// Everything, in no order.
    var all: [Member] { (0..<count).map { member(entries[$0]) } }

    /// When the loop must wake up: the earliest point at which one of them may be no later. At that time everything
    /// whose deadline has passed fires with it.
    mutating func wakeUpTime() -> Nanoseconds {
        guard tolerant > 0 else { return earliest }
        if let window { return window }
        var hard = hardDeadline(of: entries[0])
        var next = 0
        var parents = [0]
        // Only what has its deadline inside the window can narrow it, and it fires with it.
        while next < parents.count {
            let firstChild = 4 * parents[next] + 1
            next += 1
            for child in firstChild..<Swift.max(firstChild, Swift.min(firstChild + 4, count))
            where entries[child].deadline <= hard {
                hard = Swift.min(hard, hardDeadline(of: entries[child]))
                parents.append(child)
            }
        }
        window = hard
        return hard
    }

    /// The latest point at which it may fire.
    private func hardDeadline(of entry: Entry) -> Nanoseconds {
        entry.deadline.addingSaturating(slack(of: entry))
    }

    // MARK: The heap

    private mutating func grow() {
        capacity = Table.grown(capacity)
        entries = Table.memory(entries, for: capacity)
    }

    private mutating func place(_ entry: Entry, at index: Int) {
        entries[index] = entry
        slots[place: entry.slot] = index
    }

    private mutating func siftUp(_ entry: Entry, at start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) >> 2
            guard entry.precedes(entries[parent]) else { break }
            place(entries[parent], at: index)
            index = parent
        }
        place(entry, at: index)
    }

    private mutating func siftDown(_ entry: Entry, at start: Int) {
        var index = start
        while true {
            let firstChild = 4 * index + 1
            guard firstChild < count else { break }
            let least = firstChild + 3 < count ? leastOfFour(from: firstChild) : least(from: firstChild)
            guard entries[least].precedes(entry) else { break }
            place(entries[least], at: index)
            index = least
        }
        place(entry, at: index)
    }

    private func leastOfFour(from first: Int) -> Int {
        let low = first + (entries[first + 1].precedes(entries[first]) ? 1 : 0)
        let high = first + 2 + (entries[first + 3].precedes(entries[first + 2]) ? 1 : 0)
        return entries[high].precedes(entries[low]) ? high : low
    }

    private func least(from first: Int) -> Int {
        var least = first
        for child in (first + 1)..<count where entries[child].precedes(entries[least]) { least = child }
        return least
    }

    /// In debug builds: each entry stands behind its parent, and its slot knows where.
    @inline(__always) private func checkInvariants() {
        #if DEBUG
            invariant(0...capacity ~= count && 0...count ~= tolerant, "a heap's counts fit in it")
            guard count <= Invariant.few else { return }
            for index in 0..<count {
                invariant(slots[place: entries[index].slot] == index, "a slot knows its place in the heap")
                invariant(entries[index].order <= lastOrder, "an entry was numbered before")
                invariant(index == 0 || entries[(index - 1) >> 2].precedes(entries[index]), "a heap is in order")
            }
            invariant((0..<count).count { slack(of: entries[$0]) > 0 } == tolerant, "tolerant timers are counted")
        #endif
    }
}
