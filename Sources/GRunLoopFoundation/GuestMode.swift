// SPDX-License-Identifier: Apache-2.0
// One mode of Foundation's run loop, as our loop sees it: an epoll that becomes readable, and what is owed to it.

import CGRunFoundation
import GRunLoop
import Glibc
import Synchronization

/// In one mode of the loop, since what is owed to a mode waits until that is run.
final class GuestMode: @unchecked Sendable {
    let mode: GRunLoop.Mode
    /// A string of Core Foundation's.
    let name: UnsafeRawPointer
    /// Serves the mode when something was noticed.
    let source: GRunLoop.Source

    /// Something was noticed since Core Foundation's last pass in the mode began.
    private let owes = Atomic(false)
    /// Something for which Core Foundation does not wake its loop.
    private let owesQuietly = Atomic(false)
    /// Observers were added: what they wait for comes only if the mode is run.
    private let owesObservers = Atomic(false)
    private let atomicEpoll = Atomic<Int32>(-1)
    /// It is common there, and could not be made so here: without a descriptor. Core Foundation waits in it itself.
    let lacksCommon = Atomic(false)

    // MARK: The loop's thread only

    /// Core Foundation waits for something else.
    var isHopeless = false
    private var descriptor: GRunLoop.DescriptorSource?
    /// For want of descriptors it is looked for again.
    var isToRetry = false

    /// Nil without memory.
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

    /// Something was noticed. Whether the loop is to be woken for it.
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

    /// Before a pass, which sees all that was noticed until here.
    func settle() {
        owes.store(false, ordering: .sequentiallyConsistent)
        owesQuietly.store(false, ordering: .sequentiallyConsistent)
    }

    /// Core Foundation's own pass has seen all but what it is not woken for.
    func settleLoudly() { owes.store(false, ordering: .sequentiallyConsistent) }

    func settleQuietly() -> Bool { owesQuietly.exchange(false, ordering: .sequentiallyConsistent) }

    /// The mode's epoll; -1 as long as it is not known. Written by the loop's thread.
    private(set) var epoll: Int32 {
        get { atomicEpoll.load(ordering: .relaxed) }
        set { atomicEpoll.store(newValue, ordering: .relaxed) }
    }

    var isWatched: Bool { epoll >= 0 }

    func oweObservers() { owesObservers.store(true, ordering: .relaxed) }

    var hasOwedObservers: Bool { owesObservers.load(ordering: .relaxed) }

    /// Before a pass that calls them.
    func settleObservers() -> Bool { owesObservers.exchange(false, ordering: .relaxed) }

    // MARK: The loop's thread

    /// Whether Core Foundation would not sleep.
    var isReadable: Bool { isWatched && cgrun_descriptor_is_readable(epoll) }

    /// From now on the loop is woken when the epoll is readable.
    func watch(_ epoll: Int32, in loop: GRunLoop, serve: @escaping @Sendable (GuestMode) -> Void)
        throws(GRunLoop.DescriptorError)
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
