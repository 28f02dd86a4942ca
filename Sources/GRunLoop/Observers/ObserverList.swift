// SPDX-License-Identifier: Apache-2.0
// The observers of a mode in calling order: sorted by `order`, and then by the order in which they were added.

struct ObserverPlace: Place {
    let modeOfPlace: Unmanaged<ModeState>
    /// The number of the observer's addition to the mode, counted from 1.
    let number: UInt64
}

/// The observers of a mode. Guarded by the loop's lock. If a new observer's place is not at the end of `sorted`, the
/// observer waits in `fresh`. The next notification of a stage merges `fresh` into `sorted`, because a notification
/// visits every observer anyway. A removed observer leaves a gap, so its removal moves no entry. When more than half of
/// the entries are gaps, all gaps are dropped.
struct ObserverList {
    private struct Entry {
        let order: Int
        let number: UInt64
        /// Nil once the observer has left the mode.
        var observer: GRunLoop.Observer?

        func precedes(_ other: Entry) -> Bool { order != other.order ? order < other.order : number < other.number }
    }

    /// In calling order.
    private var sorted: [Entry] = []
    /// The entries that are not merged with `sorted` yet, in the order in which they were added.
    private var fresh: [Entry] = []
    private var gaps = 0
    private var additions: UInt64 = 0
    private var counts = ActivityCounts()

    /// The activities that at least one observer watches.
    var activities: GRunLoop.Activity { counts.activities }

    var isEmpty: Bool { sorted.count + fresh.count == gaps }

    /// In calling order.
    var all: [GRunLoop.Observer] { merged().compactMap(\.observer) }

    /// Finds an observer. Unlike ``all``, the search allocates no memory.
    func first(where isWanted: (GRunLoop.Observer) -> Bool) -> GRunLoop.Observer? {
        for entry in sorted { if let observer = entry.observer, isWanted(observer) { return observer } }
        for entry in fresh { if let observer = entry.observer, isWanted(observer) { return observer } }
        return nil
    }

    /// Adds an observer. Returns the number of the addition.
    mutating func insert(_ observer: GRunLoop.Observer) -> UInt64 {
        additions += 1
        let entry = Entry(order: observer.order, number: additions, observer: observer)
        if let last = sorted.last, entry.precedes(last) { fresh.append(entry) } else { sorted.append(entry) }
        counts.add(observer.activities, 1)
        return additions
    }

    /// - Parameter number: the result of ``insert(_:)``. The caller retains the observer until the lock is released.
    mutating func remove(_ observer: GRunLoop.Observer, _ number: UInt64) {
        let wanted = Entry(order: observer.order, number: number)
        if !Self.clear(&sorted, where: { $0.precedes(wanted) }, number) {
            _ = Self.clear(&fresh, where: { $0.number < number }, number)
        }
        counts.add(observer.activities, -1)
        gaps += 1
        if gaps * 2 > sorted.count + fresh.count { dropGaps() }
    }

    /// Returns the observers to call at a stage, in calling order.
    mutating func toCall(at activity: GRunLoop.Activity) -> [GRunLoop.Observer] {
        if !fresh.isEmpty { merge() }
        var found: [GRunLoop.Observer] = []
        for entry in sorted {
            guard let observer = entry.observer else { continue }
            if observer.activities.contains(activity), observer.canBeCalledLocked { found.append(observer) }
        }
        return found
    }

    /// Turns the entry with `number` into a gap. `precedes` returns whether its argument comes before this entry.
    /// Returns false if no entry has the number.
    private static func clear(
        _ entries: inout [Entry], where precedes: (Entry) -> Bool, _ number: UInt64
    ) -> Bool {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(entries[middle]) { low = middle + 1 } else { high = middle }
        }
        guard low < entries.count, entries[low].number == number else { return false }
        entries[low].observer = nil
        return true
    }

    private mutating func dropGaps() {
        sorted.removeAll { $0.observer == nil }
        fresh.removeAll { $0.observer == nil }
        gaps = 0
    }

    private mutating func merge() {
        sorted = merged()
        fresh = []
        gaps = 0
    }

    private func merged() -> [Entry] {
        if fresh.isEmpty { return sorted }
        let added = fresh.filter { $0.observer != nil }.sorted { $0.precedes($1) }
        var result: [Entry] = []
        result.reserveCapacity(sorted.count + added.count)
        var next = 0
        for entry in sorted where entry.observer != nil {
            while next < added.count, added[next].precedes(entry) {
                result.append(added[next])
                next += 1
            }
            result.append(entry)
        }
        return result + added[next...]
    }
}

/// How many observers watch each activity.
private struct ActivityCounts {
    private var counts: InlineArray<8, Int32> = InlineArray(repeating: 0)
    private(set) var activities: GRunLoop.Activity = []

    mutating func add(_ added: GRunLoop.Activity, _ change: Int32) {
        for bit in counts.indices {
            let activity = GRunLoop.Activity(rawValue: 1 << GRunLoop.Activity.RawValue(bit))
            guard added.contains(activity) else { continue }
            counts[bit] += change
            if counts[bit] > 0 { activities.insert(activity) } else { activities.remove(activity) }
        }
    }
}
