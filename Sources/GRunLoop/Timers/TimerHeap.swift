// SPDX-License-Identifier: Apache-2.0
// The timers and delayed performs of one mode, in an indexed 4-ary heap.

import CGRun
import Glibc

/// The timers and delayed performs of a mode, sorted by deadline and then by the order in which they were added.
/// Guarded by the loop's lock.
///
/// The timers and closures are in ``TimerSlots``. An entry of the heap holds the number of a slot, and the slot holds
/// the entry's current index. An entry moves within the heap, but its slot does not change.
struct TimerHeap: ~Copyable {
    /// An entry of the heap, which is the key that a sift compares and moves. The four children of an entry take 64
    /// bytes, the size of a cache line.
    private struct Entry {
        let deadline: Nanoseconds
        /// The upper half is the order of addition, which orders equal deadlines. The lower half is the slot.
        let orderAndSlot: UInt64

        init(deadline: Nanoseconds, order: UInt32, slot: Int) {
            self.deadline = deadline
            orderAndSlot = UInt64(order) << 32 | UInt64(UInt32(truncatingIfNeeded: slot))
        }

        var order: UInt32 { UInt32(truncatingIfNeeded: orderAndSlot >> 32) }
        var slot: Int { Int(UInt32(truncatingIfNeeded: orderAndSlot)) }

        /// Both fields as one number, so that a comparison needs no branch. The processor would mispredict a branch in
        /// half of the comparisons.
        private var key: Int128 { Int128(deadline) << 64 | Int128(orderAndSlot) }

        func precedes(_ other: Entry) -> Bool { key < other.key }
    }

    private var capacity = 1
    private var entries: UnsafeMutablePointer<Entry>
    private var slots: TimerSlots
    /// How many entries the heap has. Outside of this type, only tests read this property.
    private(set) var count = 0
    /// The number of the last addition. The `order` of an entry is the number of its addition, counted from `base`.
    private var additions: UInt64 { base + UInt64(lastOrder) }
    private var base: UInt64 = 0
    private var lastOrder: UInt32 = 0
    private let greatestOrder: UInt32
    /// The last result of ``wakeUpTime()``; nil after a change of the heap.
    private var window: Nanoseconds?
    /// How many timers of the heap have a tolerance. Usually the number is 0, and then the wake-up time is the earliest
    /// deadline.
    private var tolerant = 0
    private var batch = Batch()

    /// Both parameters are for tests. After `greatestOrder` additions, all entries get new order numbers. After
    /// `greatestUse` uses, the slot of a closure is never used again.
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

    private func slack(of entry: Entry) -> Nanoseconds {
        guard slots.isTimer(entry.slot) else { return 0 }
        return slots.timer(of: entry.slot)._withUnsafeGuaranteedRef { $0.dates.slack }
    }

