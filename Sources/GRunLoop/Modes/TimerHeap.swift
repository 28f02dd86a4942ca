// SPDX-License-Identifier: Apache-2.0
// The timers of one mode, ordered by deadline and then by the order of addition: an indexed 4-ary heap with cached keys.

/// Guarded by the loop's lock. It holds the timers unretained: the mode retains them.
struct TimerHeap: ~Copyable {
    private struct Entry {
        var deadline: Nanoseconds
        /// The order of addition, which decides between equal deadlines.
        var order: UInt64
        let timer: Unmanaged<GRunLoop.Timer>

        /// The latest point at which the timer may fire: its deadline and its tolerance.
        var hardDeadline: Nanoseconds { deadline.addingSaturating(timer._withUnsafeGuaranteedRef { $0.slack }) }

        /// Both in one number: of a heap's comparisons a branch would guess half of them wrong.
        private var key: Int128 { Int128(deadline) << 64 | Int128(order) }

        func precedes(_ other: Entry) -> Bool { key < other.key }
    }

    private var entries: UnsafeMutablePointer<Entry>
    private var capacity: Int
    /// Read by tests only.
    private(set) var count = 0
    private var additions: UInt64 = 0
    /// What ``wakeUpTime()`` computed, until the heap changes.
    private var window: Nanoseconds?
    /// How many of the timers have a tolerance: none is the common case, in which the first timer is the answer.
    private var tolerant = 0
    private var batch = Batch()

    init() {
        capacity = 0
        entries = .allocate(capacity: 1)
    }

    deinit {
        entries.deallocate()
    }

    /// The timer of the earliest deadline.
    var first: GRunLoop.Timer? { count > 0 ? entries[0].timer.takeUnretainedValue() : nil }

    /// The earliest deadline.
    var earliest: Nanoseconds { count > 0 ? entries[0].deadline : .never }

    mutating func insert(_ timer: GRunLoop.Timer, in mode: ModeState) {
        if count == capacity { grow() }
        additions += 1
        count += 1
        window = nil
        if timer.slack > 0 { tolerant += 1 }
        let entry = Entry(deadline: timer.deadline, order: additions, timer: .passUnretained(timer))
        siftUp(entry, at: count - 1, in: mode)
    }

    mutating func remove(at index: Int, in mode: ModeState) {
        if entries[index].deadline <= batch.limit { listBatch(without: index) }
        takeOut(at: index, in: mode)
    }

    private mutating func takeOut(at index: Int, in mode: ModeState) {
        // A tolerance changes only while the timer is not in here.
        let isTolerant = entries[index].timer._withUnsafeGuaranteedRef { timer in
            timer.setIndex(-1, in: mode)
            return timer.slack > 0
        }
        if isTolerant { tolerant -= 1 }
        count -= 1
        window = nil
        guard index < count else { return }
        let last = entries[count]
        if index > 0, last.precedes(entries[(index - 1) >> 2]) {
            siftUp(last, at: index, in: mode)
        } else {
            siftDown(last, at: index, in: mode)
        }
    }

    // MARK: The batch

    /// The timers that were due when a pass began to fire them. As long as nobody else takes one of them out of the heap they are told by
    /// their keys, and taken one by one: a pass may have time for a few of a hundred thousand, and does not list them.
    struct Batch {
        fileprivate var limit = Nanoseconds.min
        /// What was added later waits for the next pass.
        fileprivate var lastOrder: UInt64 = 0
        /// What is left of it, once it cannot be told by the keys any more, from `next` on.
        fileprivate var list: [GRunLoop.Timer]?
        fileprivate var next = 0
    }

    /// Begins a batch of the timers whose deadline is `limit` or earlier. Answers the one that is under way, if this run is nested in it.
    mutating func beginBatch(by limit: Nanoseconds) -> Batch {
        if earliest <= batch.limit { listBatch() }
        let outer = batch
        batch = Batch(limit: limit, lastOrder: additions)
        return outer
    }

