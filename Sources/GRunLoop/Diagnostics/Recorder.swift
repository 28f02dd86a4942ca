// SPDX-License-Identifier: Apache-2.0
// What a loop leaves behind for a timeline: records in a ring, and what the numbers in them stand for.

import CGRun
import Glibc
import Synchronization

/// Of one loop, in one recording. Its thread writes; others read. It holds no item, but the memory of those that it
/// knows.
final class Recorder: @unchecked Sendable {
    /// What is known of an item that has been called.
    struct Item {
        let kind: ItemKind?
        var label: String?
        /// "every 0.016 s", "descriptor 5".
        let detail: String?
        /// The code that is called; 0 if it is not known.
        let code: UInt
        /// Keeps the address, so that no other item gets it. It may have gone.
        unowned let identity: AnyObject?
    }

    /// Of what the records are.
    struct Content {
        var items: [UInt32: Item]
        var modes: [String]
    }

    let isMain: Bool
    let isVirtual: Bool
    let thread: Int32
    let threadName: String
    private let number: UInt64
    let ring: OpaquePointer
    /// `.max` before.
    private let end = Atomic(Nanoseconds.max)
    private let hosted = Atomic(false)
    private let lock = Lock.take()
    /// Changed on the loop's thread. Guarded by the lock.
    private var content = Content(items: [:], modes: [])

    // MARK: The loop's thread only

    private var modeNumbers: [ObjectIdentifier: UInt16] = [:]
    private var itemsUntilPurge: UInt32 = 1024

    /// On the loop's thread. Nil without memory.
    init?(of loop: GRunLoop, number: UInt64, limit: UInt32) {
        guard let ring = cgrun_ring_new(number, limit) else { return nil }
        self.ring = ring
        self.number = number
        isMain = loop.isMain
        isVirtual = loop.virtualTime != nil
        thread = cgrun_thread_id()
        threadName = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(CGRUN_THREAD_NAME)) {
            cgrun_get_thread_name($0.baseAddress)
            return $0.baseAddress.map { String(cString: $0) } ?? ""
        }
    }

    deinit {
        cgrun_ring_free(ring)
        Lock.giveBack(lock)
    }

    var isCurrent: Bool { number == Recording.number }
    /// Whether the loop has ended, or is recorded no more.
    var hasEnded: Bool { endTime != .max }
    var endTime: Nanoseconds { end.load(ordering: .relaxed) }
    /// The first time counts.
    func end(at time: Nanoseconds) { end.min(time, ordering: .relaxed) }
    /// Whether a host has driven the loop.
    var wasHosted: Bool { hosted.load(ordering: .relaxed) }

    func noteHost() { hosted.store(true, ordering: .relaxed) }

    // MARK: Recording

    func put(_ kind: cgrun_record_kind, _ item: UInt32 = 0, _ extra: Int64 = 0, in mode: ModeState) {
        let known = modeNumbers[ObjectIdentifier(mode)]
        let number = known ?? UInt16(clamping: modeNumbers.count)
        if known == nil {
            modeNumbers[ObjectIdentifier(mode)] = number
            lock.withLock { content.modes.append(shortened(mode.name.rawValue)) }
        }
        cgrun_ring_set_mode(ring, Unmanaged.passUnretained(mode).toOpaque(), number)
        cgrun_ring_put(ring, kind, item, extra)
    }

    /// How many runs are on the stack now.
    func setDepth(_ depth: Int) { cgrun_ring_set_depth(ring, UInt32(clamping: depth)) }

    // MARK: What the numbers stand for

    /// An item is known by its address, a block or a delayed perform by its code, anything else by its kind.
    static func key(_ mark: CalloutMark, code: UInt) -> UInt64 {
        if mark.item != 0 { return UInt64(mark.item) }
        return UInt64(code) << 6 | UInt64(mark.code) << 1 | 1
    }

    /// Without a lock, as it is called: the number of an item that has none, or whose label may be another one. 0
    /// without memory.
    func number(of mark: CalloutMark, _ key: UInt64, code: UInt) -> UInt32 {
        let object = mark.object
        // Before the label is read: one that is given meanwhile is read next time.
        let labels = Labels.version
        if let known = readLabel(of: object, key, labels) { return known }
        let item = Item(
            kind: mark.kind, label: object.flatMap { Labels.of($0) }.map(shortened),
            detail: object.flatMap(Self.detail), code: code, identity: object)
        return lock.withLock {
            if cgrun_ring_item_count(ring) >= itemsUntilPurge { purgeLocked() }
            let number = cgrun_ring_add_item(ring, key, labels)
            if number != 0 { content.items[number] = item }
            return number
        }
    }

    /// The number of an item that has one, with the label that it has now.
    private func readLabel(of object: AnyObject?, _ key: UInt64, _ labels: UInt64) -> UInt32? {
        let known = cgrun_ring_known_item(ring, key)
        guard known != 0, let object else { return nil }
        let label = Labels.of(object).map(shortened)
        lock.withLock { content.items[known]?.label = label }
        return cgrun_ring_add_item(ring, key, labels)
    }

    private static func detail(of object: AnyObject) -> String? {
        guard let timer = object as? GRunLoop.Timer else { return CalloutMark.detail(of: object)?.text }
        return timer.guardian.withLock { CalloutMark.detail(of: timer) }?.text
    }

    /// Forgets the items of which there is no record any more. Their numbers are given to others.
    private func purgeLocked() {
        var dropped: [UInt32] = []
        withUnsafeMutablePointer(to: &dropped) {
            cgrun_ring_drop_items(
                ring, { number, data in data?.assumingMemoryBound(to: [UInt32].self).pointee.append(number) }, $0)
        }
        for number in dropped { content.items[number] = nil }
        itemsUntilPurge = max(1024, 2 * cgrun_ring_item_count(ring))
    }

    // MARK: Reading, on any thread

    /// The records, the earliest first, how many there were before them, and what their numbers stand for. Copies: of
    /// memory that is shared the thread sanitizer does not see that a reader has let go.
    func read() -> (
        records: [cgrun_record], lost: UInt64, items: [(number: UInt32, item: Item)], modes: [String]
    ) {
        // As long as the lock is held no number becomes another item's.
        lock.withLock {
            var count: UInt64 = 0
            var lost: UInt64 = 0
            let copies = cgrun_ring_copy(ring, &count, &lost)
            defer { free(copies) }
            return (
                Array(UnsafeBufferPointer(start: copies, count: Int(count))), lost,
                content.items.map { (number: $0.key, item: $0.value) }, content.modes.map(\.self)
            )
        }
    }

    func counts(of item: ObjectIdentifier) -> cgrun_counts {
        cgrun_ring_counts_of(ring, UInt64(UInt(bitPattern: item)))
    }
}