    /// The earliest deadline; `never` if the heap is empty.
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
        // An invalidated timer loses its turn in the batch. Any other timer keeps its turn, so the rest of the batch is
        // put into a list before the timer leaves the heap.
        if entries[index].deadline <= batch.limit, timer.isValidLocked { listBatch() }
        takeOut(timer, at: index, in: mode)
    }

    private mutating func takeOut(_ timer: GRunLoop.Timer, at index: Int, in mode: ModeState) {
        timer.setSlot(-1, in: mode)
        // The timer's tolerance has not changed since the timer was counted, because it changes only while the timer is
        // not in the heap.
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

    /// The occupant of a slot: a closure, or a timer that has replaced the closure.
    enum Occupant {
        case perform(TimerSlots.Body)
        case timer(GRunLoop.Timer)
    }

    /// Removes the closure with this name from the heap, and returns it. If a timer has replaced the closure, removes
    /// and returns the timer, which the caller invalidates. Returns nil if neither is in the heap.
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

    /// Replaces the closure with this name by a timer with the closure's deadline and name.
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

    /// The performs that join each mode that becomes common, in firing order.
    var commonPerforms: [Name] {
        (0..<count).map { entries[$0] }.filter { slots.isCommon($0.slot) }
            .sorted { $0.precedes($1) }.map { slots.name(of: $0.slot) }
    }

    // MARK: Timers and delayed performs

    private mutating func insert(_ slot: Int, at deadline: Nanoseconds) {
        if count == capacity { grow() }
        if lastOrder >= greatestOrder { renumber() }
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

    /// Gives all entries new order numbers, because the numbers are used up. The entries keep their order.
    ///
    /// A batch recognizes its entries by their numbers, so the rest of the current batch is put into a list first. The
    /// batches of outer runs are lists already, or have no entry left. The new numbers are greater than all former
    /// numbers, so no batch mistakes a later addition for its own entry.
    private mutating func renumber() {
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

    /// The timers and delayed performs that were due when a pass began to fire timers.
    ///
    /// Usually the keys of the heap show which entries belong to the batch, and the pass removes these entries one by
    /// one. No list is made, because the pass may have time for only a few of a hundred thousand entries. The batch
    /// becomes a list when the keys no longer identify its entries, for example when a timer is moved before its turn.
    struct Batch {
        fileprivate var limit = Nanoseconds.min
        /// The number of the last addition that belongs to the batch. Later additions wait for the next pass.
        fileprivate var lastAddition: UInt64 = 0
        /// The rest of the batch, from index `next` on; nil while the keys show the batch.
        fileprivate var list: [Member]?
        fileprivate var next = 0
    }

    /// The next timer or delayed perform of a batch.
    enum Taken {
        /// If the batch is a list, the timer may still be in the heap, or may have left the mode. Otherwise the timer
        /// was taken out of the heap.
        case timer(Unmanaged<GRunLoop.Timer>)
        /// The perform was taken out of the heap, but is still in the mode's `timerCount`.
        case perform(Name, due: Nanoseconds, isCommon: Bool)
    }

    /// Begins a batch of the entries that are due at `limit` or earlier. Returns the former batch, which belongs to the
    /// outer run if this run is nested.
    mutating func beginBatch(by limit: Nanoseconds) -> Batch {
        if earliest <= batch.limit { listBatch() }
        let outer = batch
        batch = Batch(limit: limit, lastAddition: additions)
        return outer
    }

    /// Removes and returns the next timer or delayed perform of the batch; nil if there is none.
    ///
    /// - Parameter body: the caller passes nil. For a perform, this function sets `body` to the only reference to the
    ///   closure. The caller releases the closure without a lock.
    mutating func nextOfBatch(in mode: ModeState, _ body: inout TimerSlots.Body?) -> Taken? {
        if batch.list == nil {
            guard earliest <= batch.limit else { return nil }
            if additionNumber(of: entries[0]) <= batch.lastAddition {
                let taken = takeOutFirst(in: mode, &body)
                // Prefetches the timer of the next entry, because the pass needs this timer right after the callout.
                if count > 0 { prefetch(entries[0]) }
                return taken
            }
            // A later entry with an earlier deadline is now first in the heap, before the rest of the batch.
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
                // The perform may have been cancelled, or a nested run may have performed it.
                guard let slot = slots.slot(named: name) else { continue }
                if slots.isTimer(slot) { return .timer(slots.timer(of: slot)) }
                let isCommon = slots.isCommon(slot)
                body = takeOut(bodyAt: slots[place: slot])
                return .perform(name, due: due, isCommon: isCommon)
            }
        }
        return nil
    }

    /// Prefetches the timer of an entry. Sifts do not touch the timers, so without the prefetch each timer would be a
    /// cache miss.
    private func prefetch(_ entry: Entry) {
        guard slots.isTimer(entry.slot) else { return }
        let timer = slots.timer(of: entry.slot).toOpaque()
        cgrun_prefetch(timer)
        cgrun_prefetch(timer + 64)
    }

    /// Ends the batch and resumes the outer run's batch. The caller releases the result without the lock.
    mutating func endBatch(resuming outer: Batch) -> [Member] {
        defer { batch = outer }
        return batch.list ?? []
    }

    /// Puts the rest of the batch into a list, because the heap's keys are about to change. With the list, a timer that
    /// is moved or that a nested run fires keeps its turn.
    private mutating func listBatch() {
        guard batch.list == nil else { return }
        batch.list = due(by: batch.limit, addedUpTo: batch.lastAddition)
    }

    // MARK: Members

    /// A timer or delayed perform of the heap, for callers that inspect the heap and for the list of a batch.
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

    /// The member with the earliest deadline; nil if the heap is empty.
    var first: Member? { count > 0 ? member(entries[0]) : nil }

    /// The members that are due at `limit` or earlier, in firing order. Does not include members that were added after
    /// `lastAddition`.
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

    /// Returns those of the given timers that are in the heap, in firing order.
    func inFiringOrder(_ timers: [GRunLoop.Timer], in mode: ModeState) -> [GRunLoop.Timer] {
        timers.compactMap { timer -> (entry: Entry, timer: GRunLoop.Timer)? in
            let slot = timer.slot(in: mode)
            return slot < 0 ? nil : (entries[slots[place: slot]], timer)
        }
        .sorted { $0.entry.precedes($1.entry) }.map(\.timer)
    }

    /// All members, in no particular order.
    var all: [Member] { (0..<count).map { member(entries[$0]) } }

    /// Returns the time at which the loop must wake up: the earliest time at which an entry has used up its tolerance.
    /// At this time, all entries whose deadline has passed fire together.
    mutating func wakeUpTime() -> Nanoseconds {
        guard tolerant > 0 else { return earliest }
        if let window { return window }
        var hard = hardDeadline(of: entries[0])
        var next = 0
        var parents = [0]
        // An entry whose deadline is later than `hard` cannot make `hard` earlier, and neither can its children.
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

    /// The latest time at which the entry may fire.
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

    @inline(__always) private func checkInvariants() {
        #if DEBUG
            invariant(0...capacity ~= count && 0...count ~= tolerant, "a heap's counts fit in it")
            guard count <= Invariant.few else { return }
            for index in 0..<count {
                invariant(slots[place: entries[index].slot] == index, "a slot knows its place in the heap")
                invariant(entries[index].order <= lastOrder, "no entry has a later number than the last")
                invariant(index == 0 || entries[(index - 1) >> 2].precedes(entries[index]), "a heap is in order")
            }
            invariant((0..<count).count { slack(of: entries[$0]) > 0 } == tolerant, "tolerant timers are counted")
        #endif
    }
}
