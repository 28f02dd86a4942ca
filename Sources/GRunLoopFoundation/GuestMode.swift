// SPDX-License-Identifier: Apache-2.0
// One mode of Foundation's run loop, which our loop serves. Our loop watches the mode's epoll. For work that does not
// make the epoll readable, such as blocks, this object has flags.

import CGRunFoundation
import GRunLoop
import Glibc
import Synchronization

/// A mode of Foundation's run loop. Our loop serves this mode in its own mode of the same name, because the pending
/// work must wait until our loop runs that mode.
final class GuestMode: @unchecked Sendable {
    let mode: GRunLoop.Mode
    /// The name as a string of Core Foundation.
    let name: UnsafeRawPointer
    /// The source of our loop that serves the mode. This source is signalled when work is pending.
    let source: GRunLoop.Source

    /// Whether work has arrived since Core Foundation's last pass in the mode began.
    private let owes = Atomic(false)
    /// Whether quiet work is pending. Quiet work is work for which Core Foundation does not wake its loop, such as a
    /// block.
    private let owesQuietly = Atomic(false)
    /// Whether observers were added. A pass in the mode is then necessary, because Core Foundation calls observers only
    /// in a pass.
    private let owesObservers = Atomic(false)
    private let atomicEpoll = Atomic<Int32>(-1)
    /// True if the mode is common in Core Foundation's loop only, because no descriptor was left to make the mode
    /// common in our loop. Until the mode is common in both loops, Core Foundation itself sleeps in this mode.
    let lacksCommon = Atomic(false)

    // MARK: The loop's thread only

    /// True if Core Foundation does not wait in an epoll when it runs this mode. Then our loop cannot watch the mode.
    var hasNoEpoll = false
    private var descriptor: GRunLoop.DescriptorSource?
    /// True if another search for the epoll is scheduled, because no descriptor was left for the first search.
    var isRetryScheduled = false

    /// Returns nil if there is no memory left.
    init?(_ mode: GRunLoop.Mode, serve: @escaping @Sendable (GuestMode) -> Void) {
        guard let name = mode.rawValue.withCString({ cgrun_guest_string($0) }) else { return nil }
        self.mode = mode
        self.name = name
        let place = Place()
        source = GRunLoop.Source { place.mode.map(serve) }
        place.mode = self
    }

    deinit { cgrun_guest_release(name) }

    private final class Place: @unchecked Sendable {
        weak var mode: GuestMode?
    }

    // MARK: Any thread

    /// Marks work as pending. Returns whether our loop must be woken.
    func owe(quietly: Bool) -> Bool {
        let isFirst = !owes.exchange(true, ordering: .sequentiallyConsistent)
        let isFirstQuiet = quietly && !owesQuietly.exchange(true, ordering: .sequentiallyConsistent)
        guard isFirst || isFirstQuiet else { return false }
        source.signal()
        return true
    }

    var isOwed: Bool {
        owes.load(ordering: .sequentiallyConsistent) || owesQuietly.load(ordering: .sequentiallyConsistent)
    }

    /// Clears the marks before a pass, because the pass handles all work that has arrived.
    func settle() {
        owes.store(false, ordering: .sequentiallyConsistent)
        owesQuietly.store(false, ordering: .sequentiallyConsistent)
    }

    /// Clears the mark of work that is not quiet, because a pass of Core Foundation has handled this work.
    func settleLoudly() { owes.store(false, ordering: .sequentiallyConsistent) }

    func settleQuietly() -> Bool { owesQuietly.exchange(false, ordering: .sequentiallyConsistent) }

    /// The mode's epoll; -1 as long as the epoll is not known. Only the loop's thread sets this property.
    private(set) var epoll: Int32 {
        get { atomicEpoll.load(ordering: .relaxed) }
        set { atomicEpoll.store(newValue, ordering: .relaxed) }
    }

    var isWatched: Bool { epoll >= 0 }

    func oweObservers() { owesObservers.store(true, ordering: .relaxed) }

    var hasOwedObservers: Bool { owesObservers.load(ordering: .relaxed) }

    /// Clears the mark before a pass that calls the observers. Returns the former value.
    func settleObservers() -> Bool { owesObservers.exchange(false, ordering: .relaxed) }

    // MARK: The loop's thread

    /// True if the epoll is readable, so that Core Foundation would not sleep.
    var isReadable: Bool { isWatched && cgrun_descriptor_is_readable(epoll) }

    /// Watches the epoll: from now on, our loop calls `serve` when the epoll is readable.
    func watch(_ epoll: Int32, in loop: GRunLoop, serve: @escaping @Sendable (GuestMode) -> Void)
        throws(GRunLoop.SystemError)
    {
        let descriptor = GRunLoop.DescriptorSource(descriptor: epoll) { [weak self] _, _ in
            if let self { serve(self) }
        }
        try loop.add(descriptor, forMode: mode)
        self.descriptor = descriptor
        self.epoll = epoll
    }

    func end() {
        source.invalidate()
        descriptor?.invalidate()
        descriptor = nil
        epoll = -1
    }
}
