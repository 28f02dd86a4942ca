// SPDX-License-Identifier: Apache-2.0
// One sleep for a set of contexts and the loop's own descriptors: prepare and query each context into its own slice of one array,
// poll once, check each slice with its own priority.
//
// No user code runs in here: GDK holds Wayland's read lock from prepare to check. GLib may refuse to check because the poll set
// changed meanwhile; then the loop's canary, the hub's check function, was not called, and the slice is queried, polled without
// waiting and checked again before anything else happens.

import CGLib
import CGRun

/// The loop's own descriptors in a poll, -1 for none.
struct OwnDescriptors: Equatable {
    /// The mode's epoll.
    var descriptors: Int32 = -1
    /// The main dispatch queue's eventfd.
    var mainQueue: Int32 = -1
    /// What ends the sleep where no context does.
    var wake: Int32 = -1
}

/// What one poll found.
struct PollResult {
    var readyContexts: [ServedContext] = []
    /// Those of the loop's own that are ready, -1 for the others.
    var found = OwnDescriptors()

    var isEmpty: Bool { readyContexts.isEmpty && found == OwnDescriptors() }
}

/// Own thread only, and never across user code: nested runs share it.
final class ContextPoller {
    private struct Slice {
        let served: ServedContext
        let start: Int
        let count: Int
        let priority: Int32
    }

    @exclusivity(unchecked) private var records: UnsafeMutablePointer<GPollFD>
    @exclusivity(unchecked) private var capacity = 32
    @exclusivity(unchecked) private var slices: [Slice] = []

    init() {
        records = .allocate(capacity: capacity)
    }

    deinit {
        records.deallocate()
    }

    /// - Parameter deadline: when to stop waiting; `.min` to only look.
    func poll(_ contexts: [ServedContext], own: OwnDescriptors, deadline: Nanoseconds) -> PollResult {
        for served in contexts { cgrun_hub_set_dormant(served.hub, true) }
        defer { for served in contexts { cgrun_hub_set_dormant(served.hub, false) } }

        slices.removeAll(keepingCapacity: true)
        var used = 0
        var milliseconds: Int32 = -1
        for served in contexts {
            var priority: Int32 = 0
            var timeout: Int32 = -1
            g_main_context_prepare(served.context, &priority)
            let count = query(served.context, priority, at: used, &timeout)
            slices.append(Slice(served: served, start: used, count: count, priority: priority))
            used += count
            if timeout >= 0 { milliseconds = milliseconds < 0 ? timeout : min(milliseconds, timeout) }
        }
        var result = PollResult()
        let ownStart = used
        used += append(own.descriptors, at: used)
        used += append(own.mainQueue, at: used)
        used += append(own.wake, at: used)
        wait(used, milliseconds, deadline)

        for index in ownStart..<used where records[index].revents != 0 {
            switch records[index].fd {
            case own.descriptors: result.found.descriptors = own.descriptors
            case own.mainQueue: result.found.mainQueue = own.mainQueue
            default: result.found.wake = own.wake
            }
        }
        for slice in slices where check(slice) { result.readyContexts.append(slice.served) }
        // Not kept until the next poll: the home context's hub holds the loop.
        slices.removeAll(keepingCapacity: true)
        return result
    }

    private func query(_ context: OpaquePointer, _ priority: Int32, at start: Int, _ timeout: inout Int32) -> Int {
        while true {
            let room = capacity - start
            let count = Int(g_main_context_query(context, priority, &timeout, records + start, Int32(room)))
            if count <= room { return count }
            grow(to: start + count, keeping: start)
        }
    }

    private func append(_ descriptor: Int32, at index: Int) -> Int {
        guard descriptor >= 0 else { return 0 }
        if index == capacity { grow(to: index + 1, keeping: index) }
        records[index] = GPollFD(fd: descriptor, events: gushort(G_IO_IN.rawValue), revents: 0)
        return 1
    }

    private func grow(to needed: Int, keeping used: Int) {
        let larger = max(capacity * 2, needed)
        let copy = UnsafeMutablePointer<GPollFD>.allocate(capacity: larger)
        copy.moveInitialize(from: records, count: used)
        records.deallocate()
        records = copy
        capacity = larger
    }

    /// Waits for whichever comes first: GLib's timeout, which counts in milliseconds, or the deadline, which does not. A signal
    /// handler's interruption ends it early; the caller waits again (item 80).
    private func wait(_ count: Int, _ milliseconds: Int32, _ deadline: Nanoseconds) {
        var span = milliseconds < 0 ? Nanoseconds.never : Nanoseconds(milliseconds) * 1_000_000
        if deadline == .min {
            span = 0
        } else if deadline != .never, span > 0 {
            span = min(span, max(0, deadline - Nanoseconds.now()))
        }
        if let hook = foreignPollFunction() {
            // A program put a poll function of its own on a context: it is honoured, and it counts in milliseconds.
            let rounded = span == .never ? -1 : Int32(min((span + 999_999) / 1_000_000, Nanoseconds(Int32.max)))
            _ = hook(records, guint(count), rounded)
            return
        }
        _ = cgrun_poll(records, UInt32(count), span == .never ? -1 : span)
    }

    private func foreignPollFunction() -> GPollFunc? {
        for slice in slices {
            guard let function = g_main_context_get_poll_func(slice.served.context) else { continue }
            if unsafeBitCast(function, to: UInt.self) != Self.gPoll { return function }
        }
        return nil
    }

    private static let gPoll = unsafeBitCast(g_poll as GPollFunc, to: UInt.self)

    private func check(_ slice: Slice) -> Bool {
        let served = slice.served
        cgrun_hub_clear_canary(served.hub)
        if g_main_context_check(served.context, slice.priority, records + slice.start, Int32(slice.count)) != 0 {
            return true
        }
        return cgrun_hub_saw_check(served.hub) ? false : checkAgain(slice)
    }

    /// GLib left the check out. In memory of its own: the slices behind this one have not been checked yet.
    @inline(never) private func checkAgain(_ slice: Slice) -> Bool {
        let served = slice.served
        var room = slice.count + 8
        while true {
            let (isReady, needed) = withUnsafeTemporaryAllocation(of: GPollFD.self, capacity: room) { buffer in
                let start = buffer.baseAddress
                var timeout: Int32 = 0
                let count = Int(g_main_context_query(served.context, slice.priority, &timeout, start, Int32(room)))
                guard count <= room else { return (Bool?.none, count) }
                _ = g_poll(start, guint(count), 0)
                cgrun_hub_clear_canary(served.hub)
                let isReady = g_main_context_check(served.context, slice.priority, start, Int32(count)) != 0
                return (isReady || cgrun_hub_saw_check(served.hub) ? isReady : nil, count)
            }
            if let isReady { return isReady }
            room = max(room, needed + 8)
        }
    }
}
