// SPDX-License-Identifier: Apache-2.0
// The ready descriptors of a mode, fetched in batches from its epoll.

import CGRun
import Glibc

/// The events that one query of a mode's epoll has returned, in a ring buffer. The first event is serviced first.
/// Guarded by the loop's lock.
struct DescriptorBatch: ~Copyable {
    /// The kernel's record of one event: `data` identifies the watch, `events` holds the conditions.
    typealias Event = epoll_event

    /// The capacity. A power of two, because `slot(_:)` wraps around with a mask.
    static let size = 64
    /// A batch of at most this many events is small. For each event of a small batch, one system call checks that the
    /// descriptor number still belongs to the watched file.
    private static let few = 4

    /// The mode whose epoll returned the events; nil after ``discard()``. Only the mode's identity is stored, because a
    /// comparison of references would retain and release them.
    private var mode: ObjectIdentifier?
    private let events = UnsafeMutablePointer<Event>.allocate(capacity: size)
    private var head = 0
    private var count = 0
    /// True if the last query filled the batch: the kernel may have more events.
    private var isFull = false
    /// The maximum number of events of the next query. The kernel moves fetched events to the end of its list. If every
    /// full batch were discarded before it is used up, the loop could service the same few descriptors forever. So
    /// after a full batch is discarded, each query fetches one event, until a batch is used up.
    private var room = Int32(size)
    /// The position of the event to check in a large batch, as a 32-bit fraction of the batch's length. This number
    /// also selects the queries that fetch two events.
    private var turn: UInt32 = 0
    private var lost: [LostNumber] = []

    deinit {
        events.deallocate()
    }

    private func slot(_ index: Int) -> UnsafeMutablePointer<Event> {
        events + ((head &+ index) & (Self.size - 1))
    }

    /// The events that are left in the batch; none if the batch belongs to another mode.
    func pending(in mode: ModeState) -> [Event] {
        isEmpty(in: mode) ? [] : (0..<count).map { slot($0).pointee }
    }

    func isEmpty(in mode: ModeState) -> Bool {
        count == 0 || self.mode != ObjectIdentifier(mode)
    }

    /// Returns the next source to call and its conditions; nil if the batch has no event for this mode. Drops the
    /// leading events for which no source waits.
    mutating func first(in mode: ModeState) -> DescriptorSet.Receiver? {
        while !isEmpty(in: mode) {
            if let receiver = mode.descriptors.receiver(of: slot(0).pointee) { return receiver }
            dropHead()
        }
        return nil
    }

    private mutating func dropHead() {
        head &+= 1
        count &-= 1
        invariant(0...Self.size ~= count, "a batch holds no more than it has room for")
    }

    /// Returns the maximum number of events of the next query. If `room` is 1, every eighth query fetches two events
    /// instead. Otherwise a loop that discards the event of every second query could service the same descriptor
    /// forever.
    private mutating func nextRoom() -> Int32 {
        guard room == 1 else { return room }
        turn &+= 0x9E37_79B9
        return turn < 1 << 29 ? 2 : 1
    }

    /// Drops the remaining events. If the descriptors of these events are still ready, the next query returns their
    /// events again.
    mutating func discard() {
        if count > 0, isFull { room = 1 }
        mode = nil
        count = 0
    }

    /// Queries the mode's epoll without waiting. Returns false, with errno set, if the query fails.
    ///
    /// The new batch begins after the descriptor that was serviced most recently, because the kernel may list the
    /// descriptors in the same order each time. Otherwise a program that services one event in each run would always
    /// get the first descriptor.
    mutating func fetch(from mode: ModeState) -> Bool {
        if self.mode != nil { room = Int32(Self.size) }
        self.mode = ObjectIdentifier(mode)
        head = 0
        let most = perturbs(CGRUN_SITE_BATCH) ? 1 + perturbed(below: 3) : Self.size
        let found = cgrun_epoll_look(mode.descriptors.epoll, events, min(nextRoom(), Int32(most)))
        count = Int(max(0, found))
        isFull = count == most
        guard count > 1, let last = (0..<count).first(where: { events[$0].data.u64 == mode.lastWatch }) else {
            return found >= 0
        }
        // Moves the event of the descriptor that was serviced most recently, and all events before it, to the end.
        if last < count - 1 {
            reverse(0, last + 1)
            reverse(last + 1, count)
            reverse(0, count)
        }
        return true
    }

    private func reverse(_ start: Int, _ end: Int) {
        var (low, high) = (start, end - 1)
        while low < high {
            swap(&events[low], &events[high])
            (low, high) = (low + 1, high - 1)
        }
    }

