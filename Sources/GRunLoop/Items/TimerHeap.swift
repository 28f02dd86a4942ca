// SPDX-License-Identifier: Apache-2.0
// The timers of one mode, ordered by deadline and then by the order of addition: an indexed 4-ary heap with cached
// keys.

import CGRun
import Glibc

/// Guarded by the loop's lock. It holds the timers unretained: the mode retains them.
///
/// A timer does not know its index in the heap: each step of a sift would have to write it into a timer, a cold line of
/// memory. It knows its slot, which does not change; a table of four bytes a slot has the index.
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

    /// Of all three tables.
    private var capacity = 1
    private var entries: UnsafeMutablePointer<Entry>
    /// By slot.
    private var timers: UnsafeMutablePointer<Unmanaged<GRunLoop.Timer>>
    /// By slot: where the timer stands in `entries`; of a free slot, the next free one, or -1.
    private var places: UnsafeMutablePointer<Int32>
    private var freeSlot = -1
    /// How many slots were ever taken.
    private var slots = 0
    /// Read by tests only.
    private(set) var count = 0
    /// How many timers were ever added. An entry's order is the number of its addition, counted from `base`.
    private var additions: UInt64 { base + UInt64(lastOrder) }
    private var base: UInt64 = 0
    private var lastOrder: UInt32 = 0
    private let greatestOrder: UInt32
    /// What ``wakeUpTime()`` computed, until the heap changes.
    private var window: Nanoseconds?
    /// How many of the timers have a tolerance. In the usual case of none, the first timer decides.
    private var tolerant = 0
    private var batch = Batch()

    /// - Parameter greatestOrder: for tests. After so many additions they are numbered anew.
    init(greatestOrder: UInt32 = .max) {
        self.greatestOrder = greatestOrder
        entries = Self.table(nil, capacity)
        timers = Self.table(nil, capacity)
        places = Self.table(nil, capacity)
    }

    deinit {
        free(entries)
        free(timers)
        free(places)
    }

    private func timer(of entry: Entry) -> Unmanaged<GRunLoop.Timer> { timers[entry.slot] }

    private func additionNumber(of entry: Entry) -> UInt64 { base + UInt64(entry.order) }

    /// The latest point at which a timer may fire: its deadline and its tolerance.
    private func hardDeadline(of entry: Entry) -> Nanoseconds {
        entry.deadline.addingSaturating(timer(of: entry)._withUnsafeGuaranteedRef { $0.dates.slack })
    }

    /// The timer of the earliest deadline.
    var first: GRunLoop.Timer? { count > 0 ? timer(of: entries[0]).takeUnretainedValue() : nil }

    /// The earliest deadline.
    var earliest: Nanoseconds { count > 0 ? entries[0].deadline : .never }

    mutating func insert(_ timer: GRunLoop.Timer, in mode: ModeState) {
        if count == capacity { grow() }
        if lastOrder >= greatestOrder { numberAnew() }
        lastOrder += 1
        let slot = takeSlot()
        timers[slot] = .passUnretained(timer)
        timer.setSlot(slot, in: mode)
        count += 1
        window = nil
        if timer.dates.slack > 0 { tolerant += 1 }
        siftUp(Entry(deadline: timer.dates.deadline, order: lastOrder, slot: slot), at: count - 1)
    }

    mutating func remove(from slot: Int, in mode: ModeState) {
        let index = Int(places[slot])
        if entries[index].deadline <= batch.limit { listBatch(without: index) }
        takeOut(at: index, in: mode)
    }

    private mutating func takeOut(at index: Int, in mode: ModeState) {
        let slot = entries[index].slot
        // A timer's tolerance changes only while it is not in the heap.
        let isTolerant = timers[slot]._withUnsafeGuaranteedRef { timer in
            timer.setSlot(-1, in: mode)
            return timer.dates.slack > 0
        }
        if isTolerant { tolerant -= 1 }
        places[slot] = Int32(freeSlot)
        freeSlot = slot
        count -= 1
        window = nil
        guard index < count else { return }
        let last = entries[count]
        if index > 0, last.precedes(entries[(index - 1) >> 2]) {
            siftUp(last, at: index)
        } else {
            siftDown(last, at: index)
        }
    }

    private mutating func takeSlot() -> Int {
        guard freeSlot >= 0 else {
            slots += 1
            return slots - 1
        }
        defer { freeSlot = Int(places[freeSlot]) }
        return freeSlot
    }

    /// The numbers are used up: the timers get new ones in the same order, all greater than any before. So that no
    /// batch takes them for its own, the rest of the current batch is listed; batches of outer runs are listed already,
    /// or have no rest.
    private mutating func numberAnew() {
        listBatch(without: nil)
        let order = (0..<count).sorted { entries[$0].order < entries[$1].order }
        base = additions
        lastOrder = UInt32(count)
        for (number, index) in order.enumerated() {
            entries[index] = Entry(
                deadline: entries[index].deadline, order: UInt32(number + 1), slot: entries[index].slot)
        }
    }

    // MARK: The batch

    /// The timers that were due when a pass began to fire them. Normally their keys tell which they are, and they are
    /// taken from the heap one by one: a pass may have time for only a few of a hundred thousand. They are listed only
    /// if one of them leaves the heap otherwise.
    struct Batch {
        fileprivate var limit = Nanoseconds.min
        /// What was added later waits for the next pass.
        fileprivate var lastAddition: UInt64 = 0
        /// The rest of the batch, from `next` on, once the keys do not tell it any more.
        fileprivate var list: [GRunLoop.Timer]?
        fileprivate var next = 0
    }

    /// Begins a batch of the timers whose deadline is `limit` or earlier. Returns the outer batch if this run is nested
    /// in one.
    mutating func beginBatch(by limit: Nanoseconds) -> Batch {
        if earliest <= batch.limit { listBatch() }
        let outer = batch
        batch = Batch(limit: limit, lastAddition: additions)
        return outer
    }

    /// The next timer of the batch. It has left the heap, unless the batch is listed: then it may have left the mode as
    /// well.
    mutating func nextOfBatch(in mode: ModeState) -> Unmanaged<GRunLoop.Timer>? {
        if batch.list == nil {
            guard earliest <= batch.limit else { return nil }
            if additionNumber(of: entries[0]) <= batch.lastAddition {
                let timer = timer(of: entries[0])
                takeOut(at: 0, in: mode)
                // The next timer is needed when the callout of this one has returned.
                if count > 0 { prefetch(entries[0]) }
                return timer
            }
            // A timer that was added meanwhile, with an earlier date, hides the rest of the batch.
            listBatch()
        }
        guard let list = batch.list, batch.next < list.count else { return nil }
        batch.next += 1
        return .passUnretained(list[batch.next - 1])
    }

    /// Sifts do not touch the timers: without a prefetch each would be a cache miss when its turn comes.
    private func prefetch(_ entry: Entry) {
        let timer = timer(of: entry).toOpaque()
        cgrun_prefetch(timer)
        cgrun_prefetch(timer + 64)
    }

    /// Resumes the outer batch. Returns what is to be released after the lock.
    mutating func endBatch(resuming outer: Batch) -> [GRunLoop.Timer] {
        defer { batch = outer }
        return batch.list ?? []
    }

    /// Lists the rest of the batch, because keys are about to change: a timer that is moved, or fired by a nested run,
    /// keeps its turn. An invalidated one loses it.
    private mutating func listBatch(without index: Int? = nil) {
        guard batch.list == nil else { return }
        if let index, !timer(of: entries[index])._withUnsafeGuaranteedRef(\.isValidLocked) { return }
        batch.list = due(by: batch.limit, addedUpTo: batch.lastAddition)
    }

    /// The timers whose deadline is `limit` or earlier, in firing order.
    func due(by limit: Nanoseconds, addedUpTo lastAddition: UInt64 = .max) -> [GRunLoop.Timer] {
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
        return due.map { timer(of: $0).takeUnretainedValue() }
    }

    /// When the loop must wake up for the timers: the earliest point at which one of them may be no later. At that time
    /// every timer whose deadline has passed fires with it.
    mutating func wakeUpTime() -> Nanoseconds {
        guard tolerant > 0 else { return earliest }
        if let window { return window }
        var hard = hardDeadline(of: entries[0])
        var next = 0
        var parents = [0]
        // Only timers whose deadline lies inside the window can narrow it, and they fire with it.
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

    /// Every timer, in no order.
    var all: [GRunLoop.Timer] { (0..<count).map { timer(of: entries[$0]).takeUnretainedValue() } }

    private mutating func grow() {
        capacity = Swift.max(16, capacity + capacity / 2)
        entries = Self.table(entries, capacity)
        timers = Self.table(timers, capacity)
        places = Self.table(places, capacity)
    }

    /// Makes or enlarges a table. The kernel moves a large one without copying it.
    private static func table<Element: BitwiseCopyable>(
        _ former: UnsafeMutablePointer<Element>?, _ capacity: Int
    ) -> UnsafeMutablePointer<Element> {
        guard let memory = realloc(former, capacity * MemoryLayout<Element>.stride) else {
            fatalError("GRunLoop: no memory is left for \(capacity) timers")
        }
        return memory.assumingMemoryBound(to: Element.self)
    }

    private mutating func place(_ entry: Entry, at index: Int) {
        entries[index] = entry
        places[entry.slot] = Int32(truncatingIfNeeded: index)
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
}
