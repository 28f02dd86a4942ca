// SPDX-License-Identifier: Apache-2.0
// The list of the signalled version-0 sources of a mode, and the membership of a source in a mode.

/// The membership of a source in one mode of a loop. The source and the mode retain the membership until the source
/// leaves the mode.
final class SourceMembership {
    let source: GRunLoop.Source
    let loop: GRunLoop
    let mode: ModeState

    // Guarded by the loop's lock.
    /// False once the source has left the mode. A signal that is recorded after that has no effect on the mode.
    var isIn = true
    /// The place of the membership in the mode's ``SignalledSources``.
    fileprivate var place = SignalledSources.Place.nowhere

    init(of source: GRunLoop.Source, in mode: ModeState, of loop: GRunLoop) {
        self.source = source
        self.mode = mode
        self.loop = loop
    }

    var isListed: Bool { place != .nowhere }

    /// Notifies the loop that the source was signalled. Threads: any. Call this function without a lock.
    func noteSignal() {
        // The membership retains the loop, so this call need not retain it.
        Unmanaged.passUnretained(loop)._withUnsafeGuaranteedRef { $0.noteSignal(of: self) }
    }
}

/// The signalled sources of a mode. Guarded by the loop's lock. Each membership stores its place in this list, so that
/// no search is needed. The list does not retain memberships, because a source that leaves the mode first removes its
/// membership from the list.
///
/// A pass performs one batch in order: all sources that are signalled when the batch begins. If a batch is not
/// finished, its rest stays sorted, because sorting ten thousand sources again may take longer than a time slice. If
/// the batch was cut because the slice was used up, the rest of the batch comes before sources that are signalled
/// later. Otherwise a source of a low order could starve the other sources.
struct SignalledSources {
    fileprivate enum Place: Equatable {
        case nowhere
        case fresh(Int)
        case sorted(Int)
    }

    private struct Entry {
        let order: Int
        let signal: UInt64
        /// Nil once the membership was taken to perform its source, or was removed.
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

    /// The sources that were signalled since the last batch began, in no particular order.
    private var fresh: [Unmanaged<SourceMembership>] = []
    /// The sources that were signalled before the last batch began. The sources from index `next` on are still to be
    /// performed, in the order of this array.
    private var sorted: [Entry] = []
    private var next = 0
    /// New entries are merged in only from this index on. The rest of a cut batch is before this index.
    private var settled = 0
    private var count = 0
    private var batch = Batch()

    var isEmpty: Bool { count == 0 }

    mutating func insert(_ membership: SourceMembership) {
        guard !membership.isListed else { return }
        membership.place = .fresh(fresh.count)
        fresh.append(.passUnretained(membership))
        count += 1
        checkInvariants()
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
        checkInvariants()
    }

    /// Takes the signalled source if there is only one. This is the usual case, and needs no sorting. Returns nil if
    /// there are several, or if the source is sorted already.
    @inline(__always) mutating func takeOnly() -> Unmanaged<SourceMembership>? {
        guard count == 1, let only = fresh.first else { return nil }
        only._withUnsafeGuaranteedRef { remove($0) }
        return only
    }

    // MARK: The batch

    struct Batch {
        fileprivate var isUnderWay = false
        /// The rest of the batch, from index `next` on; nil until a nested run or another loop performs sources during
        /// the batch. A source of the batch keeps its turn in this list, even if such a run performs the source and the
        /// source is then signalled again.
        fileprivate var list: [SourceMembership]?
        fileprivate var next = 0
    }

    /// Begins a batch of all signalled sources. Returns the former batch, which belongs to the outer run if this run is
    /// nested.
    mutating func beginBatch() -> Batch {
        listBatch()
        let outer = batch
        sortFresh()
        checkInvariants()
        batch = Batch(isUnderWay: true)
        return outer
    }

    /// Returns the next source of the batch; nil if there is none. Removes the source from the signalled sources,
    /// unless the batch has a list.
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

    /// Cuts the batch, because the time slice is used up. The rest of the batch comes before sources that are signalled
    /// from now on.
    mutating func cutBatch() {
        settled = sorted.count
    }

    /// Ends the batch and resumes the outer batch. The caller releases the result after the lock.
    mutating func endBatch(resuming outer: Batch) -> [SourceMembership] {
        defer { batch = outer }
        return batch.list ?? []
    }

    /// Removes a source that is performed in another mode. If the source is signalled again, it keeps its turn in the
    /// current batch.
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
                // The signal was cleared, or another loop is about to perform the source. Removes the source from the
                // list, so that a new signal from a callout of this pass counts for the next pass (item 91).
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

    /// Merges sorted entries into `sorted`. Most of the new entries go to the end, because their signals are newer.
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

    /// In debug builds, checks the places of the memberships, and the order of the entries after the rest of a cut
    /// batch.
    @inline(__always) private func checkInvariants() {
        #if DEBUG
            invariant(0...sorted.count ~= next && 0...sorted.count ~= settled, "a list's positions are in it")
            guard fresh.count + sorted.count <= Invariant.few else { return }
            let listed = sorted.compactMap(\.membership)
            invariant(fresh.count + listed.count == count, "signalled sources are counted")
            for index in fresh.indices {
                invariant(fresh[index].takeUnretainedValue().place == .fresh(index), "a source knows its place")
            }
            for index in sorted.indices {
                let place = sorted[index].membership?.takeUnretainedValue().place
                invariant(place == nil || place == .sorted(index), "a sorted source knows its place")
            }
            let rest = sorted.dropFirst(max(next, settled))
            invariant(zip(rest, rest.dropFirst()).allSatisfy { !$1.precedes($0) }, "sources are sorted")
        #endif
    }
}
