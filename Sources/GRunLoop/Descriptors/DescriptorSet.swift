// SPDX-License-Identifier: Apache-2.0
// The descriptors that one mode watches: an epoll, and the sources of each descriptor.

import CGRun
import Glibc

/// The descriptors that one mode watches. Its epoll is made when the first descriptor is added. Guarded by the loop's
/// lock.
final class DescriptorSet {
    /// The source to call for an event, and the conditions to call it with. The source is not retained: it lives as
    /// long as it is in the mode, and the code that calls it retains it.
    typealias Receiver = (
        source: Unmanaged<GRunLoop.DescriptorSource>, ready: GRunLoop.DescriptorSource.Conditions, isShared: Bool
    )

    /// The watch of one descriptor: usually for one source.
    private struct Watch {
        /// The source that was added first. Retained. Nil if the descriptor is not watched.
        var source: Unmanaged<GRunLoop.DescriptorSource>?
        /// Distinguishes this watch from an earlier watch of the same number, whose event may still be in a batch. 0 if
        /// the descriptor is not watched.
        var generation: UInt32 = 0
        /// True from the second source of the descriptor on, until its last source is removed. The sources are in
        /// `shared`.
        var isShared = false
    }

    private(set) var epoll: Int32 = -1
    /// The watch of each descriptor, by number. Numbers are small, because the system gives the lowest free one.
    private var watches = UnsafeMutableBufferPointer<Watch>(start: nil, count: 0)
    private var shared: [Int32: SharedDescriptor] = [:]
    private var count = 0
    private var generations: UInt32

    /// - Parameter generations: the generation of the last watch that was begun. Tests set it.
    init(generations: UInt32 = perturbs(CGRUN_SITE_COUNTER) ? .max - 2 : 0) { self.generations = generations }

    deinit {
        for descriptor in watchedDescriptors {
            watches[Int(descriptor)].source?.release()
        }
        free(watches.baseAddress)
        if epoll >= 0 { close(epoll) }
    }

    var isEmpty: Bool { count == 0 }
    /// The epoll while it watches a descriptor, otherwise -1: each descriptor in a poll costs a sleep 160 to 380 ns.
    var watched: Int32 { count == 0 ? -1 : epoll }

    var all: [GRunLoop.DescriptorSource] { watchedDescriptors.flatMap(sources) }

    /// Finds a source without allocating memory, unlike ``all``.
    func first(where isWanted: (GRunLoop.DescriptorSource) -> Bool) -> GRunLoop.DescriptorSource? {
        for (index, watch) in watches.enumerated() {
            if watch.isShared {
                if let source = shared[Int32(index)]?.first(where: isWanted) { return source }
            } else if let source = watch.source?.takeUnretainedValue(), isWanted(source) {
                return source
            }
        }
        return nil
    }

    private var watchedDescriptors: [Int32] {
        var found: [Int32] = []
        var index = 0
        // Stops at the last watch, because the table reaches to the highest number ever watched.
        while found.count < count, index < watches.count {
            if watches[index].generation != 0 { found.append(Int32(index)) }
            index += 1
        }
        return found
    }

    private func watch(of descriptor: Int32) -> Watch {
        descriptor >= 0 && descriptor < watches.count ? watches[Int(descriptor)] : Watch()
    }

    private func sources(of descriptor: Int32) -> [GRunLoop.DescriptorSource] {
        let watch = watch(of: descriptor)
        if watch.isShared { return shared[descriptor]?.sources ?? [] }
        return watch.source.map { [$0.takeUnretainedValue()] } ?? []
    }

