// SPDX-License-Identifier: Apache-2.0
// One sleep for a set of contexts and the loop's own descriptors: the Swift side of poller.c.

import CGRun

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
