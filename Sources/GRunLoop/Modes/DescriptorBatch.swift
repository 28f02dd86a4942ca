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
    private var events: [Event] = []

    /// What is left of the batch, if it is of `mode`.
    func pending(in mode: ModeState) -> [Event] {
        self.mode === mode ? events : []
    }

    /// The same, beginning behind the event of the descriptor that was serviced last: the kernel may list them in the same order each
    /// time, and whoever takes the first only would serve nobody else.
    func pending(in mode: ModeState, after last: Int32) -> [Event] {
        let events = pending(in: mode)
        guard events.count > 1, let index = events.firstIndex(where: { $0.descriptor == last }) else { return events }
        return Array(events[(index + 1)...] + events[...index])
    }

    /// The rest is forgotten: the kernel reports again whatever is still ready.
    mutating func discard() {
        mode = nil
        events.removeAll(keepingCapacity: true)
    }

    /// Asks the kernel what is ready, without waiting.
    mutating func fetch(from mode: ModeState) {
        self.mode = mode
        events.removeAll(keepingCapacity: true)
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
    }

    /// Drops the events for which nobody waits any more; answers whether there were any.
    @discardableResult mutating func dropOrphans(of mode: ModeState) -> Bool {
        guard self.mode === mode, !events.isEmpty else { return false }
        let before = events.count
        events.removeAll { mode.descriptors.receiver(of: $0) == nil }
        return events.count < before
    }

    /// Takes what was serviced out of the event at `index`; an event of which nothing is left is dropped.
    mutating func consume(_ conditions: GRunLoop.DescriptorSource.Conditions, at index: Int) {
        events[index].events &= ~conditions.serviceMask
        if events[index].events == 0 { events.remove(at: index) }
    }
}
