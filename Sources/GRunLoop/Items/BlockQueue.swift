// SPDX-License-Identifier: Apache-2.0
// The blocks that wait in one mode, or in the common modes: a ring, in the order of a loop-wide sequence number.

/// A block for several modes: each of their queues holds the same token, and the first mode to run takes the body.
final class BlockToken {
    @exclusivity(unchecked) var body: (@Sendable () -> Void)?
    let queues: [BlockQueue]

    init(body: @escaping @Sendable () -> Void, queues: [BlockQueue]) {
        self.body = body
        self.queues = queues
    }
}

/// Guarded by the loop's lock. A plain pointer, so that a pass counts no references; its maker deallocates it.
struct BlockQueue {
    struct Entry {
        let sequence: UInt64
        /// The body of a block for this queue alone; nil once it was taken.
        fileprivate(set) var body: (@Sendable () -> Void)?
        /// The token of a block for several modes, which knows whether the block was taken.
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
        /// A power of two.
        var capacity = 8
        var entries: UnsafeMutablePointer<Entry>
        var head = 0
        var count = 0
        var live = 0
        /// No entry has been for several modes, or taken from between others, since the ring was last empty.
        var isPlain = true

        mutating func forget() {
            head = 0
            count = 0
            live = 0
            isPlain = true
        }
    }

    private let state: UnsafeMutablePointer<State>

    init() {
        state = .allocate(capacity: 1)
        state.initialize(to: State(entries: .allocate(capacity: 8)))
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
    /// How many entries have not been taken. Blocks for several modes may be taken from another queue.
    private(set) var live: Int {
        get { state.pointee.live }
        nonmutating set { state.pointee.live = newValue }
    }

    @inline(__always) func append(_ entry: consuming Entry) {
        if !state.pointee.isPlain { dropTakenAtHead() }
        if count == capacity { makeRoom() }
        state.pointee.isPlain = entry.token == nil && (state.pointee.isPlain || count == 0)
        (entries + slot(count)).initialize(to: entry)
        count += 1
        live += 1
    }

    /// The sequence number of the first block that is numbered `start` or later and has not been taken.
    func first(from start: UInt64) -> UInt64? { live > 0 ? firstLive(from: start) : nil }

    private func firstLive(from start: UInt64) -> UInt64? {
        dropTakenAtHead()
        guard let offset = firstOffset(from: start) else { return nil }
        return entries[slot(offset)].sequence
    }

    /// Takes the block that ``first(from:)`` found.
    func take(_ sequence: UInt64) -> (@Sendable () -> Void)? {
        guard let offset = firstOffset(from: sequence) else { return nil }
        let index = slot(offset)
        if let token = entries[index].token {
            let body = token.body
            token.body = nil
            for queue in token.queues { queue.live -= 1 }
            if offset == 0 { dropHead() }
            return body
        }
        live -= 1
        if offset == 0 {
            head = (head + 1) & (capacity - 1)
            count -= 1
            return (entries + index).move().body
        }
        let body = entries[index].body
        entries[index].body = nil
        state.pointee.isPlain = false
        return body
    }

    /// Whether every entry is a block for this queue alone, numbered `start` or later, as it nearly always is.
    func isPlain(from start: UInt64) -> Bool {
        state.pointee.isPlain && count > 0 && entries[head].sequence >= start
    }

    /// Takes the first block of a plain queue that is not empty.
    @inline(__always) func removeFirst() -> (@Sendable () -> Void)? {
        let body = (entries + head).move().body
        head = (head &+ 1) & (capacity &- 1)
        count &-= 1
        live &-= 1
        return body
    }

    /// Whether its memory is worth keeping.
    var isSmall: Bool { capacity <= 1024 }

    func exchange(with other: BlockQueue) {
        swap(&state.pointee, &other.state.pointee)
    }

    /// Takes over what waits in another queue, behind its own.
    func appendAll(of other: BlockQueue) {
        for offset in 0..<other.count { append((other.entries + other.slot(offset)).move()) }
        live = live - other.count + other.live
        other.state.pointee.forget()
    }

    /// The bodies that were never run, to be released after the lock.
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
            // Entries before `start` belong to an interrupted step of an outer run. They are still here, but hidden.
            var high = count
            while low < high {
                let middle = (low + high) / 2
                if entries[slot(middle)].sequence < start { low = middle + 1 } else { high = middle }
            }
        }
        while low < count, entries[slot(low)].isTaken { low += 1 }
        return low < count ? low : nil
    }

    private func dropTakenAtHead() {
        while count > 0, entries[head].isTaken { dropHead() }
    }

    private func dropHead() {
        (entries + head).deinitialize(count: 1)
        head = (head + 1) & (capacity - 1)
        count -= 1
    }

    /// First drops blocks that were taken from other queues: behind a block that is never taken they would pile up.
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
                guard !entry.isTaken else { continue }
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
}
