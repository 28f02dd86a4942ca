// SPDX-License-Identifier: Apache-2.0
// What one look at a mode's epoll has found, to be serviced one a pass.

import CGRun
import Glibc

/// Events that were fetched from one mode's epoll in one go and are serviced one a pass. Guarded by the loop's lock.
struct DescriptorBatch {
    struct Event {
        let descriptor: Int32
        let generation: UInt32
        var events: UInt32
    }

    static let size = 64

    private(set) unowned(unsafe) var mode: ModeState?
    /// In the order of service, from `head` on.
    private var events: [Event] = []
    private var head = 0

    /// What is left of the batch, if it is of `mode`.
    func pending(in mode: ModeState) -> ArraySlice<Event> {
        self.mode === mode ? events[head...] : []
    }

    func isEmpty(in mode: ModeState) -> Bool {
        self.mode !== mode || head == events.count
    }

    /// Whose turn it is. Events for which nobody waits any more are dropped on the way.
    mutating func first(in mode: ModeState) -> GRunLoop.DescriptorSource? {
        while !isEmpty(in: mode) {
            if let (source, _) = mode.descriptors.receiver(of: events[head]) { return source }
            head += 1
        }
        return nil
    }

    /// The rest is forgotten: the kernel reports again whatever is still ready.
    mutating func discard() {
        mode = nil
        removeAll()
    }

    private mutating func removeAll() {
        if !events.isEmpty { events.removeAll(keepingCapacity: true) }
        head = 0
    }

    /// Asks the kernel what is ready, without waiting. The service begins behind the descriptor that was serviced last: the kernel may list
    /// them in the same order each time, and whoever takes the first only would serve nobody else.
    mutating func fetch(from mode: ModeState) {
        self.mode = mode
        removeAll()
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Self.size) { buffer in
            let count = cgrun_epoll_look(mode.descriptors.epoll, buffer.baseAddress, Int32(Self.size))
            for index in 0..<Int(max(0, count)) {
                let data = buffer[index].data.u64
                events.append(
                    Event(
                        descriptor: Int32(bitPattern: UInt32(truncatingIfNeeded: data)),
                        generation: UInt32(data >> 32), events: buffer[index].events))
            }
        }
        guard events.count > 1, let last = events.firstIndex(where: { $0.descriptor == mode.lastDescriptor }) else { return }
        events = Array(events[(last + 1)...] + events[...last])
    }

    /// Drops the events for which nobody waits any more; answers whether there were any.
    mutating func dropOrphans(of mode: ModeState) -> Bool {
        guard !isEmpty(in: mode) else { return false }
        events.removeFirst(head)
        head = 0
        let before = events.count
        events.removeAll { mode.descriptors.receiver(of: $0) == nil }
        return events.count < before
    }

    /// Takes what was serviced out of an event, which is the first one as a rule. What is left of it waits behind the others.
    mutating func consume(_ conditions: GRunLoop.DescriptorSource.Conditions, at index: Int) {
        var event = events[index]
        if index == head { head += 1 } else { events.remove(at: index) }
        event.events &= ~conditions.serviceMask
        if event.events != 0 { events.append(event) }
    }
}
