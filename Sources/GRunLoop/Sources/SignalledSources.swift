// SPDX-License-Identifier: Apache-2.0
// The version-0 sources of a mode that may be signalled, and the membership of a source in a mode.

/// The membership of a source in one mode of a loop. The source and the mode retain it until the source leaves the
/// mode.
final class SourceMembership {
    let source: GRunLoop.Source
    let loop: GRunLoop
    let mode: ModeState

    // Guarded by the loop's lock.
    /// False once the source has left the mode: a signal that arrives later is dropped.
    var isIn = true
    /// Where the membership is in the mode's ``SignalledSources``.
    fileprivate var place = SignalledSources.Place.nowhere

    init(of source: GRunLoop.Source, in mode: ModeState, of loop: GRunLoop) {
        self.source = source
        self.mode = mode
        self.loop = loop
    }

    var isListed: Bool { place != .nowhere }

    /// Tells the loop that the source was signalled. Any thread, without a lock.
    func noteSignal() {
        // The membership retains the loop, so no reference is counted here.
        Unmanaged.passUnretained(loop)._withUnsafeGuaranteedRef { $0.noteSignal(of: self) }
    }
}

/// The signalled sources of a mode. Guarded by the loop's lock. Each membership knows its place, so that signal and
/// perform need no search and no hash. Memberships are not retained here: when a source leaves the mode, its membership
/// is removed first.
///
/// A pass performs its batch in order: the sources that are signalled when the pass begins. The rest of a batch stays
/// sorted for the next pass, because sorting ten thousand sources again may take longer than a time slice. If a slice
/// has cut the batch, the rest comes before sources that are signalled later. Otherwise a source of a low order could
/// keep the others waiting forever.
struct SignalledSources {
    fileprivate enum Place: Equatable {
        case nowhere
        case fresh(Int)
        case sorted(Int)
    }

    private struct Entry {
        let order: Int
        let signal: UInt64
        /// Nil once the membership was taken or removed.
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

    /// The sources that were signalled since the last batch began, in no order.
    private var fresh: [Unmanaged<SourceMembership>] = []
    /// The sources that were signalled earlier. From `next` on they are in the order in which they are performed.
    private var sorted: [Entry] = []
    private var next = 0
    /// No entry is merged in before this index: the rest of a cut batch is there.
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

    /// Takes the signalled source if there is only one, which is the usual case. Nothing is sorted then. Nil if there
    /// are more, or if the source is sorted already.
    @inline(__always) mutating func takeOnly() -> Unmanaged<SourceMembership>? {
        guard count == 1, let only = fresh.first else { return nil }
        only._withUnsafeGuaranteedRef { remove($0) }
        return only
    }

    // MARK: The batch

    struct Batch {
        fileprivate var isUnderWay = false
        /// The rest of the batch, from `next` on; nil until a nested run or another loop performs sources. A source
        /// that is performed there keeps its turn here if it is signalled again.
        fileprivate var list: [SourceMembership]?
        fileprivate var next = 0
    }

    /// Begins a batch of all signalled sources. Returns the former batch: the batch of the outer run, if this run is
    /// nested in one.
    mutating func beginBatch() -> Batch {
        listBatch()
        let outer = batch
        sortFresh()
        checkInvariants()
        batch = Batch(isUnderWay: true)
        return outer
    }

    /// Takes the next source of the batch; nil if there is no more. The source has left the signalled sources, unless
    /// the batch has its own list.
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

    /// Ends the batch and resumes the outer one. The caller releases the result after the lock.
    mutating func endBatch(resuming outer: Batch) -> [SourceMembership] {
        defer { batch = outer }
        return batch.list ?? []
    }

    /// Removes a source that is performed in another mode. If it is signalled again, it keeps its turn in the current
    /// batch.
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
                // The signal was cleared, or another loop is about to perform the source. So a new signal from a
                // callout of this pass counts for the next pass (item 91).
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

    /// Merges sorted entries into `sorted`: mostly at its end, because they were signalled later.
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

    /// In debug builds: checks that each membership knows its place, and that the entries behind the rest of a cut
    /// batch are in order.
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
