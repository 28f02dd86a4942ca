// SPDX-License-Identifier: Apache-2.0
// The ring of records of a timeline, with the counts of its items.

import CGRun
import CGRunDiagnostics
import Glibc

final class RingModel: Model {
    static let name = "Ring"
    static let length = 3000

    private struct Record: Equatable {
        var extra: Int64
        var item: UInt32
        var kind: UInt32
        var depth: UInt32
        var mode: UInt16
    }

    private struct Item {
        let number: UInt32
        var calls: UInt64 = 0
        /// The number of records at its last callout.
        var last: Int
    }

    private static let recording: UInt64 = 7
    private static let deepest = UInt32(CGRUN_RING_DEEPEST)

    private let ring: OpaquePointer
    private let limit: Int
    private var records: [Record] = []
    private var items: [UInt64: Item] = [:]
    /// The keys of the open callouts' items, by depth.
    private var open: [UInt32: UInt64] = [:]
    /// The greatest depth of open callouts.
    private var openDepth: UInt32 = 0
    private var depth: UInt32 = 0
    private var mode: UInt16 = 0

    init(_ random: inout Random) {
        limit = [256, 512, 1024][random.below(3)]
        Journal.note("a ring of \(limit) records")
        guard let ring = cgrun_ring_new(Self.recording, UInt32(limit)) else { fatalError("no memory for a ring") }
        self.ring = ring
    }

    deinit { cgrun_ring_free(ring) }

    func step(_ random: inout Random) throws {
        switch random.below(100) {
        case 0...3: setDepth(UInt32(random.below(random.once(in: 20) ? 400 : 6)))
        case 4, 5: setMode(UInt16(random.below(5)))
        case 6...59: put(&random)
        case 60...91: try callout(16 * UInt64(1 + random.below(random.once(in: 3) ? 300 : 20)))
        case 92: try dropItems()
        case 93...95: try compareCounts(16 * UInt64(1 + random.below(300)))
        default: try compareCopy()
        }
    }

    func finish() throws { try compareCopy() }

    // MARK: Operations

    private func setDepth(_ depth: UInt32) {
        Journal.note("depth \(depth)")
        self.depth = depth
        cgrun_ring_set_depth(ring, depth)
    }

    private func setMode(_ mode: UInt16) {
        Journal.note("mode \(mode)")
        self.mode = mode
        cgrun_ring_set_mode(ring, UnsafeRawPointer(bitPattern: Int(mode) + 1), mode)
    }

    private var recordedDepth: UInt32 { Swift.min(depth, Self.deepest) }

    private func put(_ random: inout Random) {
        let kinds = [
            CGRUN_RECORD_ENTER, CGRUN_RECORD_LEAVE, CGRUN_RECORD_STAGE, CGRUN_RECORD_SLEEP, CGRUN_RECORD_AWAKE,
            CGRUN_RECORD_WOKEN, CGRUN_RECORD_POLL,
        ]
        let kind = kinds[random.below(kinds.count)]
        let extra = Int64(bitPattern: random.next())
        let item = UInt32(truncatingIfNeeded: random.next())
        Journal.note("put a record of kind \(kind.rawValue)")
        cgrun_ring_put(ring, kind, item, extra)
        if kind == CGRUN_RECORD_POLL {
            // A poll is recorded outside of all runs, or inside a callout.
            guard recordedDepth == 0 || openDepth == recordedDepth else { return }
        } else if kind != CGRUN_RECORD_ENTER, kind != CGRUN_RECORD_WOKEN {
            endCallouts()
        }
        append(Record(extra: extra, item: item, kind: kind.rawValue, depth: recordedDepth, mode: mode))
    }

    private func append(_ record: Record) { records.append(record) }

    private func endCallouts() {
        guard openDepth >= recordedDepth else { return }
        openDepth = recordedDepth > 0 ? recordedDepth - 1 : 0
        open = open.filter { $0.key < recordedDepth }
    }

    private func callout(_ key: UInt64) throws {
        var number = cgrun_ring_known_item(ring, key)
        try expect(number, is: items[key]?.number ?? 0, "the number of item \(key)")
        if number == 0 {
            number = cgrun_ring_add_item(ring, key, 1)
            try expect(number > 0 && !items.values.contains { $0.number == number }, "the number \(number) is used")
            items[key] = Item(number: number, last: records.count)
        }
        Journal.note("a callout of item \(key), number \(number)")
        try expect(cgrun_ring_item(ring, Self.recording, key, 1), is: number, "the item of its recording")
        try expect(cgrun_ring_item(ring, Self.recording + 1, key, 1), is: 0, "the item of another recording")
        try expect(cgrun_ring_item(ring, Self.recording, key, 2), is: 0, "the item with other labels")
        endCallouts()
        cgrun_ring_put(ring, CGRUN_RECORD_CALLOUT, number, 0)
        items[key]?.calls += 1
        items[key]?.last = records.count
        openDepth = recordedDepth
        open[recordedDepth] = key
        let kind = CGRUN_RECORD_CALLOUT.rawValue
        append(Record(extra: 0, item: number, kind: kind, depth: recordedDepth, mode: mode))
    }

    private func dropItems() throws {
        Journal.note("drop items")
        let openKeys = Set(open.filter { $0.key > 0 }.values)
        let wanted = items.filter { $0.value.last + limit <= records.count && !openKeys.contains($0.key) }
        var dropped: [UInt32] = []
        withUnsafeMutablePointer(to: &dropped) {
            cgrun_ring_drop_items(
                ring, { number, list in list?.assumingMemoryBound(to: [UInt32].self).pointee.append(number) }, $0)
        }
        try expect(dropped.sorted(), is: wanted.values.map(\.number).sorted(), "the items that were dropped")
        for key in wanted.keys { items[key] = nil }
        try expect(Int(cgrun_ring_item_count(ring)), is: items.count, "how many items there are")
    }

    // MARK: Comparison

    private func compareCounts(_ key: UInt64) throws {
        let counts = cgrun_ring_counts_of(ring, key)
        try expect(counts.calls, is: items[key]?.calls ?? 0, "the calls of item \(key)")
        try expect(counts.longest <= counts.total && counts.longest >= 0, "the times of item \(key)")
    }

    private func compareCopy() throws {
        Journal.note("copy")
        var count: UInt64 = 0
        var lost: UInt64 = 0
        guard let copies = cgrun_ring_copy(ring, &count, &lost) else { throw Mismatch(text: "no memory for a copy") }
        defer { free(copies) }
        try expect(Int(lost + count), is: records.count, "records that were copied or lost")
        // A full ring loses one more record, because its writer may be writing there.
        if records.count < limit { try expect(lost, is: 0, "records that were lost") }
        if records.count >= limit { try expect(Int(count), is: limit - 1, "records of a full ring") }
        for index in 0..<Int(count) {
            let copy = copies[index]
            let found = Record(
                extra: copy.extra, item: copy.item, kind: UInt32(copy.kind), depth: UInt32(copy.depth), mode: copy.mode)
            var wanted = records[Int(lost) + index]
            // The extra of a callout is its delay.
            if wanted.kind == CGRUN_RECORD_CALLOUT.rawValue { wanted.extra = found.extra }
            try expect(found, is: wanted, "record \(index)")
            if index > 0 { try expect(copy.time >= copies[index - 1].time, "a record is earlier than the one before") }
        }
    }
}
