// SPDX-License-Identifier: Apache-2.0
// The blocks that wait in one mode, or in the common modes: a ring, in the order of a loop-wide sequence number.

/// A block that was given for several modes: each of their queues holds the same token, and whoever comes first takes the body.
final class BlockToken {
    var body: (@Sendable () -> Void)?
    let queues: [BlockQueue]

    init(body: @escaping @Sendable () -> Void, queues: [BlockQueue]) {
        self.body = body
        self.queues = queues
    }
}

/// Guarded by the loop's lock.
final class BlockQueue {
    struct Entry {
        let sequence: UInt64
        /// Nil in a block for several modes, and after the block was taken.
        var body: (@Sendable () -> Void)?
        var token: BlockToken?

        var isTaken: Bool { body == nil && token?.body == nil }
    }

    private var entries: UnsafeMutablePointer<Entry>
    /// A power of two.
    private var capacity = 8
    private var head = 0
    private var count = 0
    /// How many entries have not been taken: those of several modes may be taken elsewhere.
    private(set) var live = 0

    init() {
        entries = .allocate(capacity: capacity)
    }

    deinit {
        for offset in 0..<count { (entries + slot(offset)).deinitialize(count: 1) }
        entries.deallocate()
    }

    func append(_ entry: Entry) {
        dropTakenAtHead()
        if count == capacity { makeRoom() }
        (entries + slot(count)).initialize(to: entry)
        count += 1
        live += 1
    }

    /// The sequence number of the first block that is numbered `start` or later and has not been taken.
    func first(from start: UInt64) -> UInt64? {
        guard live > 0 else { return nil }
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
        return body
    }

    /// The bodies that were never run, to be released after the lock.
    func removeAll() -> [Entry] {
        defer {
            head = 0
            count = 0
            live = 0
        }
        return (0..<count).map { (entries + slot($0)).move() }
    }

    @inline(__always) private func slot(_ offset: Int) -> Int {
        (head + offset) & (capacity - 1)
    }

    private func firstOffset(from start: UInt64) -> Int? {
        var low = 0
        if count > 0, entries[head].sequence < start {
            // Entries before `start` belong to a step that a nested run interrupted; they are still here, and hidden.
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

    /// Blocks of several modes that were taken elsewhere make room first: behind one that is never taken they would pile up.
    private func makeRoom() {
        let larger = live * 2 > capacity ? capacity * 2 : capacity
        let copy = UnsafeMutablePointer<Entry>.allocate(capacity: larger)
        var kept = 0
        for offset in 0..<count {
            let entry = (entries + slot(offset)).move()
            guard !entry.isTaken else { continue }
            (copy + kept).initialize(to: entry)
            kept += 1
        }
        entries.deallocate()
        entries = copy
        capacity = larger
        count = kept
        head = 0
    }
}
