// SPDX-License-Identifier: Apache-2.0
// The events that one query of a mode's epoll has returned. Each pass services one of them.

import CGRun
import Glibc

/// The events that one query of a mode's epoll has returned: a ring, in the order of service. Each pass services one
/// event. Guarded by the loop's lock.
struct DescriptorBatch: ~Copyable {
    /// The kernel's record of one event: `data` identifies the watch, `events` holds the conditions.
    typealias Event = epoll_event

    /// A power of two.
    static let size = 64
    /// The largest size of a small batch. In a small batch, the loop asks the kernel for each event whether the
    /// descriptor number still belongs to the same file. Each question is one system call.
    private static let few = 4

    /// The mode whose epoll the events come from; nil after ``discard()``. It is stored as an identity, because
    /// comparing references would retain and release them.
    private var mode: ObjectIdentifier?
    private let events = UnsafeMutablePointer<Event>.allocate(capacity: size)
    private var head = 0
    private var count = 0
    /// True if the last query filled the batch, so that the kernel may have more events.
    private var isFull = false
    /// How many events the next query fetches at most. The kernel moves all fetched events behind the others. If full
    /// batches were discarded again and again before they are used up, the loop would service the same few descriptors
    /// forever. So after a full batch was discarded, each query fetches one event, until a batch is used up.
    private var room = Int32(size)
    /// Selects the event of a large batch whose number is confirmed: its position, as a 32-bit fraction of the batch.
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

    /// Returns the next source to call, and its conditions; nil if the batch has none for this mode. Drops the events
    /// in front that no source waits for any more.
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

    /// How many events the next query fetches at most. One query in eight fetches two events instead of one. If each
    /// second query is discarded before its event is serviced, the loop would otherwise service the same descriptor
    /// forever.
    private mutating func nextRoom() -> Int32 {
        guard room == 1 else { return room }
        turn &+= 0x9E37_79B9
        return turn < 1 << 29 ? 2 : 1
    }

    /// Drops the remaining events. The kernel reports again what is still ready.
    mutating func discard() {
        if count > 0, isFull { room = 1 }
        mode = nil
        count = 0
    }

    /// Asks the kernel what is ready, without waiting. Returns false, with errno set, if the kernel refuses the query.
    ///
    /// Service begins after the descriptor that was serviced last. The kernel may list the descriptors in the same
    /// order each time. A program that services one event a run would then always get the first.
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
        // Rotates the events up to the last serviced descriptor behind the others. If that descriptor is already the
        // last one, the order is right.
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

    /// Drops the events that no source waits for any more. Returns whether a number was lost.
    ///
    /// It confirms all numbers of a small batch, but only one number of a large batch. So it costs at most as much as
    /// the query.
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

    /// Whether the batch is large: then only one of its numbers is confirmed.
    var isLarge: Bool { count > Self.few }

    /// Asks the kernel whether the number of one event still belongs to the file that is ready. Returns false if it
    /// does not: then no source waits for the event.
    mutating func confirmOne(in mode: ModeState) -> Bool {
        // Steps of the golden ratio select every number sooner or later, even if each batch begins a few events later
        // than the batch before.
        turn &+= 0x9E37_79B9
        return isSound(Int((UInt64(turn) * UInt64(count)) >> 32), in: mode, confirms: true)
    }

    /// Whether a source waits for the event and, if `confirms` is true, the number still belongs to the file. If not,
    /// the number is added to `lost`.
    private mutating func isSound(_ index: Int, in mode: ModeState, confirms: Bool) -> Bool {
        let event = slot(index).pointee
        guard let source = mode.descriptors.receiver(of: event)?.source else {
            lost.append(LostNumber(descriptor: event.descriptor, label: ""))
            return false
        }
        return source._withUnsafeGuaranteedRef {
            // The library owns this descriptor. The program does not know it, and so does not close it.
            guard confirms, !$0.ownsDescriptor, !mode.descriptors.confirm(event) else { return true }
            lost.append(LostNumber(descriptor: event.descriptor, label: Labels.suffix(of: $0)))
            return false
        }
    }

    /// Returns the numbers that were lost since the last call, and forgets them.
    mutating func takeLost() -> [LostNumber] {
        defer { lost = [] }
        return lost
    }

    /// Takes the event of `source` out of the batch. It is the first event, unless a test has chosen another one.
    /// Returns nil if the event is not there any more; the source may be deallocated then.
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

    /// Takes the first event of the batch. Returns nil if the batch is empty, or if no source waits for its first
    /// event.
    @inline(__always) mutating func takeFirst(in mode: ModeState) -> DescriptorSet.Receiver? {
        guard !isEmpty(in: mode), let receiver = mode.descriptors.receiver(of: slot(0).pointee) else { return nil }
        takeOut(at: 0, for: receiver, in: mode)
        return receiver
    }

    /// Takes an event out of the batch, and records the turn of the source that gets it. The event's conditions for
    /// other sources of the descriptor are dropped: the kernel reports them again, and then those sources get their
    /// turn.
    private mutating func takeOut(
        at index: Int, for receiver: DescriptorSet.Receiver, in mode: ModeState
    ) {
        // The next query begins its service behind this descriptor.
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

/// A descriptor's number that the program closed while a source watched it, or gave to another file by `dup2(2)`. A
/// copy keeps the old file open.
struct LostNumber {
    let descriptor: Int32
    /// The source's label, formatted to follow `DescriptorSource` in the log message; empty if the source has no label
    /// or is not known.
    let label: String
}

extension epoll_event {
    /// The event's data holds the descriptor's number and the generation of its watch. The generation is needed because
    /// a batch may still hold an event of an earlier watch of the same number.
    init(events: UInt32, descriptor: Int32, generation: UInt32) {
        self.init(
            events: events, data: epoll_data_t(u64: UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor))))
    }

    var descriptor: Int32 { Int32(bitPattern: UInt32(truncatingIfNeeded: data.u64)) }
    var generation: UInt32 { UInt32(data.u64 >> 32) }
}