    /// The next of the batch. It has left the heap, unless the batch is a list: then it may have left the mode as well.
    mutating func nextOfBatch(in mode: ModeState) -> Unmanaged<GRunLoop.Timer>? {
        if batch.list == nil {
            guard earliest <= batch.limit else { return nil }
            if entries[0].order <= batch.lastOrder {
                defer { takeOut(at: 0, in: mode) }
                return entries[0].timer
            }
            // One that was added meanwhile, with an earlier date, hides it.
            listBatch()
        }
        guard let list = batch.list, batch.next < list.count else { return nil }
        batch.next += 1
        return .passUnretained(list[batch.next - 1])
    }

    /// Goes on with the batch that was under way before. Answers what is to be released after the lock.
    mutating func endBatch(resuming outer: Batch) -> [GRunLoop.Timer] {
        defer { batch = outer }
        return batch.list ?? []
    }

    /// Lists what is left of the batch, since its keys are about to change: a timer that is moved, or fired by a nested run, keeps its turn.
    /// One that was invalidated has none.
    @inline(never) private mutating func listBatch(without index: Int? = nil) {
        guard batch.list == nil else { return }
        if let index, !entries[index].timer._withUnsafeGuaranteedRef(\.isValidLocked) { return }
        batch.list = due(by: batch.limit, addedUpTo: batch.lastOrder)
    }

    /// The timers whose deadline is `limit` or earlier, in firing order.
    func due(by limit: Nanoseconds, addedUpTo lastOrder: UInt64 = .max) -> [GRunLoop.Timer] {
        guard earliest <= limit, count > 0 else { return [] }
        var due: [Entry] = []
        var parents = [0]
        var next = 0
        while next < parents.count {
            let parent = parents[next]
            next += 1
            if entries[parent].order <= lastOrder { due.append(entries[parent]) }
            let firstChild = 4 * parent + 1
            for child in firstChild..<Swift.max(firstChild, Swift.min(firstChild + 4, count))
            where entries[child].deadline <= limit {
                parents.append(child)
            }
        }
        due.sort { $0.precedes($1) }
        return due.map { $0.timer.takeUnretainedValue() }
    }

    /// When the loop must wake up for the timers: the earliest point at which one of them may be no later. At that time
    /// every timer whose deadline has passed fires with it.
    mutating func wakeUpTime() -> Nanoseconds {
        guard tolerant > 0 else { return earliest }
        if let window { return window }
        var hard = entries[0].hardDeadline
        var next = 0
        var parents = [0]
        // Only timers whose deadline lies inside the window can narrow it, and they fire with it.
        while next < parents.count {
            let firstChild = 4 * parents[next] + 1
            next += 1
            for child in firstChild..<Swift.max(firstChild, Swift.min(firstChild + 4, count))
            where entries[child].deadline <= hard {
                hard = Swift.min(hard, entries[child].hardDeadline)
                parents.append(child)
            }
        }
        window = hard
        return hard
    }

    /// Every timer, in no order.
    var all: [GRunLoop.Timer] { (0..<count).map { entries[$0].timer.takeUnretainedValue() } }

    private mutating func grow() {
        let larger = Swift.max(16, capacity * 2)
        let copy = UnsafeMutablePointer<Entry>.allocate(capacity: larger)
        copy.moveInitialize(from: entries, count: count)
        entries.deallocate()
        entries = copy
        capacity = larger
    }

    @inline(__always) private mutating func place(_ entry: Entry, at index: Int, in mode: ModeState) {
        (entries + index).initialize(to: entry)
        entry.timer._withUnsafeGuaranteedRef { $0.setIndex(index, in: mode) }
    }

    private mutating func siftUp(_ entry: Entry, at start: Int, in mode: ModeState) {
        var index = start
        while index > 0 {
            let parent = (index - 1) >> 2
            guard entry.precedes(entries[parent]) else { break }
            place(entries[parent], at: index, in: mode)
            index = parent
        }
        place(entry, at: index, in: mode)
    }

    private mutating func siftDown(_ entry: Entry, at start: Int, in mode: ModeState) {
        var index = start
        while true {
            let firstChild = 4 * index + 1
            guard firstChild < count else { break }
            let least = firstChild + 3 < count ? leastOfFour(from: firstChild) : least(from: firstChild)
            guard entries[least].precedes(entry) else { break }
            place(entries[least], at: index, in: mode)
            index = least
        }
        place(entry, at: index, in: mode)
    }

    @inline(__always) private func leastOfFour(from first: Int) -> Int {
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
