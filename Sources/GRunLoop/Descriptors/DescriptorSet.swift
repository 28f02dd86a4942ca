// SPDX-License-Identifier: Apache-2.0
// The descriptors that one mode watches.

import CGRun
import Glibc

/// Holds an epoll, which is created with the first descriptor, and the sources of each descriptor. Guarded by the
/// loop's lock.
final class DescriptorSet {
    /// The source to call for an event, the conditions to pass to it, and whether its descriptor has several sources.
    /// The source is not retained, because the mode keeps it alive. The caller retains it for the callout.
    typealias Receiver = (
        source: Unmanaged<GRunLoop.DescriptorSource>, ready: GRunLoop.DescriptorSource.Conditions, isShared: Bool
    )

    private struct Watch {
        /// The source that was added first, retained; nil if the descriptor is not watched.
        var source: Unmanaged<GRunLoop.DescriptorSource>?
        /// Distinguishes this watch from an earlier watch of the same number. An event of the earlier watch may still
        /// be in a batch. 0 if the descriptor is not watched.
        var generation: UInt32 = 0
        /// True from the addition of the descriptor's second source until the removal of its last source. During this
        /// time, the sources are in `shared`.
        var isShared = false
    }

    private(set) var epoll: Int32 = -1
    /// The watch of each descriptor, indexed by number. Numbers are small, because the system assigns the lowest free
    /// number.
    private var watches = UnsafeMutableBufferPointer<Watch>(start: nil, count: 0)
    private var shared: [Int32: SharedDescriptor] = [:]
    private var count = 0
    private var generations: UInt32

    /// - Parameter generations: the generation of the most recent watch. Tests set it.
    init(generations: UInt32 = perturbs(CGRUN_SITE_COUNTER) ? .max - 2 : 0) { self.generations = generations }

    deinit {
        for descriptor in watchedDescriptors {
            watches[Int(descriptor)].source?.release()
        }
        free(watches.baseAddress)
        if epoll >= 0 { close(epoll) }
    }

    var isEmpty: Bool { count == 0 }
    /// The epoll if it watches any descriptor, otherwise -1. An epoll without descriptors is left out of polls, because
    /// each descriptor in a poll makes a sleep 160 to 380 ns slower.
    var watched: Int32 { count == 0 ? -1 : epoll }

    var all: [GRunLoop.DescriptorSource] { watchedDescriptors.flatMap(sources) }

    /// Returns the first source that matches, without allocating memory; ``all`` allocates.
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
        // Stops after the last watch, because the table extends to the highest number that was ever watched.
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

