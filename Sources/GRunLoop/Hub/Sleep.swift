// SPDX-License-Identifier: Apache-2.0
// A sleep of the thread in poll(): what it waits for, and what ends it.

import CGLib
import CGRun

/// What ends a sleep.
enum Waker {
    /// A context in the poll set.
    case context(OpaquePointer)
    /// The loop's own eventfd.
    case descriptor(Int32)
}

/// Guarded by the loop's lock.
struct Sleep {
    /// What ends the sleep that is under way, or about to begin: a change that concerns it has to.
    private var waker: Waker?
    /// This sleep was already woken.
    private var isKicked = false
    /// The mode of the sleep. Only its identity: comparing references would count them.
    private var mode: ObjectIdentifier?
    private(set) var until: Nanoseconds = .never

    mutating func begin(in mode: AnyObject, wokenBy waker: Waker, until: Nanoseconds) {
        isKicked = false
        self.mode = ObjectIdentifier(mode)
        self.waker = waker
        self.until = until
    }

    mutating func end() {
        mode = nil
        waker = nil
    }

    /// The thread is in poll(), or about to be.
    var isUnderWay: Bool { waker != nil }
    func isIn(_ mode: AnyObject) -> Bool { self.mode == ObjectIdentifier(mode) }

    /// Whether this sleep was woken, or the one before if that was not asked yet. Asking clears it.
    mutating func takeKicked() -> Bool {
        defer { isKicked = false }
        return isKicked
    }

    mutating func kick(_ loop: GRunLoop) -> Kick? {
        guard !isKicked, let waker else { return nil }
        isKicked = true
        return Kick(waker, of: loop)
    }
}

/// A wake-up for a thread that sleeps in poll(). Sent after the lock is released, since the woken thread takes it. Must
/// be sent exactly once: no other call wakes the same sleep.
struct Kick: ~Copyable {
    private let waker: Waker
    /// Retained if its descriptor is to be written to: the loop closes that in its deinit.
    private let loop: Unmanaged<GRunLoop>

    init(_ waker: Waker, of loop: GRunLoop) {
        self.waker = waker
        self.loop = .passUnretained(loop)
        switch waker {
        case .context(let context): g_main_context_ref(context)
        case .descriptor: _ = self.loop.retain()
        }
    }

    consuming func send() {
        switch waker {
        case .context(let context):
            g_main_context_wakeup(context)
            g_main_context_unref(context)
        case .descriptor(let descriptor):
            cgrun_event_signal(descriptor)
            loop.release()
        }
        discard self
    }

    deinit {
        Self.refuseToBeLost()
    }

    private static func refuseToBeLost() {
        fatalError("GRunLoop: a loop was to be woken, and nobody has done it")
    }
}

extension Optional where Wrapped: ~Copyable, Wrapped == Kick {
    /// One hold of the lock decides on one wake-up at most.
    mutating func merge(_ other: consuming Kick?) {
        if let other { self = consume other }
    }
}

// MARK: What it waits for: the Swift side of poller.c

/// The loop's own descriptors in a poll, -1 for none.
struct OwnDescriptors {
    /// The mode's epoll.
    var descriptors: Int32 = -1
    /// The main dispatch queue's eventfd.
    var mainQueue: Int32 = -1
    /// Ends the sleep if no context can.
    var wake: Int32 = -1
}

/// What one poll found.
struct PollResult {
    var readyContexts: [ServedContext] = []
    var descriptors = false
    var mainQueue = false
    var wake = false

    var isEmpty: Bool { readyContexts.isEmpty && !descriptors && !mainQueue && !wake }
}

/// Own thread only, and never across user code: nested runs share it.
final class ContextPoller {
    @exclusivity(unchecked) private var poller = cgrun_poller()
    private var polled = UnsafeMutableBufferPointer<cgrun_polled>.allocate(capacity: 4)

    deinit {
        cgrun_poller_clear(&poller)
        polled.deallocate()
    }

    private func makeRoom(for count: Int) {
        polled.deallocate()
        polled = .allocate(capacity: 2 * count)
    }

    /// After a poll in which nothing was found: a descriptor that is not open and that ends each poll; see poller.c.
    var stuckDescriptor: Int32? {
        let descriptor = cgrun_poller_stuck_descriptor(&poller)
        return descriptor < 0 ? nil : descriptor
    }

    /// - Parameter deadline: when to stop waiting; `.min` to only look.
    func poll(_ contexts: [ServedContext], own: OwnDescriptors, deadline: Nanoseconds) -> PollResult {
        if contexts.count > polled.count { makeRoom(for: contexts.count) }
        for index in contexts.indices {
            polled[index] = cgrun_polled(
                context: contexts[index].context, hub: contexts[index].hub, is_ready: false, priority: 0, first: 0,
                count: 0)
        }
        let found = withUnsafeTemporaryAllocation(of: Int32.self, capacity: Int(CGRUN_OWN_DESCRIPTORS)) { slots in
            slots[0] = own.descriptors
            slots[1] = own.mainQueue
            slots[2] = own.wake
            return cgrun_poller_poll(&poller, polled.baseAddress, UInt32(contexts.count), slots.baseAddress, deadline)
        }
        if found & UInt32(CGRUN_POLL_FAILED) != 0 { endForRefusedWait() }
        var result = PollResult(descriptors: found & 1 != 0, mainQueue: found & 2 != 0, wake: found & 4 != 0)
        for index in contexts.indices where polled[index].is_ready { result.readyContexts.append(contexts[index]) }
        return result
    }

    /// Ends the process: poll() has failed for all descriptors.
    private func endForRefusedWait() -> Never {
        Log.fatal(
            "the kernel refuses to wait for events (poll: \(errorMessage(poller.error))), and the run loop cannot go on"
        )
    }
}
