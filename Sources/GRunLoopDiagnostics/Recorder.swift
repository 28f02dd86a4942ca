// SPDX-License-Identifier: Apache-2.0
// The records of one loop for a timeline, and the items and modes to which the records refer by number.

import CGRun
import CGRunDiagnostics
import GRunLoop
import Glibc
import Synchronization

/// Records the work of one loop in one recording. The loop's thread writes, and other threads read. The recorder does
/// not retain items, but it keeps an item's memory allocated after the item's deinit.
final class Recorder: @unchecked Sendable {
    struct Item {
        let kind: ItemKind?
        var label: String?
        /// A detail of the item that a report shows besides the item's kind, such as "every 0.016 s" or "descriptor 5".
        let detail: String?
        /// The address of the code of the item's closure; 0 if the address is not known.
        let code: UInt
        /// Keeps the item's memory allocated after its deinit, so that no other item gets the same address.
        unowned let identity: AnyObject?
    }

    /// The items and modes to which the records refer by number.
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
    /// The time at which the recorder was ended; `.max` until then.
    private let end = Atomic(Nanoseconds.max)
    private let hosted = Atomic(false)
    private let lock = Lock.take()
    /// Only the loop's thread changes this content. Guarded by the lock.
    private var content = Content(items: [:], modes: [])

    // MARK: The loop's thread only

    private var modeNumbers: [ObjectIdentifier: UInt16] = [:]
    private var itemsUntilPurge: UInt32 = 1024

    /// Returns nil if there is no memory left. Call this initializer on the loop's thread.
    init?(of loop: GRunLoop, number: UInt64, limit: UInt32) {
        guard let ring = cgrun_ring_new(number, limit) else { return nil }
        self.ring = ring
        self.number = number
        isMain = loop.isMain
        isVirtual = loop.isInVirtualTime
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
    /// Whether the loop has ended, or is no longer recorded.
    var hasEnded: Bool { endTime != .max }
    var endTime: Nanoseconds { end.load(ordering: .relaxed) }
    /// Ends the recorder. If this function is called more than once, the earliest `time` counts.
    func end(at time: Nanoseconds) { end.min(time, ordering: .relaxed) }
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

    func setDepth(_ depth: Int) { cgrun_ring_set_depth(ring, UInt32(clamping: depth)) }

    // MARK: Items and their numbers

    /// Returns the key of a callout in the ring. If the callout has an item, the key is the item's address. Otherwise
    /// the key is an odd number, which combines the address of the closure's code and the kind of callout.
    static func key(_ mark: CalloutMark, code: UInt) -> UInt64 {
        if mark.item != 0 { return UInt64(mark.item) }
        return UInt64(code) << 6 | UInt64(mark.code) << 1 | 1
    }

    /// Returns the number of a callout's item. An item without a number gets a number, and the item's label is read
    /// again. Returns 0 if there is no memory left. Call this function without a lock, right before the callout.
    func number(of mark: CalloutMark, _ key: UInt64, code: UInt) -> UInt32 {
        let object = mark.object
        // Read the version before the label. If another thread sets a label between the two reads, this version is
        // outdated, so the item's next callout reads the label again.
        let labels = Labels.version
        if let known = readLabel(of: object, key, labels) { return known }
        let item = Item(
            kind: mark.kind, label: object.flatMap { Labels.of($0) }.map(shortened),
            detail: object.flatMap { ItemDetail.ofCalled($0)?.text }, code: code, identity: object)
        return lock.withLock {
            if cgrun_ring_item_count(ring) >= itemsUntilPurge { purgeLocked() }
            let number = cgrun_ring_add_item(ring, key, labels)
            if number != 0 { content.items[number] = item }
            return number
        }
    }

    /// Reads the item's label again and returns the item's number. Returns nil if the item has no number yet, or if the
    /// callout has no item.
    private func readLabel(of object: AnyObject?, _ key: UInt64, _ labels: UInt64) -> UInt32? {
        let known = cgrun_ring_known_item(ring, key)
        guard known != 0, let object else { return nil }
        let label = Labels.of(object).map(shortened)
        lock.withLock { content.items[known]?.label = label }
        return cgrun_ring_add_item(ring, key, labels)
    }

    /// Removes the items that no record refers to. Later items reuse their numbers.
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

    /// Returns the records (the oldest first), the number of earlier records that were lost, and the items and modes.
    /// All arrays are copies, because the thread sanitizer does not understand copy-on-write.
    func read() -> (
        records: [cgrun_record], lost: UInt64, items: [(number: UInt32, item: Item)], modes: [String]
    ) {
        // While this thread holds the lock, the loop's thread cannot give an item's number to another item.
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