    /// Adds a source. Returns a ``WatchLoss`` if the existing watch of its descriptor was lost, otherwise nil.
    func add(_ source: GRunLoop.DescriptorSource) throws(GRunLoop.SystemError) -> WatchLoss? {
        let descriptor = source.descriptor
        guard descriptor >= 0 else { throw .notOpen(descriptor: descriptor) }
        defer { checkInvariants(of: descriptor) }
        if epoll < 0 {
            epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
            guard epoll >= 0 else { throw .init(errno: errno, of: "epoll_create1(2)") }
            // If a call of ``rebuild()`` could not make an epoll, the set already has sources, and their watches begin
            // now.
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
            // The entry in `shared` stays until the last source is removed, because it records which source is called
            // next.
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

    /// Updates the kernel's watch after the conditions of a source have changed. If a new condition holds now, the
    /// kernel ends a poll that is under way. Returns a ``WatchLoss`` if the watch was lost, otherwise nil.
    func noteChange(of source: GRunLoop.DescriptorSource, from former: GRunLoop.DescriptorSource.Conditions)
        -> WatchLoss?
    {
        let descriptor = source.descriptor
        let others = Self.union(sources(of: descriptor).filter { $0 !== source })
        // In any case, the kernel watches for hang-ups, for errors, and for the conditions of the other sources.
        let changed = former.symmetricDifference(source.conditionsLocked).subtracting(others.union([.hangUp, .error]))
        guard !changed.isEmpty else { return nil }
        do throws(GRunLoop.SystemError) {
            return try change(descriptor, to: others.union(source.conditionsLocked)) ? .closed : nil
        } catch {
            return WatchLoss(error)
        }
    }

    /// Begins a watch. `generation` must be new, so that the sources get no event of the number's former file.
    private func begin(
        _ descriptor: Int32, _ conditions: GRunLoop.DescriptorSource.Conditions, _ generation: UInt32
    ) throws(GRunLoop.SystemError) {
        do throws(GRunLoop.SystemError) {
            try control(EPOLL_CTL_ADD, descriptor, conditions, generation)
        } catch {
            guard error == .failed(call: "epoll_ctl(2)", errno: EEXIST) else { throw error }
            // The kernel still has an old watch of this number and file. The program closed the number while a source
            // used it, so the watch could not be removed. Then the program duplicated the file to this number again.
            try control(EPOLL_CTL_MOD, descriptor, conditions, generation)
        }
    }

    private func nextGeneration() -> UInt32 {
        generations = Swift.max(1, generations &+ 1)
        return generations
    }

    /// Changes the conditions of a watch. Returns true if the number belongs to another file now. In that case the
    /// sources wait for the new file, as with `poll(2)`.
    private func change(
        _ descriptor: Int32, to conditions: GRunLoop.DescriptorSource.Conditions
    ) throws(GRunLoop.SystemError) -> Bool {
        do throws(GRunLoop.SystemError) {
            try control(EPOLL_CTL_MOD, descriptor, conditions, watches[Int(descriptor)].generation)
            return false
        } catch {
            guard !isSandboxed else { throw error }
            // The number belongs to another file now, or is closed. The new generation keeps the old file's events from
            // the sources.
            let generation = nextGeneration()
            watches[Int(descriptor)].generation = generation
            guard error == .failed(call: "epoll_ctl(2)", errno: ENOENT) else { throw error }
            try begin(descriptor, conditions, generation)
            return true
        }
    }

    /// Ends all watches. Returns the epoll, which the caller must close; nil if there is none.
    func end() -> Int32? {
        defer { epoll = -1 }
        return epoll < 0 ? nil : epoll
    }

    /// Clears the epoll's number without closing it, because the program may have closed it and reused its number.
    func forgetEpoll() { epoll = -1 }

    private func makeRoom(for descriptor: Int32) {
        guard descriptor >= watches.count else { return }
        let needed = Swift.max(16, 1 << (Int.bitWidth - Int(descriptor).leadingZeroBitCount))
        // Calls calloc(), because an all-zero watch means that the descriptor is not watched. The system allocates only
        // those pages of a large table that are used.
        guard let memory = calloc(needed, MemoryLayout<Watch>.stride) else {
            Log.fatal("no memory is left for watching descriptor \(descriptor)")
        }
        let larger = memory.bindMemory(to: Watch.self, capacity: needed)
        larger.update(from: watches.baseAddress ?? larger, count: watches.count)
        free(watches.baseAddress)
        watches = .init(start: larger, count: needed)
    }

    /// Replaces the epoll, and restores every watch that is still possible. Returns the error if no epoll can be made
    /// or a sandbox forbids watching, otherwise nil.
    func rebuild() -> GRunLoop.SystemError? {
        var made = epoll_create1(Int32(EPOLL_CLOEXEC))
        cgrun_close(epoll)
        if made < 0 { made = epoll_create1(Int32(EPOLL_CLOEXEC)) }
        let error = made < 0 ? GRunLoop.SystemError(errno: errno, of: "epoll_create1(2)") : nil
        epoll = made
        return watchAll() ?? error
    }

    /// Adds every descriptor of the set to the epoll. Returns the error if a sandbox forbids that, otherwise nil. A
    /// closed number is skipped without an error.
    @discardableResult private func watchAll() -> GRunLoop.SystemError? {
        var forbidden: GRunLoop.SystemError?
        for descriptor in watchedDescriptors {
            // A closed number also gets a new generation, because an event of its former file may be in a batch.
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

    /// Returns the source to call for an event; nil if no source waits for the event, for example after a removal.
    func receiver(of event: DescriptorBatch.Event) -> Receiver? {
        let watch = watch(of: event.descriptor)
        guard watch.generation == event.generation, let source = watch.source else { return nil }
        guard !watch.isShared else { return receiverOfShared(event) }
        let ready = source._withUnsafeGuaranteedRef { $0.conditionsLocked.happened(in: event.events) }
        return ready.isEmpty ? nil : (source, ready, false)
    }

    /// Returns whether the event's number still belongs to the watched file. If the number belongs to another file now,
    /// watches that file.
    ///
    /// If a duplicate keeps the old file open, the epoll continues to watch the old file. To detect that, this function
    /// adds the number to the epoll. The kernel refuses to add the same pair of number and file twice, so normally
    /// nothing changes.
    func confirm(_ event: DescriptorBatch.Event) -> Bool {
        guard !cgrun_has_forked(), epoll >= 0 else { return true }
        let descriptor = event.descriptor
        var added = epoll_event(events: 0, descriptor: descriptor, generation: 0)
        let isAdded = epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &added) == 0
        // EEXIST confirms the number. Without a sandbox, any other error means that the number is closed, or that its
        // file cannot be watched.
        guard isAdded || errno != EEXIST && !isSandboxed else { return true }
        let generation = nextGeneration()
        watches[Int(descriptor)].generation = generation
        try? control(EPOLL_CTL_MOD, descriptor, Self.union(sources(of: descriptor)), generation)
        return false
    }

    /// Whether a sandbox forbids `epoll_ctl(2)`. An error from a sandbox says nothing about the descriptor, so the
    /// watch must stay. If a program adds an epoll to itself, the kernel returns EINVAL. So any other error comes from
    /// a sandbox.
    private var isSandboxed: Bool {
        var event = epoll_event()
        return epoll_ctl(epoll, EPOLL_CTL_ADD, epoll, &event) != 0 && errno != EINVAL
    }

    private func receiverOfShared(_ event: DescriptorBatch.Event) -> Receiver? {
        shared[event.descriptor]?.receiver(of: event.events)
    }

    /// Records that the receiver is about to be called. If several sources share the descriptor, another source is
    /// called next.
    func noteTurn(of receiver: Receiver, on descriptor: Int32) {
        if receiver.isShared { noteSharedTurn(of: receiver, on: descriptor) }
    }

    private func noteSharedTurn(of receiver: Receiver, on descriptor: Int32) {
        receiver.source._withUnsafeGuaranteedRef { shared[descriptor]?.noteTurn(of: $0) }
    }

    @inline(__always) private func checkInvariants(of descriptor: Int32) {
        #if DEBUG
            let watch = watch(of: descriptor)
            let shared = shared[descriptor]?.sources
            invariant((watch.generation != 0) == (watch.source != nil), "a watch has a source")
            invariant(watch.isShared == (shared != nil), "shared descriptors are in the table")
            invariant(
                shared.map { $0.first === watch.source?.takeUnretainedValue() } ?? true, "the first source is watched")
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
        // A forked child shares the epoll with its parent. A change here would change the parent's watches.
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
