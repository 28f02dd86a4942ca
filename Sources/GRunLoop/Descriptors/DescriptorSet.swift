// SPDX-License-Identifier: Apache-2.0
// The descriptors that one mode watches: an epoll, and who waits for what on each of them.

import CGRun
import Glibc

/// Guarded by the loop's lock. The epoll is made when the first descriptor is added.
final class DescriptorSet {
    /// The source to call for an event, and the conditions to call it with. Not retained: it lives as long as it is in
    /// the mode, and its caller retains it.
    typealias Receiver = (
        source: Unmanaged<GRunLoop.DescriptorSource>, ready: GRunLoop.DescriptorSource.Conditions, isShared: Bool
    )

    /// One descriptor, and who watches it: as a rule one source.
    private struct Watch {
        /// Retained. Nil without a watch.
        var source: Unmanaged<GRunLoop.DescriptorSource>?
        /// Distinguishes this watch from an earlier one of the same number, whose event may still be in a batch. 0
        /// without a watch.
        var generation: UInt32 = 0
        /// Several sources watch the descriptor, or did: they are in `shared`.
        var isShared = false
    }

    private(set) var epoll: Int32 = -1
    /// By descriptor: their numbers are small, since the system gives the lowest that is free.
    private var watches = UnsafeMutableBufferPointer<Watch>(start: nil, count: 0)
    private var shared: [Int32: SharedDescriptor] = [:]
    private var count = 0
    private var generations: UInt32

    /// - Parameter generations: for tests: the generation of the last watch before.
    init(generations: UInt32 = perturbs(CGRUN_SITE_COUNTER) ? .max - 2 : 0) { self.generations = generations }

    deinit {
        for descriptor in watchedDescriptors {
            watches[Int(descriptor)].source?.release()
        }
        free(watches.baseAddress)
        if epoll >= 0 { close(epoll) }
    }

    var isEmpty: Bool { count == 0 }
    /// The epoll as long as there is something in it, else -1: each descriptor in a poll costs a sleep 160 to 380 ns.
    var watched: Int32 { count == 0 ? -1 : epoll }

    var all: [GRunLoop.DescriptorSource] { watchedDescriptors.flatMap(sources) }

    /// Unlike ``all``, the search allocates no memory.
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
        // Stops at the last watch: the table is as long as the highest number ever watched.
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

