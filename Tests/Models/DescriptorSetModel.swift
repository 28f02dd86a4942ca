// SPDX-License-Identifier: Apache-2.0
// The descriptors of a mode and their batch, on real files. Programs close watched numbers, reuse them and keep copies.

import CGRun
import Glibc

@testable import GRunLoop

final class DescriptorSetModel: Model {
    static let name = "DescriptorSet"

    private typealias Source = GRunLoop.DescriptorSource

    /// What the model knows about one watched number.
    private struct Watch {
        /// In the order of addition.
        var sources: [Source] = []
        /// The file that the epoll watches under this number; nil once it may watch another one or none.
        var file: Int?
    }

    private let mode: ModeState
    private var batch = DescriptorBatch()
    private let files = OpenFiles()
    private var watches: [Int32: Watch] = [:]

    init(_ random: inout Random) {
        let generations: UInt32 = random.once(in: 2) ? 0 : .max - UInt32(random.below(4))
        Journal.note("generations from \(generations)")
        mode = ModeState(name: "model", isCommon: false, descriptors: DescriptorSet(generations: generations))
    }

    func step(_ random: inout Random) throws {
        switch random.below(100) {
        case 0...11: files.open(isSocket: random.once(in: 3))
        case 12...33: try add(random.element(of: files.numbers), conditions(&random))
        case 34...47: try remove(anySource(&random))
        case 48...55: try change(anySource(&random), to: conditions(&random))
        case 56...67: files.makeReady(random.element(of: files.numbers), random.once(in: 2))
        case 68...73: try closeRightly(random.element(of: files.numbers))
        case 74...76: close(random.element(of: watches.keys.sorted()))
        case 77...78: replace(random.element(of: watches.keys.sorted()), by: random.element(of: files.numbers))
        case 79...82: files.copy(random.element(of: files.numbers))
        case 83: files.reopen(&random)
        case 84: try rebuild()
        case 85: try addRefused()
        case 86...91: try fetch(&random)
        default: try take(isFirst: random.once(in: 2))
        }
        try check()
    }

    func finish() throws {
        for source in watches.values.flatMap(\.sources) { try remove(source) }
        try check()
        batch.discard()
        files.closeAll()
        try expect(Counted.count, is: 0, "sources that were not released")
    }

    // MARK: Changes

    private func conditions(_ random: inout Random) -> Source.Conditions {
        [[.readable], [.writable], [.readable, .writable], [], [.priority]][random.below(5)]
    }

    private func anySource(_ random: inout Random) -> Source? {
        random.element(of: watches.keys.sorted().flatMap { watches[$0]?.sources ?? [] })
    }

    private func makeSource(_ number: Int32, _ conditions: Source.Conditions) -> Source {
        let counted = Counted(Int(number))
        return Source(descriptor: number, conditions: conditions) { _, _ in withExtendedLifetime(counted) {} }
    }

    private func add(_ number: Int32?, _ conditions: Source.Conditions) throws {
        guard let number, watches[number].map({ $0.sources.count < 4 }) ?? true else { return }
        Journal.note("add a source of \(number), which waits for \(conditions)")
        let source = makeSource(number, conditions)
        do { _ = try mode.descriptors.add(source) } catch { throw Mismatch(text: "add of \(number): \(error)") }
        watches[number, default: Watch()].sources.append(source)
        watches[number]?.file = files.file(of: number)
    }

    private func remove(_ source: Source?) throws {
        guard let source, let watch = watches[source.descriptor] else { return }
        Journal.note("remove a source of \(source.descriptor)")
        let isSound = watch.file != nil && watch.file == files.file(of: source.descriptor)
        let loss = mode.descriptors.remove(source)
        if isSound { try expect(loss == nil, "the number \(source.descriptor) counts as closed") }
        watches[source.descriptor]?.sources.removeAll { $0 === source }
        guard watches[source.descriptor]?.sources.isEmpty == true else { return }
        watches[source.descriptor] = nil
    }

    private func change(_ source: Source?, to conditions: Source.Conditions) throws {
        guard let source, let watch = watches[source.descriptor] else { return }
        Journal.note("a source of \(source.descriptor) waits for \(conditions)")
        let former = source.conditionsLocked
        source.conditions = conditions
        let loss = mode.descriptors.noteChange(of: source, from: former)
        if watch.file != nil, watch.file == files.file(of: source.descriptor) {
            try expect(loss == nil, "the number \(source.descriptor) counts as closed")
        }
    }

    /// Removes the sources before their number is closed.
    private func closeRightly(_ number: Int32?) throws {
        guard let number else { return }
        for source in watches[number]?.sources ?? [] { try remove(source) }
        close(number)
    }

    private func close(_ number: Int32?) {
        guard let number, files.file(of: number) != nil else { return }
        Journal.note("close \(number)\(watches[number] == nil ? "" : ", which is watched")")
        files.close(number)
    }