    /// Drops the events for which no source waits. Returns whether the epoll must be replaced.
    ///
    /// Checks every descriptor number of a small batch, but only one number of a large batch. So the checks cost at
    /// most as much as the query.
    mutating func dropOrphans(of mode: ModeState) -> Bool {
        guard !isEmpty(in: mode) else { return false }
        let confirmsAll = !isLarge
        var kept = 0
        for index in 0..<count {
            guard isSound(index, in: mode, confirms: confirmsAll) else { continue }
            if kept != index { slot(kept).pointee = slot(index).pointee }
            kept += 1
        }
        if kept == count, isLarge { return !confirmOne(in: mode) }
        defer { count = kept }
        return kept < count
    }

    var isLarge: Bool { count > Self.few }

    /// Checks one event of a large batch. Returns false if no source waits for the event, or if the event's number no
    /// longer belongs to the watched file.
    mutating func confirmOne(in mode: ModeState) -> Bool {
        // The position advances by the golden ratio each time. So every event is checked sooner or later, even if each
        // batch begins a few events after the beginning of the previous batch.
        turn &+= 0x9E37_79B9
        return isSound(Int((UInt64(turn) * UInt64(count)) >> 32), in: mode, confirms: true)
    }

    /// Returns whether a source waits for the event and, if `confirms` is true, whether its number still belongs to the
    /// watched file. If the number belongs to another file, adds it to `lost`.
    private mutating func isSound(_ index: Int, in mode: ModeState, confirms: Bool) -> Bool {
        let event = slot(index).pointee
        guard let source = mode.descriptors.receiver(of: event)?.source else {
            lost.append(LostNumber(descriptor: event.descriptor, label: ""))
            return false
        }
        return source._withUnsafeGuaranteedRef {
            // Descriptors that the library owns are not checked. The program does not know them, so it does not close
            // them.
            guard confirms, !$0.ownsDescriptor, !mode.descriptors.confirm(event) else { return true }
            lost.append(LostNumber(descriptor: event.descriptor, label: Labels.suffix(of: $0)))
            return false
        }
    }

    mutating func takeLost() -> [LostNumber] {
        defer { lost = [] }
        return lost
    }

    /// Removes the event of `source` from the batch, and returns the event's receiver. Usually this is the first event,
    /// but a test may choose another event. Returns nil if the batch no longer has the event. In that case, `source`
    /// may have been deallocated.
    mutating func take(_ source: Unmanaged<GRunLoop.DescriptorSource>, in mode: ModeState) -> DescriptorSet.Receiver? {
        guard !isEmpty(in: mode) else { return nil }
        for index in 0..<count {
            guard let receiver = mode.descriptors.receiver(of: slot(index).pointee),
                receiver.source.toOpaque() == source.toOpaque()
            else { continue }
            takeOut(at: index, for: receiver, in: mode)
            return receiver
        }
        return nil
    }

    /// Removes the first event from the batch, and returns its receiver. Returns nil if the batch is empty, or if no
    /// source waits for the event.
    @inline(__always) mutating func takeFirst(in mode: ModeState) -> DescriptorSet.Receiver? {
        guard !isEmpty(in: mode), let receiver = mode.descriptors.receiver(of: slot(0).pointee) else { return nil }
        takeOut(at: 0, for: receiver, in: mode)
        return receiver
    }

    /// Removes an event from the batch, and records that its receiver had a turn. If other sources watch the same
    /// descriptor, their conditions are dropped. The kernel reports these conditions again.
    private mutating func takeOut(
        at index: Int, for receiver: DescriptorSet.Receiver, in mode: ModeState
    ) {
        let event = slot(index).pointee
        mode.lastWatch = event.data.u64
        mode.descriptors.noteTurn(of: receiver, on: event.descriptor)
        if index == 0 {
            dropHead()
        } else {
            for later in index..<(count - 1) { slot(later).pointee = slot(later + 1).pointee }
            count -= 1
        }
    }
}

/// A descriptor number that the program closed or reused with `dup2(2)` while a source watched it. A duplicate
/// descriptor keeps the old file open.
struct LostNumber {
    let descriptor: Int32
    /// The source's label, formatted to follow `DescriptorSource` in a log message. Empty if the source has no label or
    /// is unknown.
    let label: String
}

extension epoll_event {
    /// The event's data holds the descriptor number and the generation of its watch. A batch may still hold an event of
    /// an earlier watch of the same number. The generation of that event differs.
    init(events: UInt32, descriptor: Int32, generation: UInt32) {
        self.init(
            events: events, data: epoll_data_t(u64: UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor))))
    }

    var descriptor: Int32 { Int32(bitPattern: UInt32(truncatingIfNeeded: data.u64)) }
    var generation: UInt32 { UInt32(data.u64 >> 32) }
}
