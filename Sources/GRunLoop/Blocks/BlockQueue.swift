// SPDX-License-Identifier: Apache-2.0
// The blocks that wait in one mode, or in the common modes.

import CGRun

/// A block for several modes. The queue of each of these modes holds the same token. The first queue that runs the
/// block takes the body.
final class BlockToken {
    @exclusivity(unchecked) var body: (@Sendable () -> Void)?
    let queues: [BlockQueue]

    init(body: @escaping @Sendable () -> Void, queues: [BlockQueue]) {
        self.body = body
        self.queues = queues
    }
}

/// A ring of the blocks that wait in one mode, or in the common modes. The blocks are in the order of their sequence
/// numbers. One counter numbers the blocks of all queues of a loop. Guarded by the loop's lock. The queue is a plain
/// pointer, so that a pass need not retain it. The owner of a queue must call ``deallocate()``.
struct BlockQueue {
    struct Entry {
        let sequence: UInt64
        /// The body of a block that is only in this queue; nil after the block was taken.
        fileprivate(set) var body: (@Sendable () -> Void)?
        /// The token of a block for several modes; nil if the block is only in this queue.
        let token: BlockToken?

        init(sequence: UInt64, body: consuming @escaping @Sendable () -> Void) {
            self.sequence = sequence
            self.body = body
            token = nil
        }

        init(sequence: UInt64, token: BlockToken) {
            self.sequence = sequence
            body = nil
            self.token = token
        }

        var isTaken: Bool { body == nil && token?.body == nil }
    }

    private struct State {
        /// The size of the ring, a power of two.
        var capacity: Int
        var entries: UnsafeMutablePointer<Entry>
        var head = 0
        var count = 0
        /// The number of entries that have not been taken.
        var live = 0
        /// The number of entries that are blocks for several modes, whether taken or not.
        var shared = 0

        /// True if no block is shared with another queue and no block has been taken.
        var isPlain: Bool { shared == 0 && live == count }

        mutating func forget() {
            head = 0
            count = 0
            live = 0
            shared = 0
        }
    }

    private let state: UnsafeMutablePointer<State>

    /// - Parameter capacity: how many blocks fit before the ring grows; a power of two. Tests set it.
    init(capacity: Int = perturbs(CGRUN_SITE_CAPACITY) ? 1 : 8) {
        state = .allocate(capacity: 1)
        state.initialize(to: State(capacity: capacity, entries: .allocate(capacity: capacity)))
    }

    func deallocate() {
        for offset in 0..<count { (entries + slot(offset)).deinitialize(count: 1) }
        entries.deallocate()
        state.deallocate()
    }

    private var entries: UnsafeMutablePointer<Entry> {
        get { state.pointee.entries }
        nonmutating set { state.pointee.entries = newValue }
    }
    private var capacity: Int {
        get { state.pointee.capacity }
        nonmutating set { state.pointee.capacity = newValue }
    }
    private var head: Int {
        get { state.pointee.head }
        nonmutating set { state.pointee.head = newValue }
    }
    private var count: Int {
        get { state.pointee.count }
        nonmutating set { state.pointee.count = newValue }
    }
    /// The number of blocks that wait in this queue. If another queue takes a shared block, this number also decreases.
    private(set) var live: Int {
        get { state.pointee.live }
        nonmutating set { state.pointee.live = newValue }
    }

    @inline(__always) func append(_ entry: consuming Entry) {
        if count == capacity { makeRoom() }
        if entry.token != nil { state.pointee.shared += 1 }
        (entries + slot(count)).initialize(to: entry)
        count += 1
        live += 1
        checkInvariants()
    }

    /// The sequence number of the first waiting block that is numbered `start` or later; nil if there is none.
    func first(from start: UInt64) -> UInt64? { live > 0 ? firstLive(from: start) : nil }

    private func firstLive(from start: UInt64) -> UInt64? {
        dropTakenAtEnds()
        guard let offset = firstOffset(from: start) else { return nil }
        return entries[slot(offset)].sequence
    }

    /// Removes the block that ``first(from:)`` found, and returns the block's body.
    func take(_ sequence: UInt64) -> (@Sendable () -> Void)? {
        guard let offset = firstOffset(from: sequence) else { return nil }
        let body: (@Sendable () -> Void)?
        if let token = entries[slot(offset)].token {
            body = token.body
            token.body = nil
            for queue in token.queues { queue.live -= 1 }
        } else {
            body = entries[slot(offset)].body
            entries[slot(offset)].body = nil
            live -= 1
        }
        dropTakenAtEnds()
        checkInvariants()
        return body
    }