    private func replace(_ number: Int32?, by other: Int32?) {
        // The loop's own epoll may have the number of a closed one.
        guard let number, let other, number != other, files.file(of: number) != nil else { return }
        Journal.note("dup2 \(other) onto \(number), which is watched")
        files.replace(number, by: other)
    }

    private func rebuild() throws {
        guard mode.descriptors.epoll >= 0 else { return }
        Journal.note("rebuild the epoll")
        try expect(mode.descriptors.rebuild() == nil, "no descriptor is left for an epoll")
        for number in watches.keys { watches[number]?.file = files.file(of: number) }
    }

    private func addRefused() throws {
        Journal.note("add what cannot be watched")
        let closed = makeSource(4000, .readable)
        try expect((try? mode.descriptors.add(closed)) == nil, "a closed number was added")
        let file = open("/proc/self/exe", O_RDONLY)
        defer { Glibc.close(file) }
        guard watches[file] == nil else { return }
        try expect((try? mode.descriptors.add(makeSource(file, .readable))) == nil, "a regular file was added")
    }

    // MARK: The batch

    /// Whether the epoll and the model agree about the number's file.
    private func isSound(_ number: Int32) -> Bool {
        guard let file = watches[number]?.file else { return false }
        return file == files.file(of: number)
    }

    private func fetch(_ random: inout Random) throws {
        guard mode.descriptors.watched >= 0 else { return }
        let isWhole = batch.isEmpty(in: mode)
        if !isWhole { batch.discard() }
        Journal.note("fetch")
        try expect(batch.fetch(from: mode), "the epoll cannot be asked")
        let count = batch.pending(in: mode).count
        // Drops orphans as a pass does. Otherwise the epoll would stay ready without a source.
        if batch.dropOrphans(of: mode) {
            try expect(!batch.takeLost().isEmpty, "a number was lost, and not reported")
            try rebuild()
            batch.discard()
        }
        let events = batch.pending(in: mode)
        var found: Set<Int32> = []
        for event in events {
            guard let receiver = mode.descriptors.receiver(of: event) else { continue }
            try expect(found.insert(event.descriptor).inserted, "\(event.descriptor) is reported twice")
            let number = receiver.source.takeUnretainedValue().descriptor
            guard isSound(number) else { continue }
            try expect(!readiness(of: number).isEmpty, "\(number) is reported, but its file is not ready")
        }
        // After a discarded batch one or two events are fetched. After a rebuild the next fetch finds all.
        guard isWhole, count > 2, count < DescriptorBatch.size, events.count == count else { return }
        for number in watches.keys where isSound(number) && !found.contains(number) {
            try expect(readiness(of: number).isEmpty, "\(number) is ready, and not reported")
        }
    }

    private func readiness(of number: Int32) -> Source.Conditions {
        let wanted = (watches[number]?.sources ?? []).reduce(into: Source.Conditions()) {
            $0.formUnion($1.conditionsLocked)
        }
        var query = pollfd(fd: number, events: Int16(truncatingIfNeeded: wanted.rawValue), revents: 0)
        poll(&query, 1, 0)
        return Source.Conditions(rawValue: UInt32(UInt16(bitPattern: query.revents)))
    }

    private func take(isFirst: Bool) throws {
        let first =
            isFirst ? batch.takeFirst(in: mode) : batch.first(in: mode).flatMap { batch.take($0.source, in: mode) }
        guard let first else { return }
        let source = first.source.takeUnretainedValue()
        Journal.note("take the event of \(source.descriptor)")
        try expect(isWatched(source), "a source that has left gets an event")
        try expect(!first.ready.isEmpty, "a source is called for nothing")
    }

    private func isWatched(_ source: Source) -> Bool {
        watches[source.descriptor]?.sources.contains { $0 === source } ?? false
    }

    // MARK: Comparison

    private func check() throws {
        let set = mode.descriptors
        try expect(set.isEmpty, is: watches.isEmpty, "whether the set is empty")
        try expect(set.watched >= 0, is: !watches.isEmpty, "whether there is an epoll to poll")
        let wanted = watches.keys.sorted().flatMap { watches[$0]?.sources ?? [] }
        try expect(set.all.map { ObjectIdentifier($0) }, is: wanted.map { ObjectIdentifier($0) }, "the sources")
        for event in batch.pending(in: mode) {
            guard let receiver = set.receiver(of: event) else { continue }
            let source = receiver.source.takeUnretainedValue()
            try expect(isWatched(source), "a source that has left receives an event")
            let allowed = source.conditionsLocked.union([.hangUp, .error])
            try expect(!receiver.ready.isEmpty && receiver.ready.isSubset(of: allowed), "conditions of an event")
        }
        try expect(Counted.count, is: wanted.count, "sources that are alive")
    }
}