    /// Adds a source. Returns what is wrong with the watch of its number, or nil: see ``WatchLoss``.
    func add(_ source: GRunLoop.DescriptorSource) throws(GRunLoop.SystemError) -> WatchLoss? {
        let descriptor = source.descriptor
        guard descriptor >= 0 else { throw .notOpen(descriptor: descriptor) }
        defer { checkInvariants(of: descriptor) }
        if epoll < 0 {
            epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
            guard epoll >= 0 else { throw .init(errno: errno, of: "epoll_create1(2)") }
            // The epoll is new, but the set may already have sources: an earlier rebuild may have found no free
            // descriptor.
            watchAll()
        }
        let known = watch(of: descriptor)
        guard known.generation != 0 else {
            let generation = nextGeneration()
            try begin(descriptor, source.conditionsLocked, generation)
            makeRoom(for: descriptor)
            watches[Int(descriptor)] = Watch(source: .passRetained(source), generation: generation)
            count += 1
            return nil
        }
        let sources = sources(of: descriptor) + [source]
        let wasClosed = try change(descriptor, to: Self.union(sources))
        if known.isShared {
            shared[descriptor]?.add(source)
        } else {
            shared[descriptor] = SharedDescriptor(sources[0], source)
            watches[Int(descriptor)].isShared = true
        }
        return wasClosed ? .closed : nil
    }

    func remove(_ source: GRunLoop.DescriptorSource) -> WatchLoss? {
        let descriptor = source.descriptor
        defer { checkInvariants(of: descriptor) }
        let watch = watch(of: descriptor)
        let left = watch.isShared ? sources(of: descriptor).filter { $0 !== source } : []
        if left.first.map({ watch.source === $0 }) != true {
            watches[Int(descriptor)].source = left.first.map(Unmanaged.passRetained)
            if left.isEmpty { watches[Int(descriptor)].generation = 0 }
            watch.source?.release()
        }
        if watch.isShared {
            // The entry stays while a source is left, because it remembers whose turn it is.
            if left.isEmpty { shared[descriptor] = nil } else { shared[descriptor]?.remove(source) }
            watches[Int(descriptor)].isShared = !left.isEmpty
        }
        do throws(GRunLoop.SystemError) {
            if left.isEmpty {
                count -= 1
                try control(EPOLL_CTL_DEL, descriptor, [], 0)
            } else {
                return try change(descriptor, to: Self.union(left)) ? .closed : nil
            }
        } catch {
            return WatchLoss(error)
        }
        return nil
    }

    /// Tells the kernel that a source of the set waits for other conditions than before. If a new condition holds now,
    /// the kernel ends a poll that is under way. Returns what is wrong with the watch, or nil.
    func noteChange(of source: GRunLoop.DescriptorSource, from former: GRunLoop.DescriptorSource.Conditions)
        -> WatchLoss?
    {
        let descriptor = source.descriptor
        let others = Self.union(sources(of: descriptor).filter { $0 !== source })
        // The kernel always watches for failures. It also goes on watching for what another source waits for.
        let changed = former.symmetricDifference(source.conditionsLocked).subtracting(others.union([.hangUp, .error]))
        guard !changed.isEmpty else { return nil }
        do throws(GRunLoop.SystemError) {
            return try change(descriptor, to: others.union(source.conditionsLocked)) ? .closed : nil
        } catch {
            return WatchLoss(error)
        }
    }

    /// Begins a watch. `generation` must be new, so that no event of a file that had the number before reaches the
    /// sources.
    private func begin(
        _ descriptor: Int32, _ conditions: GRunLoop.DescriptorSource.Conditions, _ generation: UInt32
    ) throws(GRunLoop.SystemError) {
        do throws(GRunLoop.SystemError) {
            try control(EPOLL_CTL_ADD, descriptor, conditions, generation)
        } catch {
            guard error == .failed(call: "epoll_ctl(2)", errno: EEXIST) else { throw error }
            // The kernel still has an old watch of this number and file. The program closed the descriptor while a
            // source still used it, so the watch could not be removed. Now the program has duplicated the same file to
            // the same number.
            try control(EPOLL_CTL_MOD, descriptor, conditions, generation)
        }
    }

