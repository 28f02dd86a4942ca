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
    /// The descriptors of larger batches are not confirmed. A confirmation is a system call, which a loop with many
    /// active descriptors cannot afford for each event.
    private static let mostConfirmed = 4

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

    /// Drops the events that no source waits for any more. If the batch has few events, also drops those of files that
    /// have lost their number. Returns whether there were any.
    mutating func dropOrphans(of mode: ModeState) -> Bool {
        guard !isEmpty(in: mode) else { return false }
        let confirms = count <= Self.mostConfirmed
        var kept = 0
        for index in 0..<count {
            let event = slot(index).pointee
            guard let receiver = mode.descriptors.receiver(of: event) else { continue }
            // The program does not know a descriptor of the library's own, and does not close it.
            let isSure = !confirms || receiver.source._withUnsafeGuaranteedRef { $0.ownsDescriptor }
            guard isSure || mode.descriptors.confirm(event) else { continue }
            if kept != index { slot(kept).pointee = slot(index).pointee }
            kept += 1
        }
        defer { count = kept }
        return kept < count
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