    /// Returns true if no block is shared with another queue or taken, and all sequence numbers are at least `start`.
    /// Returns false for an empty queue.
    func isPlain(from start: UInt64) -> Bool {
        state.pointee.isPlain && count > 0 && entries[head].sequence >= start
    }

    /// Takes the first block of a plain queue that is not empty.
    @inline(__always) func removeFirst() -> (@Sendable () -> Void)? {
        assert(state.pointee.isPlain && count > 0)
        let body = (entries + head).move().body
        head = (head &+ 1) & (capacity &- 1)
        count &-= 1
        live &-= 1
        checkInvariants()
        return body
    }

    /// Whether the ring is small enough to be kept for reuse.
    var isSmall: Bool { capacity <= 1024 && !perturbs(CGRUN_SITE_CAPACITY) }

    func exchange(with other: BlockQueue) {
        swap(&state.pointee, &other.state.pointee)
    }

    /// Moves the blocks of another queue that have not been taken to the end of this queue. The other queue is empty
    /// afterwards.
    func appendAll(of other: BlockQueue) {
        for offset in 0..<other.count {
            let entry = (other.entries + other.slot(offset)).move()
            if !entry.isTaken { append(entry) }
        }
        other.state.pointee.forget()
        checkInvariants()
    }

    /// Removes all entries without running their blocks. The caller must release the result after it has released the
    /// lock.
    func removeAll() -> [Entry] {
        defer { state.pointee.forget() }
        return (0..<count).map { (entries + slot($0)).move() }
    }

    private func slot(_ offset: Int) -> Int {
        (head + offset) & (capacity - 1)
    }

    private func firstOffset(from start: UInt64) -> Int? {
        var low = 0
        if count > 0, entries[head].sequence < start {
            // Entries before `start` belong to a block step of an outer run that is still under way. The caller must
            // skip these entries.
            var high = count
            while low < high {
                let middle = (low + high) / 2
                if entries[slot(middle)].sequence < start { low = middle + 1 } else { high = middle }
            }
        }
        while low < count, entries[slot(low)].isTaken { low += 1 }
        return low < count ? low : nil
    }

    /// Drops taken entries at both ends. A nested step takes only blocks that follow the outer step's blocks. So the
    /// last entry may be taken before the first entry.
    private func dropTakenAtEnds() {
        while count > 0, entries[head].isTaken {
            drop(at: head)
            head = (head + 1) & (capacity - 1)
        }
        while count > 0, entries[slot(count - 1)].isTaken { drop(at: slot(count - 1)) }
    }

    private func drop(at index: Int) {
        if entries[index].token != nil { state.pointee.shared -= 1 }
        (entries + index).deinitialize(count: 1)
        count -= 1
    }

    /// Makes room for another entry. Drops all taken entries, because they would pile up behind a block that is never
    /// taken.
    private func makeRoom() {
        let larger = live * 2 > capacity ? capacity * 2 : capacity
        let copy = UnsafeMutablePointer<Entry>.allocate(capacity: larger)
        var kept = 0
        if state.pointee.isPlain {
            kept = count
            let behindHead = min(count, capacity - head)
            copy.moveInitialize(from: entries + head, count: behindHead)
            (copy + behindHead).moveInitialize(from: entries, count: count - behindHead)
        } else {
            for offset in 0..<count {
                let entry = (entries + slot(offset)).move()
                guard !entry.isTaken else {
                    if entry.token != nil { state.pointee.shared -= 1 }
                    continue
                }
                (copy + kept).initialize(to: entry)
                kept += 1
            }
        }
        entries.deallocate()
        entries = copy
        capacity = larger
        count = kept
        head = 0
    }

    @inline(__always) private func checkInvariants() {
        #if DEBUG
            invariant(capacity > 0 && capacity & (capacity - 1) == 0, "the capacity of a ring is a power of two")
            invariant(0..<capacity ~= head && 0...capacity ~= count && 0...count ~= live, "a ring's counts fit in it")
            guard count <= Invariant.few else { return }
            let all = (0..<count).map { (entries + slot($0)).pointee }
            invariant(all.count(where: { !$0.isTaken }) == live, "blocks that were not taken are counted")
            invariant(
                all.count(where: { $0.token != nil }) == state.pointee.shared, "blocks for several modes are counted")
            invariant(
                zip(all, all.dropFirst()).allSatisfy { $0.sequence < $1.sequence },
                "blocks are in the order in which they were enqueued")
        #endif
    }
}