    private func nextGeneration() -> UInt32 {
        generations = Swift.max(1, generations &+ 1)
        return generations
    }

    /// Changes the conditions of a watch. Returns true if the number has become another file's meanwhile. Then the
    /// sources wait for the new file, as they would in a `poll(2)`.
    private func change(
        _ descriptor: Int32, to conditions: GRunLoop.DescriptorSource.Conditions
    ) throws(GRunLoop.SystemError) -> Bool {
        do throws(GRunLoop.SystemError) {
            try control(EPOLL_CTL_MOD, descriptor, conditions, watches[Int(descriptor)].generation)
            return false
        } catch {
            guard !isSandboxed else { throw error }
            // The number has another file, or none. If the old file lives on, the new generation keeps its events from
            // the sources.
            let generation = nextGeneration()
            watches[Int(descriptor)].generation = generation
            guard error == .failed(call: "epoll_ctl(2)", errno: ENOENT) else { throw error }
            try begin(descriptor, conditions, generation)
            return true
        }
    }

    /// Ends all watches, by giving the epoll to the caller. The caller must close it; nil if there is no epoll.
    func end() -> Int32? {
        defer { epoll = -1 }
        return epoll < 0 ? nil : epoll
    }

    /// Forgets the epoll and does not close it: the program may have closed it and reused its number.
    func forgetEpoll() { epoll = -1 }

    private func makeRoom(for descriptor: Int32) {
        guard descriptor >= watches.count else { return }
        let needed = Swift.max(16, 1 << (Int.bitWidth - Int(descriptor).leadingZeroBitCount))
        // calloc(), because a watch of zeroes means that nothing is watched. The system provides the pages of a large
        // allocation only when they are used.
        guard let memory = calloc(needed, MemoryLayout<Watch>.stride) else {
            Log.fatal("no memory is left for watching descriptor \(descriptor)")
        }
        let larger = memory.bindMemory(to: Watch.self, capacity: needed)
        larger.update(from: watches.baseAddress ?? larger, count: watches.count)
        free(watches.baseAddress)
        watches = .init(start: larger, count: needed)
    }

    /// Makes a new epoll with all watches that are still possible. Returns the error if no epoll can be made, or if a
    /// sandbox forbids to watch; otherwise nil.
    func rebuild() -> GRunLoop.SystemError? {
        var made = epoll_create1(Int32(EPOLL_CLOEXEC))
        cgrun_close(epoll)
        if made < 0 { made = epoll_create1(Int32(EPOLL_CLOEXEC)) }
        let error = made < 0 ? GRunLoop.SystemError(errno: errno, of: "epoll_create1(2)") : nil
        epoll = made
        return watchAll() ?? error
    }

    /// Watches all descriptors again. Returns the error if a sandbox forbids it. A closed number is not watched, and is
    /// not an error.
    @discardableResult private func watchAll() -> GRunLoop.SystemError? {
        var forbidden: GRunLoop.SystemError?
        for descriptor in watchedDescriptors {
            // A closed number gets a new generation, too, because an event of its former file may be in a batch.
            let generation = nextGeneration()
            watches[Int(descriptor)].generation = generation
            do throws(GRunLoop.SystemError) {
                try control(EPOLL_CTL_ADD, descriptor, Self.union(sources(of: descriptor)), generation)
            } catch {
                if case .forbidden = error { forbidden = error }
            }
        }
        return forbidden
    }

    /// Returns the source to call for an event; nil if no source waits for it any more, as after a removal.
    func receiver(of event: DescriptorBatch.Event) -> Receiver? {
        let watch = watch(of: event.descriptor)
        guard watch.generation == event.generation, let source = watch.source else { return nil }
        guard !watch.isShared else { return receiverOfShared(event) }
        let ready = source._withUnsafeGuaranteedRef { $0.conditionsLocked.happened(in: event.events) }
        return ready.isEmpty ? nil : (source, ready, false)
    }

