// SPDX-License-Identifier: Apache-2.0
// The events of one query of a mode's epoll, to be serviced one a pass.

import CGRun
import Glibc

/// Events that were fetched from one mode's epoll in one go and are serviced one a pass: a ring, in the order of
/// service. Guarded by the loop's lock.
struct DescriptorBatch: ~Copyable {
    /// The kernel's own record: the watch, and what has happened.
    typealias Event = epoll_event

    /// A power of two.
    static let size = 64
    /// A batch of as many events at most is small: the numbers of all are confirmed, at a system call each.
    private static let few = 4

    /// The mode of the batch. Only its identity: comparing references would count them.
    private var mode: ObjectIdentifier?
    private let events = UnsafeMutablePointer<Event>.allocate(capacity: size)
    private var head = 0
    private var count = 0
    /// The kernel may have more events.
    private var isFull = false
    /// How many events the next query fetches. The kernel moves all fetched events behind the rest. If full batches
    /// were dropped again and again with events left in them, the same few descriptors would be serviced for ever. So
    /// after a dropped batch this is one, until a batch is serviced to its end.
    private var room = Int32(size)
    /// Chooses the number of a larger batch that is confirmed, as a fraction of its events in 32 bits.
    private var turn: UInt32 = 0
    private var lost: [LostNumber] = []

    deinit {
        events.deallocate()
    }

    private func slot(_ index: Int) -> UnsafeMutablePointer<Event> {
        events + ((head &+ index) & (Self.size - 1))
    }

    /// What is left of the batch, if it is of `mode`.
    func pending(in mode: ModeState) -> [Event] {
        isEmpty(in: mode) ? [] : (0..<count).map { slot($0).pointee }
    }

    func isEmpty(in mode: ModeState) -> Bool {
        count == 0 || self.mode != ObjectIdentifier(mode)
    }

    /// The next source to call, and its conditions. Drops events that no source waits for any more.
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

    /// Drops the rest: the kernel reports again what is still ready.
    mutating func discard() {
        if count > 0, isFull { room = 1 }
        mode = nil
        count = 0
    }

    /// Asks the kernel what is ready, without waiting. Service begins after the descriptor that was serviced last: the
    /// kernel may list them in the same order each time, and a program that services one event a run would always get
    /// the first. False and errno if the epoll is not open.
    mutating func fetch(from mode: ModeState) -> Bool {
        if self.mode != nil { room = Int32(Self.size) }
        self.mode = ObjectIdentifier(mode)
        head = 0
        let most = perturbs(CGRUN_SITE_BATCH) ? 1 + perturbed(below: 3) : Self.size
        let found = cgrun_epoll_look(mode.descriptors.epoll, events, most < Self.size ? min(room, Int32(most)) : room)
        count = Int(max(0, found))
        isFull = count == most
        guard count > 1, let last = (0..<count).first(where: { events[$0].data.u64 == mode.lastWatch }) else {
            return found >= 0
        }
        // Rotates the events up to the last serviced descriptor behind the rest. If that one is the last anyway, the
        // order is right.
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

    /// Drops the events that no source waits for any more. Confirms all numbers of a small batch, and one of a larger
    /// batch, so that this costs as much as the fetch at most. Returns whether a number was lost.
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

    /// Whether only one of the numbers is confirmed.
    var isLarge: Bool { count > Self.few }

    /// Asks the kernel whether one of the numbers still belongs to the file that is ready. If not, no source waits for
    /// its event any more.
    mutating func confirmOne(in mode: ModeState) -> Bool {
        // Steps of the golden ratio meet every number sooner or later, also if each batch begins a few events later
        // than the one before.
        turn &+= 0x9E37_79B9
        return isSound(Int((UInt64(turn) * UInt64(count)) >> 32), in: mode, confirms: true)
    }

    /// Whether a source waits for an event, and its number still belongs to the file.
    private mutating func isSound(_ index: Int, in mode: ModeState, confirms: Bool) -> Bool {
        let event = slot(index).pointee
        guard let source = mode.descriptors.receiver(of: event)?.source else {
            lost.append(LostNumber(descriptor: event.descriptor, label: ""))
            return false
        }
        return source._withUnsafeGuaranteedRef {
            // The program does not know a descriptor of the library's own, and does not close it.
            guard confirms, !$0.ownsDescriptor, !mode.descriptors.confirm(event) else { return true }
            lost.append(LostNumber(descriptor: event.descriptor, label: Labels.suffix(of: $0)))
            return false
        }
    }

    /// The numbers that were lost since the last call.
    mutating func takeLost() -> [LostNumber] {
        defer { lost = [] }
        return lost
    }

    /// Takes a source's event out of the batch: the first event, unless a test has chosen. Nil if the event is not
    /// there any more; then the source may be gone.
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

    /// Takes the first event of the batch; nil if no source waits for any.
    @inline(__always) mutating func takeFirst(in mode: ModeState) -> DescriptorSet.Receiver? {
        guard !isEmpty(in: mode), let receiver = mode.descriptors.receiver(of: slot(0).pointee) else { return nil }
        takeOut(at: 0, for: receiver, in: mode)
        return receiver
    }

    /// Conditions for other sources of the descriptor are dropped, too: the kernel reports them again, and then they
    /// get their turn.
    private mutating func takeOut(
        at index: Int, for receiver: DescriptorSet.Receiver, in mode: ModeState
    ) {
        // The next fetch begins behind it.
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

/// A number that was closed while a source watched it, or that `dup2(2)` has given another file, while the old file
/// lives on in a copy.
struct LostNumber {
    let descriptor: Int32
    /// Behind the kind of the source, if it is known which one was to be called.
    let label: String
}

extension epoll_event {
    /// A watch is the descriptor's number and a generation: an event of an earlier watch of the same number may still
    /// be in a batch.
    init(events: UInt32, descriptor: Int32, generation: UInt32) {
        self.init(
            events: events, data: epoll_data_t(u64: UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor))))
    }

    var descriptor: Int32 { Int32(bitPattern: UInt32(truncatingIfNeeded: data.u64)) }
    var generation: UInt32 { UInt32(data.u64 >> 32) }
}
