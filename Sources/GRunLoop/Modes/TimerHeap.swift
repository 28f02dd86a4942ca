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

        func precedes(_ other: Entry) -> Bool {
            deadline != other.deadline ? deadline < other.deadline : order < other.order
        }
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

    init() {
        capacity = 0
        entries = .allocate(capacity: 1)
    }

    deinit {
        entries.deallocate()
    }

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

    /// The timers whose deadline is `limit` or earlier, in firing order. They stay in the heap: a nested run may fire one first.
    func due(by limit: Nanoseconds) -> [GRunLoop.Timer] {
        guard count > 0, earliest <= limit else { return [] }
        var due = [entries[0]]
        var next = 0
        var parents = [0]
        while next < parents.count {
            let firstChild = 4 * parents[next] + 1
            next += 1
            for child in firstChild..<Swift.max(firstChild, Swift.min(firstChild + 4, count))
            where entries[child].deadline <= limit {
                due.append(entries[child])
                parents.append(child)
            }
        }
        if due.count > 1 { due.sort { $0.precedes($1) } }
        return due.map { $0.timer.takeUnretainedValue() }
    }

    /// The timer whose deadline is `limit` or earlier, if there is exactly one.
    func onlyOneDue(by limit: Nanoseconds) -> GRunLoop.Timer? {
        guard earliest <= limit else { return nil }
        for child in 1..<Swift.max(1, Swift.min(5, count)) where entries[child].deadline <= limit { return nil }
        return count > 0 ? entries[0].timer.takeUnretainedValue() : nil
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
            var least = firstChild
            for child in (firstChild + 1)..<Swift.max(firstChild + 1, Swift.min(firstChild + 4, count))
            where entries[child].precedes(entries[least]) {
                least = child
            }
            guard entries[least].precedes(entry) else { break }
            place(entries[least], at: index, in: mode)
            index = least
        }
        place(entry, at: index, in: mode)
    }
}
