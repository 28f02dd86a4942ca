// SPDX-License-Identifier: Apache-2.0
// The descriptors that one mode watches: an epoll, and who waits for what on each of them.

import CGRun
import Glibc

/// Guarded by the loop's lock. The epoll is made when the first descriptor is added.
final class DescriptorSet {
    /// One descriptor, and the sources that watch it.
    private struct Watch {
        /// Distinguishes this watch from an earlier one of the same number whose event may still be about.
        let generation: UInt32
        /// In the order of addition. Where several want the same condition the last one gets it (item 109).
        var sources: [GRunLoop.DescriptorSource]

        var mask: UInt32 { sources.reduce(0) { $0 | $1.conditions.epollMask } }
    }

    @exclusivity(unchecked) private(set) var epoll: Int32 = -1
    @exclusivity(unchecked) private var watches: [Int32: Watch] = [:]
    @exclusivity(unchecked) private var generations: UInt32 = 0

    deinit {
        if epoll >= 0 { close(epoll) }
    }

    var isEmpty: Bool { watches.isEmpty }
    /// The epoll as long as there is something in it, else -1: each descriptor in a poll costs a sleep 160 to 380 ns.
    var watched: Int32 { isEmpty ? -1 : epoll }
    var all: [GRunLoop.DescriptorSource] { watches.values.flatMap(\.sources) }

    func contains(_ source: GRunLoop.DescriptorSource) -> Bool {
        watches[source.descriptor]?.sources.contains { $0 === source } ?? false
    }

    /// Answers whether the number had been closed while it was watched: the caller says so, without the lock.
    func add(_ source: GRunLoop.DescriptorSource) throws(GRunLoop.DescriptorError) -> Bool {
        let descriptor = source.descriptor
        guard descriptor >= 0 else { throw .invalid(descriptor: descriptor) }
        if epoll < 0 {
            epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
            guard epoll >= 0 else { throw .init(errno: errno, descriptor: descriptor) }
            // Not the first one where a rebuild had no descriptor left.
            watchAll()
        }
        let known = watches[descriptor]
        generations &+= 1
        var watch = known ?? Watch(generation: generations, sources: [])
        watch.sources.append(source)
        var wasClosed = false
        if known == nil {
            try control(EPOLL_CTL_ADD, descriptor, watch)
        } else {
            do throws(GRunLoop.DescriptorError) {
                try control(EPOLL_CTL_MOD, descriptor, watch)
            } catch {
                guard error == .system(errno: ENOENT) else { throw error }
                // The number now belongs to another descriptor: those who watched the old one wait for nothing.
                try control(EPOLL_CTL_ADD, descriptor, watch)
                wasClosed = true
            }
        }
        watches[descriptor] = watch
        return wasClosed
    }

    /// Answers whether the number had been closed while it was watched: the caller says so, without the lock.
    func remove(_ source: GRunLoop.DescriptorSource) -> Bool {
        let descriptor = source.descriptor
        guard var watch = watches[descriptor], let index = watch.sources.firstIndex(where: { $0 === source })
        else { return false }
        watch.sources.remove(at: index)
        do throws(GRunLoop.DescriptorError) {
            if watch.sources.isEmpty {
                watches[descriptor] = nil
                try control(EPOLL_CTL_DEL, descriptor, watch)
            } else {
                watches[descriptor] = watch
                try control(EPOLL_CTL_MOD, descriptor, watch)
            }
        } catch {
            return true
        }
        return false
    }

    /// Makes the epoll anew, with what is watched now and can be. Answers whether a descriptor was left for it.
    func rebuild() -> Bool {
        var made = epoll_create1(Int32(EPOLL_CLOEXEC))
        cgrun_close(epoll)
        if made < 0 { made = epoll_create1(Int32(EPOLL_CLOEXEC)) }
        epoll = made
        watchAll()
        return made >= 0
    }

    private func watchAll() {
        for (descriptor, watch) in watches { try? control(EPOLL_CTL_ADD, descriptor, watch) }
    }

    /// Who is to be called for an event, and with what of it; nil if whoever waited has gone since the event was fetched.
    func receiver(
        of event: DescriptorBatch.Event
    ) -> (source: GRunLoop.DescriptorSource, ready: GRunLoop.DescriptorSource.Conditions)? {
        guard let watch = watches[event.descriptor], watch.generation == event.generation else { return nil }
        let happened = GRunLoop.DescriptorSource.Conditions(epollEvents: event.events)
        let failures = happened.intersection([.hangUp, .error])
        for source in watch.sources.reversed() {
            let ready = happened.intersection(source.conditions.union(failures))
            if !ready.isEmpty { return (source, ready) }
        }
        return nil
    }

    private func control(_ operation: Int32, _ descriptor: Int32, _ watch: Watch) throws(GRunLoop.DescriptorError) {
        // A child shares the epoll with its parent, whose watches it would change.
        guard !cgrun_has_forked() else { return }
        var event = epoll_event()
        event.events = watch.mask
        event.data.u64 = UInt64(watch.generation) << 32 | UInt64(UInt32(bitPattern: descriptor))
        guard epoll_ctl(epoll, operation, descriptor, &event) == 0 else {
            throw .init(errno: errno, descriptor: descriptor)
        }
    }
}
