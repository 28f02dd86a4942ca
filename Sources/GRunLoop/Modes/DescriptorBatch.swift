// SPDX-License-Identifier: Apache-2.0
// What one look at a mode's epoll has found, to be serviced one a pass.

import CGRun
import Glibc

/// Events that were fetched from one mode's epoll in one go and are serviced one a pass: a ring, in the order of
/// service. Guarded by the loop's lock.
struct DescriptorBatch: ~Copyable {
    /// The kernel's own record: which watch it is of, and what has happened.
    typealias Event = epoll_event

    /// A power of two.
    static let size = 64

    /// Of which mode. Not the mode itself: to compare that would count references.
    private var mode: ObjectIdentifier?
    private let events = UnsafeMutablePointer<Event>.allocate(capacity: size)
    private var head = 0
    private var count = 0
    /// There may be more than it holds.
    private var isFull = false
    /// How many events the next look takes. When a full batch was given up with events in it the kernel has put all of
    /// them behind the rest: were the next one as large, and given up as well, the same few would be serviced for ever.
    /// So it is one, until a batch is serviced to its end.
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

    /// Whose turn it is, and with what. Events for which nobody waits any more are dropped on the way.
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
    }

    /// The rest is forgotten: the kernel reports again whatever is still ready.
    mutating func discard() {
        if count > 0, isFull { room = 1 }
        mode = nil
        count = 0
    }

    /// Asks the kernel what is ready, without waiting. The service begins behind the descriptor that was serviced last:
    /// the kernel may list them in the same order each time, and whoever takes the first only would serve nobody else.
    /// False and errno where there is no such epoll.
    mutating func fetch(from mode: ModeState) -> Bool {
        if self.mode != nil { room = Int32(Self.size) }
        self.mode = ObjectIdentifier(mode)
        head = 0
        let found = cgrun_epoll_look(mode.descriptors.epoll, events, room)
        count = Int(max(0, found))
        isFull = count == Self.size
        guard count > 1, let last = (0..<count).first(where: { events[$0].descriptor == mode.lastDescriptor }) else {
            return found >= 0
        }
        // What was serviced already comes behind the rest, both in their order. A batch that was serviced to its end is
        // as it should be.
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

    /// Drops the events for which nobody waits any more; answers whether there were any.
    mutating func dropOrphans(of mode: ModeState) -> Bool {
        guard !isEmpty(in: mode) else { return false }
        var kept = 0
        for index in 0..<count where mode.descriptors.receiver(of: slot(index).pointee) != nil {
            if kept != index { slot(kept).pointee = slot(index).pointee }
            kept += 1
        }
        defer { count = kept }
        return kept < count
    }

    /// Takes the event that a source is called for out of the batch. Nil if there is none any more, and the source
    /// perhaps gone. It is the first event, unless a test has chosen.
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

    /// The same of the first event, whoever waits for it; nil if it is nobody.
    @inline(__always) mutating func takeFirst(in mode: ModeState) -> DescriptorSet.Receiver? {
        guard !isEmpty(in: mode), let receiver = mode.descriptors.receiver(of: slot(0).pointee) else { return nil }
        takeOut(at: 0, for: receiver, in: mode)
        return receiver
    }

    /// What of the event is other sources' is left as well: the kernel reports it again, and then they have their turn.
    @inline(__always) private mutating func takeOut(
        at index: Int, for receiver: DescriptorSet.Receiver, in mode: ModeState
    ) {
        // The next fetch begins behind it.
        mode.lastDescriptor = slot(index).pointee.descriptor
        mode.descriptors.noteTurn(of: receiver, on: mode.lastDescriptor)
        if index == 0 {
            dropHead()
        } else {
            for later in index..<(count - 1) { slot(later).pointee = slot(later + 1).pointee }
            count -= 1
        }
    }
}

extension epoll_event {
    /// A watch is a number, and the count of watches at the time: an event of an earlier one of the same number may
    /// still be about.
    init(events: UInt32, descriptor: Int32, generation: UInt32) {
        self.init(
            events: events, data: epoll_data_t(u64: UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor))))
    }

    var descriptor: Int32 { Int32(bitPattern: UInt32(truncatingIfNeeded: data.u64)) }
    var generation: UInt32 { UInt32(data.u64 >> 32) }
}