    /// Returns what is wrong with the watch of the number, or nil: see ``WatchLoss``.
    func add(_ source: GRunLoop.DescriptorSource) throws(GRunLoop.DescriptorError) -> WatchLoss? {
        let descriptor = source.descriptor
        guard descriptor >= 0 else { throw .invalid(descriptor: descriptor) }
        defer { checkInvariants(of: descriptor) }
        if epoll < 0 {
            epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
            guard epoll >= 0 else { throw .init(errno: errno, of: "epoll_create1(2)") }
            // The epoll is new, but sources may exist: a rebuild may have found no descriptor left.
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
            // Kept while a source is left: it remembers whose turn it is.
            if left.isEmpty { shared[descriptor] = nil } else { shared[descriptor]?.remove(source) }
            watches[Int(descriptor)].isShared = !left.isEmpty
        }
        do throws(GRunLoop.DescriptorError) {
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

    /// A source of the set waits for something else than before. A poll that is under way is told by the kernel what is
    /// ready now.
    func noteChange(of source: GRunLoop.DescriptorSource, from former: GRunLoop.DescriptorSource.Conditions)
        -> WatchLoss?
    {
        let descriptor = source.descriptor
        let others = Self.union(sources(of: descriptor).filter { $0 !== source })
        // The kernel watches for failures in any case, and for what another source waits for.
        let changed = former.symmetricDifference(source.conditionsLocked).subtracting(others.union([.hangUp, .error]))
        guard !changed.isEmpty else { return nil }
        do throws(GRunLoop.DescriptorError) {
            return try change(descriptor, to: others.union(source.conditionsLocked)) ? .closed : nil
        } catch {
            return WatchLoss(error)
        }
    }

    /// Begins a watch. `generation` is new: no event of a file that had the number before reaches its sources.
    private func begin(
        _ descriptor: Int32, _ conditions: GRunLoop.DescriptorSource.Conditions, _ generation: UInt32
    ) throws(GRunLoop.DescriptorError) {
        do throws(GRunLoop.DescriptorError) {
            try control(EPOLL_CTL_ADD, descriptor, conditions, generation)
        } catch {
            guard error == .system(errno: EEXIST) else { throw error }
            // The number was closed when its last source was removed, so the kernel could not find the watch. A copy
            // has brought the file back to the number.
            try control(EPOLL_CTL_MOD, descriptor, conditions, generation)
        }
    }

    private func nextGeneration() -> UInt32 {
        generations = Swift.max(1, generations &+ 1)
        return generations
    }

    /// Changes the conditions of a watch. Returns whether the number has become another file's meanwhile: then the
    /// sources wait for that file, as they would in a `poll(2)`.
    private func change(
        _ descriptor: Int32, to conditions: GRunLoop.DescriptorSource.Conditions
    ) throws(GRunLoop.DescriptorError) -> Bool {
        do throws(GRunLoop.DescriptorError) {
            try control(EPOLL_CTL_MOD, descriptor, conditions, watches[Int(descriptor)].generation)
            return false
        } catch {
            guard !isSandboxed else { throw error }
            // The number has another file, or none. If its old file lives on, no source gets an event of it.
            let generation = nextGeneration()
            watches[Int(descriptor)].generation = generation
            guard error == .system(errno: ENOENT) else { throw error }
            try begin(descriptor, conditions, generation)
            return true
        }
    }

    /// Ends all watches. Returns the epoll, to be closed by the caller.
    func end() -> Int32? {
        defer { epoll = -1 }
        return epoll < 0 ? nil : epoll
    }

    /// The epoll was closed by the program: its number is not used any more, and not closed.
    func forgetEpoll() { epoll = -1 }

    private func makeRoom(for descriptor: Int32) {
        guard descriptor >= watches.count else { return }
        let needed = Swift.max(16, 1 << (Int.bitWidth - Int(descriptor).leadingZeroBitCount))
        // calloc(): zeroes mean no watch, and the system provides the pages of a large piece only when they are used.
        guard let memory = calloc(needed, MemoryLayout<Watch>.stride) else {
            Log.fatal("no memory is left for watching descriptor \(descriptor)")
        }
        let larger = memory.bindMemory(to: Watch.self, capacity: needed)
        larger.update(from: watches.baseAddress ?? larger, count: watches.count)
        free(watches.baseAddress)
        watches = .init(start: larger, count: needed)
    }

    /// Makes a new epoll with all watches that are still possible. Returns why there is none, or why it can watch
    /// nothing.
    func rebuild() -> GRunLoop.DescriptorError? {
        var made = epoll_create1(Int32(EPOLL_CLOEXEC))
        cgrun_close(epoll)
        if made < 0 { made = epoll_create1(Int32(EPOLL_CLOEXEC)) }
        let error = made < 0 ? GRunLoop.DescriptorError(errno: errno, of: "epoll_create1(2)") : nil
        epoll = made
        return watchAll() ?? error
    }

    /// Returns the error if a sandbox forbids it. A number that is closed is not watched, without an error.
    @discardableResult private func watchAll() -> GRunLoop.DescriptorError? {
        var forbidden: GRunLoop.DescriptorError?
        for descriptor in watchedDescriptors {
            // A closed number gets a new generation, too, because an event of its former file may be in a batch.
            let generation = nextGeneration()
            watches[Int(descriptor)].generation = generation
            do throws(GRunLoop.DescriptorError) {
                try control(EPOLL_CTL_ADD, descriptor, Self.union(sources(of: descriptor)), generation)
            } catch {
                if case .forbidden = error { forbidden = error }
            }
        }
        return forbidden
    }

    /// Nil if the source was removed after the event was fetched.
    func receiver(of event: DescriptorBatch.Event) -> Receiver? {
        let watch = watch(of: event.descriptor)
        guard watch.generation == event.generation, let source = watch.source else { return nil }
        guard !watch.isShared else { return receiverOfShared(event) }
        let ready = source._withUnsafeGuaranteedRef { $0.conditionsLocked.happened(in: event.events) }
        return ready.isEmpty ? nil : (source, ready, false)
    }

    /// Returns whether the event's number still belongs to the watched file. It does not if the program has closed the
    /// number or called `dup2(2)` onto it, and a copy of the watched file is open. The kernel refuses to add a pair of
    /// number and file twice, so the usual case changes nothing. If the number has another file, that file is watched
    /// from now on.
    func confirm(_ event: DescriptorBatch.Event) -> Bool {
        guard !cgrun_has_forked(), epoll >= 0 else { return true }
        let descriptor = event.descriptor
        var added = epoll_event(events: 0, descriptor: descriptor, generation: 0)
        let isAdded = epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &added) == 0
        // Any other refusal says that the number has no file, or one that cannot be watched.
        guard isAdded || errno != EEXIST && !isSandboxed else { return true }
        let generation = nextGeneration()
        watches[Int(descriptor)].generation = generation
        try? control(EPOLL_CTL_MOD, descriptor, Self.union(sources(of: descriptor)), generation)
        return false
    }

    /// Whether a sandbox forbids `epoll_ctl(2)`: its refusal says nothing about a number, and must not make the loop
    /// deaf. The kernel itself refuses an epoll that is added to itself with EINVAL.
    private var isSandboxed: Bool {
        var event = epoll_event()
        return epoll_ctl(epoll, EPOLL_CTL_ADD, epoll, &event) != 0 && errno != EINVAL
    }

    private func receiverOfShared(_ event: DescriptorBatch.Event) -> Receiver? {
        shared[event.descriptor]?.receiver(of: event.events)
    }

    /// The receiver is about to be called: the next turn of a shared descriptor is another source's.
    func noteTurn(of receiver: Receiver, on descriptor: Int32) {
        if receiver.isShared { noteSharedTurn(of: receiver, on: descriptor) }
    }

    private func noteSharedTurn(of receiver: Receiver, on descriptor: Int32) {
        receiver.source._withUnsafeGuaranteedRef { shared[descriptor]?.noteTurn(of: $0) }
    }

    /// In debug builds: a watch has a source, and it is shared if and only if the table of shared ones says so.
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
    ) throws(GRunLoop.DescriptorError) {
        // A child shares the epoll with its parent, whose watches it would change.
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
