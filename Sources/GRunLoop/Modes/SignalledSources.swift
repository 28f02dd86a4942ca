// SPDX-License-Identifier: Apache-2.0
// Which version-0 sources of a mode may be signalled.

/// A source in a mode of a loop. The source and the mode hold it, until the source leaves.
final class SourceMembership {
    let source: GRunLoop.Source
    let loop: GRunLoop
    let mode: ModeState

    // Guarded by the loop's lock.
    /// False once the source has left: whoever is still about to tell of a signal tells nobody.
    @exclusivity(unchecked) var isIn = true
    /// Where it stands among the signalled ones.
    @exclusivity(unchecked) fileprivate var place = SignalledSources.Place.nowhere

    init(of source: GRunLoop.Source, in mode: ModeState, of loop: GRunLoop) {
        self.source = source
        self.mode = mode
        self.loop = loop
    }

    var isListed: Bool { place != .nowhere }

    /// Tells the loop that the source was signalled. Any thread, without a lock.
    func noteSignal() {
        loop.lock.withLock {
            guard isIn else { return }
            mode.signalled.insert(self)
            loop.owePassToHostLocked()
        }
    }
}

/// Every source of a mode that is signalled. Guarded by the loop's lock. Each knows its place: a signal and a perform
/// cost no search and no hash. They are not retained: whoever leaves the mode leaves this first.
///
/// A pass performs those that are signalled when it begins, its batch, in order. What it does not come to stays in
/// order for the next one: to sort ten thousand anew may take longer than a slice of time. What a slice of time did not
/// suffice for comes before whatever was signalled later, or a source of a low order could keep the others waiting for
/// ever.
struct SignalledSources {
    fileprivate enum Place: Equatable {
        case nowhere
        case fresh(Int)
        case sorted(Int)
    }

    private struct Entry {
        let order: Int
        let signal: UInt64
        /// Nil once it has left.
        var membership: Unmanaged<SourceMembership>?

        init(_ membership: Unmanaged<SourceMembership>, signal: UInt64) {
            order = membership._withUnsafeGuaranteedRef { $0.source.order }
            self.signal = signal
            self.membership = membership
        }

        func precedes(_ other: Entry) -> Bool {
            order != other.order ? order < other.order : signal < other.signal
        }
    }

    /// Signalled since the last batch began; in no order.
    private var fresh: [Unmanaged<SourceMembership>] = []
    /// Those before them, from `next` on, in the order in which they are performed.
    private var sorted: [Entry] = []
    private var next = 0
    /// Nothing is put before this index.
    private var settled = 0
    private var count = 0
    private var batch = Batch()

    @inline(__always) var isEmpty: Bool { count == 0 }

    @inline(__always) mutating func insert(_ membership: SourceMembership) {
        guard !membership.isListed else { return }
        membership.place = .fresh(fresh.count)
        fresh.append(.passUnretained(membership))
        count += 1
    }

    @inline(__always) mutating func remove(_ membership: SourceMembership) {
        switch membership.place {
        case .nowhere: return
        case .fresh(let index):
            let last = fresh.removeLast()
            if index < fresh.count {
                fresh[index] = last
                last._withUnsafeGuaranteedRef { $0.place = .fresh(index) }
            }
        case .sorted(let index):
            sorted[index].membership = nil
        }
        membership.place = .nowhere
        count -= 1
    }

    /// Takes the only one, as nearly always: there is nothing to sort.
    @inline(__always) mutating func takeOnly() -> Unmanaged<SourceMembership>? {
        guard count == 1, let only = fresh.first else { return nil }
        only._withUnsafeGuaranteedRef { remove($0) }
        return only
    }

    // MARK: The batch

    struct Batch {
        fileprivate var isUnderWay = false
        /// What is left of it, from `next` on, once a nested run performs sources: one that it performs, and that is
        /// signalled again, keeps its turn here.
        fileprivate var list: [SourceMembership]?
        fileprivate var next = 0
    }

    /// Begins a batch of all that are signalled. Answers the one that is under way, if this run is nested in it.
    mutating func beginBatch() -> Batch {
        listBatch()
        let outer = batch
        sortFresh()
        batch = Batch(isUnderWay: true)
        return outer
    }

    /// The next of the batch. It has left this list, unless the batch has its own.
    mutating func nextOfBatch() -> Unmanaged<SourceMembership>? {
        if let list = batch.list {
            while batch.next < list.count {
                batch.next += 1
                if list[batch.next - 1].isListed { return .passUnretained(list[batch.next - 1]) }
            }
            return nil
        }
        while next < sorted.count {
            next += 1
            guard let membership = sorted[next - 1].membership else { continue }
            membership._withUnsafeGuaranteedRef { remove($0) }
            return membership
        }
        return nil
    }

    /// The slice of time is used up: what is left of the batch comes before whatever is signalled from now on.
    mutating func cutBatch() {
        settled = sorted.count
    }

    /// Goes on with the batch that was under way before. Answers what is to be released after the lock.
    mutating func endBatch(resuming outer: Batch) -> [SourceMembership] {
        defer { batch = outer }
        return batch.list ?? []
    }

    /// A source was performed in another mode.
    mutating func removePerformed(_ membership: SourceMembership) {
        listBatch()
        remove(membership)
    }

    private mutating func listBatch() {
        guard batch.isUnderWay, batch.list == nil else { return }
        batch.list = sorted[next...].compactMap { $0.membership?.takeUnretainedValue() }
    }

    private mutating func sortFresh() {
        var entries: [Entry] = []
        for membership in fresh {
            let signal = membership._withUnsafeGuaranteedRef { $0.source.signalOrder }
            if signal == 0 {
                // It was taken back, or another loop is about to perform it. A new signal from a callout of this pass
                // is for the next one (item 91).
                membership._withUnsafeGuaranteedRef { $0.place = .nowhere }
                count -= 1
            } else {
                entries.append(Entry(membership, signal: signal))
            }
        }
        fresh.removeAll(keepingCapacity: true)
        if next * 2 >= sorted.count { dropPerformed() }
        entries.sort { $0.precedes($1) }
        merge(entries)
    }

    private mutating func dropPerformed() {
        sorted.removeFirst(next)
        settled = max(0, settled - next)
        next = 0
        for index in sorted.indices {
            sorted[index].membership?._withUnsafeGuaranteedRef { $0.place = .sorted(index) }
        }
    }

    /// Puts sorted entries where they belong: mostly behind all others, since they were signalled later.
    private mutating func merge(_ entries: [Entry]) {
        var earlier = sorted.count - 1
        let first = max(next, settled)
        sorted += entries
        var index = sorted.count - 1
        for entry in entries.reversed() {
            while earlier >= first, entry.precedes(sorted[earlier]) {
                place(sorted[earlier], at: index)
                earlier -= 1
                index -= 1
            }
            place(entry, at: index)
            index -= 1
        }
    }

    private mutating func place(_ entry: Entry, at index: Int) {
        sorted[index] = entry
        entry.membership?._withUnsafeGuaranteedRef { $0.place = .sorted(index) }
    }
}
