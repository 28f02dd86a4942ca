// SPDX-License-Identifier: Apache-2.0
// No source starves another, even if each run returns after one source. Deinits may cancel performs.

import Glibc
import TestSupport
import Testing

@testable import GRunLoop

@Suite struct FairnessTests {
    @Test("three descriptors that are always ready take turns, also under Foundation's run(until:)")
    func descriptorsTakeTurns() async throws {
        try await onFreshThread(timeSlice: .milliseconds(4)) { loop in
            let events = (0..<3).map { _ in EventDescriptor() }
            let counts = (0..<3).map { _ in Counter() }
            for index in 0..<3 {
                events[index].makeReady()
                try loop.add(
                    GRunLoop.DescriptorSource(descriptor: events[index].descriptor) { _, _ in counts[index].increment()
                    },
                    forMode: .default)
            }
            for _ in 0..<30 { loop.run(mode: .default, before: GRunLoop.now.advanced(by: .seconds(10))) }
            #expect(counts.map(\.value) == [10, 10, 10])
            withExtendedLifetime(events) {}
        }
    }

    @Test("items 48, 190: blocks that wait for a source's turn run even if the source is invalidated before it")
    func turnTakenBack() async throws {
        try await onFreshThread(timeSlice: .milliseconds(4)) { loop in
            let source = loop.source {}
            let isSignalled = Flag()
            loop.after(.zero) {
                loop.perform {
                    work(for: .milliseconds(6))
                    source.signal()
                    isSignalled.set()
                }
                loop.perform { loop.stop() }
            }
            // Invalidates the source in the next pass, before its turn.
            loop.on(.beforeTimers) { _ in if isSignalled.isSet { source.invalidate() } }
            #expect(loop.run(for: .seconds(2)) == .stopped)
        }
    }

    @Test(
        "items 109, 190: more descriptors than one query returns take turns, with one descriptor for each run",
        arguments: [65, 128, 192])
    func manyDescriptorsTakeTurns(count: Int) async throws {
        try await onFreshThread(timeSlice: .milliseconds(4)) { loop in
            let event = EventDescriptor()
            event.makeReady()
            // Copies of one descriptor have numbers of their own, and all of them are ready.
            let numbers = (0..<count).map { _ in dup(event.descriptor) }
            let counts = (0..<count).map { _ in Counter() }
            for index in 0..<count {
                try loop.add(
                    GRunLoop.DescriptorSource(descriptor: numbers[index]) { _, _ in counts[index].increment() },
                    forMode: .default)
            }
            for _ in 0..<(20 * count) { loop.run(for: .seconds(10), returningAfterSourceHandled: true) }
            #expect(counts.map(\.value).min() ?? 0 >= 15, "\(counts.map(\.value))")
            for number in numbers { close(number) }
            withExtendedLifetime(event) {}
        }
    }

    @Test("two descriptors take turns, although each second query is discarded before its event is serviced")
    func discardedQueries() throws {
        let event = EventDescriptor()
        event.makeReady()
        let numbers = (0..<70).map { _ in dup(event.descriptor) }
        defer { for number in numbers { close(number) } }
        let mode = ModeState(name: "mode", isCommon: false)
        let sources = numbers.map { GRunLoop.DescriptorSource(descriptor: $0) { _, _ in } }
        for source in sources { _ = try mode.descriptors.add(source) }
        var batch = DescriptorBatch()
        // The batch is full, so the later queries are small.
        var areFetched = batch.fetch(from: mode)
        batch.discard()
        for source in sources[2...] { _ = mode.descriptors.remove(source) }
        var counts = [0, 0]
        for _ in 0..<40 {
            areFetched = batch.fetch(from: mode) && areFetched
            batch.discard()
            areFetched = batch.fetch(from: mode) && areFetched
            let taken = batch.takeFirst(in: mode)?.source.toOpaque()
            counts[taken == Unmanaged.passUnretained(sources[0]).toOpaque() ? 0 : 1] += 1
            batch.discard()
        }
        #expect(areFetched && counts.allSatisfy { $0 >= 3 }, "\(counts)")
        withExtendedLifetime(event) {}
    }

    @Test("a timer fires beside a descriptor that is always ready, also under Foundation's run(mode:before:)")
    func kindsTakeTurns() async throws {
        try await onFreshThread(timeSlice: .milliseconds(4)) { loop in
            let event = EventDescriptor()
            event.makeReady()
            let (reads, ticks) = (Counter(), Counter())
            try loop.add(
                GRunLoop.DescriptorSource(descriptor: event.descriptor) { _, _ in reads.increment() }, forMode: .default
            )
            let timer = GRunLoop.Timer(interval: .nanoseconds(1), repeats: true) { _ in ticks.increment() }
            loop.add(timer, forMode: .default)
            for _ in 0..<100 { loop.run(mode: .default, before: GRunLoop.now.advanced(by: .seconds(10))) }
            #expect(reads.value == 100)
            #expect(ticks.value >= 99)
            withExtendedLifetime(event) {}
        }
    }

    @Test("a target's deinit may cancel its performs, and add new ones")
    func cancellingFromDeinit() async throws {
        final class Target: Sendable {
            let loop: GRunLoop
            init(_ loop: GRunLoop) { self.loop = loop }
            deinit {
                loop.cancelPerforms(target: self)
                loop.perform(after: .zero) {}
            }
        }
        try await onFreshThread(timeSlice: .milliseconds(4)) { loop in
            loop.keepAlive()
            loop.perform(after: .zero, target: Target(loop)) {}
            loop.perform(order: 0, inModes: [.default], target: Target(loop)) {}
            #expect(loop.run(for: .milliseconds(5)) == .timedOut)
            // Cancelling releases the last reference.
            var target: Target? = Target(loop)
            let key = ObjectIdentifier(Target.self)
            weak let watched = target
            if let target { loop.perform(after: .seconds(60), target: target, key: key) {} }
            if let target { loop.cancelPerforms(target: target, key: key) }
            target = nil
            #expect(watched == nil)
        }
    }
}