    /// Returns whether the event's number still belongs to the watched file. If the number has another file, that file
    /// is watched from now on.
    ///
    /// The number is lost if the program has closed it, or has called `dup2(2)` onto it, while a copy of the watched
    /// file is open. To find out, this adds the number to the epoll. The kernel refuses to add the same pair of number
    /// and file twice, so the usual case changes nothing.
    func confirm(_ event: DescriptorBatch.Event) -> Bool {
        guard !cgrun_has_forked(), epoll >= 0 else { return true }
        let descriptor = event.descriptor
        var added = epoll_event(events: 0, descriptor: descriptor, generation: 0)
        let isAdded = epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &added) == 0
        // EEXIST confirms the number. Any other error means that the number has no file, or a file that cannot be
        // watched.
        guard isAdded || errno != EEXIST && !isSandboxed else { return true }
        let generation = nextGeneration()
        watches[Int(descriptor)].generation = generation
        try? control(EPOLL_CTL_MOD, descriptor, Self.union(sources(of: descriptor)), generation)
        return false
    }

    /// Whether a sandbox forbids `epoll_ctl(2)`. Such a refusal says nothing about a number, and must not make the loop
    /// deaf. The kernel itself refuses to add an epoll to itself with EINVAL, so any other error is the sandbox's.
    private var isSandboxed: Bool {
        var event = epoll_event()
        return epoll_ctl(epoll, EPOLL_CTL_ADD, epoll, &event) != 0 && errno != EINVAL
    }

    private func receiverOfShared(_ event: DescriptorBatch.Event) -> Receiver? {
        shared[event.descriptor]?.receiver(of: event.events)
    }

    /// Records that the receiver is about to be called. The next turn of a shared descriptor is another source's.
    func noteTurn(of receiver: Receiver, on descriptor: Int32) {
        if receiver.isShared { noteSharedTurn(of: receiver, on: descriptor) }
    }

    private func noteSharedTurn(of receiver: Receiver, on descriptor: Int32) {
        receiver.source._withUnsafeGuaranteedRef { shared[descriptor]?.noteTurn(of: $0) }
    }

    /// In debug builds, checks that a watch has a source, and that it is shared if and only if `shared` has an entry.
    @inline(__always) private func checkInvariants(of descriptor: Int32) {
        #if DEBUG
            let watch = watch(of: descriptor)
            let shared = shared[descriptor]?.sources
            invariant((watch.generation != 0) == (watch.source != nil), "a watch has a source")
            invariant(watch.isShared == (shared != nil), "shared descriptors are in the table")
            invariant(
                shared.map { $0.first === watch.source?.takeUnretainedValue() } ?? true, "the first has the watch")
            guard watches.count <= Invariant.few else { return }
            invariant(watches.count(where: { $0.generation != 0 }) == count, "watches are counted")
        #endif
    }

    private static func union(_ sources: [GRunLoop.DescriptorSource]) -> GRunLoop.DescriptorSource.Conditions {
        sources.reduce(into: []) { $0.formUnion($1.conditionsLocked) }
    }

    private func control(
        _ operation: Int32, _ descriptor: Int32, _ conditions: GRunLoop.DescriptorSource.Conditions,
        _ generation: UInt32
    ) throws(GRunLoop.SystemError) {
        // A forked child shares the epoll with its parent, and would change the parent's watches.
        guard !cgrun_has_forked(), epoll >= 0 else { return }
        var event = epoll_event(events: conditions.rawValue, descriptor: descriptor, generation: generation)
        guard epoll_ctl(epoll, operation, descriptor, &event) == 0 else {
            let error = errno
            if case .forbidden = KernelRefusal(error), isSandboxed {
                throw .forbidden(call: "epoll_ctl(2)", errno: error)
            }
            throw .init(errno: error, descriptor: descriptor)
        }
    }
}
