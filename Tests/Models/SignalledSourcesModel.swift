// SPDX-License-Identifier: Apache-2.0
// The signalled sources of two modes, with batches that are nested, cut short and changed meanwhile.

@testable import GRunLoop

final class SignalledSourcesModel: Model {
    static let name = "SignalledSources"

    /// A source as one mode knows it.
    private struct Sorted {
        let source: Int
        let order: Int
        let signal: UInt64
        /// A cut batch has left it. Sources that are signalled later do not come before it.
        var isSettled = false
    }

    /// The sources that one mode has to perform.
    private struct Line {
        /// Signalled since the last batch began.
        var fresh: [Int] = []
        var sorted: [Sorted] = []

        func lists(_ source: Int) -> Bool {
            fresh.contains(source) || sorted.contains { $0.source == source }
        }

        mutating func remove(_ source: Int) {
            fresh.removeAll { $0 == source }
            sorted.removeAll { $0.source == source }
        }
    }

    /// A batch that is under way. Only the innermost batch goes on.
    private struct Batch {
        let mode: Int
        let outer: SignalledSources.Batch
        /// The rest of the batch, after another run has become able to perform its sources.
        var list: [SourceMembership]?
    }

    private let loop = GRunLoop.current
    private let modes: [ModeState]
    private var sources: [Int: GRunLoop.Source] = [:]
    private var lines = [Line(), Line()]
    private var batches: [Batch] = []
    /// Memberships that a run would keep until it holds no lock.
    private var kept: [[SourceMembership]] = []
    private var made = 0

    init(_ random: inout Random) {
        modes = ["model", "other"].map { ModeState(name: $0, isCommon: false) }
    }

    func step(_ random: inout Random) throws {
        let source = random.element(of: sources.keys.sorted())
        let mode = random.below(2)
        switch random.below(24) {
        case 0: make(order: random.below(4), mode)
        case 1, 2: join(source, mode)
        case 3: leave(source, mode)
        case 4: if random.once(in: 3) { drop(source) }
        case 5: if random.once(in: 3) { clear(source) }
        case 6...13: signal(source)
        case 14...16: try beginBatch(of: mode)
        case 17...21: try performNext()
        case 22: cutBatch()
        default: endBatch()
        }
        try check()
    }

    func finish() throws {
        while !batches.isEmpty { endBatch() }
        for mode in [0, 1, 0, 1] {
            try beginBatch(of: mode)
            while !batches.isEmpty { try performNext() }
        }
        for mode in 0..<2 { try expect(modes[mode].signalled.isEmpty, "a source of mode \(mode) is left") }
        for source in sources.keys.sorted() { drop(source) }
        kept = []
        try expect(Counted.count, is: 0, "sources that were not released")
    }

    // MARK: Changes

    private func make(order: Int, _ mode: Int) {
        guard sources.count < 12 else { return }
        made += 1
        Journal.note("make source \(made) of order \(order)")
        let counted = Counted(made)
        sources[made] = GRunLoop.Source(order: order) { withExtendedLifetime(counted) {} }
        join(made, mode)
    }

    private func membership(_ number: Int, _ mode: Int) -> SourceMembership? {
        sources[number].flatMap { modes[mode].sources[ObjectIdentifier($0)] }
    }

    private func join(_ number: Int?, _ mode: Int) {
        guard let number, let source = sources[number], membership(number, mode) == nil else { return }
        Journal.note("source \(number) joins mode \(mode)")
        let made = SourceMembership(of: source, in: modes[mode], of: loop)
        guard let isSignalled = source.join(made) else { return }
        modes[mode].sources[ObjectIdentifier(source)] = made
        guard isSignalled else { return }
        modes[mode].signalled.insert(made)
        lines[mode].fresh.append(number)
    }

    private func leave(_ number: Int?, _ mode: Int) {
        guard let number, let source = sources[number],
            let left = modes[mode].sources.removeValue(forKey: ObjectIdentifier(source))
        else { return }
        Journal.note("source \(number) leaves mode \(mode)")
        left.isIn = false
        modes[mode].signalled.remove(left)
        source.leave(left)
        lines[mode].remove(number)
    }

    private func drop(_ number: Int?) {
        guard let number else { return }
        for mode in 0..<2 { leave(number, mode) }
        sources[number] = nil
    }

    private func clear(_ number: Int?) {
        guard let number else { return }
        Journal.note("clear source \(number)")
        sources[number]?.clearSignal()
    }

    private func signal(_ number: Int?) {
        guard let number, let source = sources[number] else { return }
        Journal.note("signal source \(number)")
        source.signal()
        for mode in 0..<2 where membership(number, mode) != nil && !lines[mode].lists(number) {
            lines[mode].fresh.append(number)
        }
    }

    // MARK: Batches

    private func beginBatch(of mode: Int) throws {
        guard batches.count < 4, !modes[mode].signalled.isEmpty else { return }
        let count = lines[mode].fresh.count + lines[mode].sorted.count
        let only = count == 1 ? lines[mode].fresh.first : nil
        let taken = modes[mode].signalled.takeOnly()
        try expect(taken?.takeUnretainedValue().source === only.flatMap { sources[$0] }, "the only source")
        if let only, let taken {
            Journal.note("perform the only source \(only) of mode \(mode)")
            lines[mode].remove(only)
            return try perform(only, taken.takeUnretainedValue(), mode)
        }
        Journal.note("begin batch \(batches.count) of mode \(mode)")
        listBatch(of: mode)
        let outer = modes[mode].signalled.beginBatch()
        sortFresh(of: mode)
        batches.append(Batch(mode: mode, outer: outer))
        try performNext()
    }

    private func sortFresh(of mode: Int) {
        for number in lines[mode].fresh {
            // The signal was cleared, so the source is no longer listed.
            guard let source = sources[number], source.signalOrder != 0 else { continue }
            let entry = Sorted(source: number, order: source.order, signal: source.signalOrder)
            let index = lines[mode].sorted.firstIndex {
                !$0.isSettled && (entry.order, entry.signal) < ($0.order, $0.signal)
            }
            lines[mode].sorted.insert(entry, at: index ?? lines[mode].sorted.count)
        }
        lines[mode].fresh = []
    }

    /// The innermost batch of the mode lists its rest.
    private func listBatch(of mode: Int) {
        guard let index = batches.lastIndex(where: { $0.mode == mode }), batches[index].list == nil else { return }
        batches[index].list = lines[mode].sorted.compactMap { membership($0.source, mode) }
    }

    /// Performs the next source of the innermost batch, or ends the batch.
    private func performNext() throws {
        guard let index = batches.indices.last else { return }
        let mode = batches[index].mode
        while let taken = modes[mode].signalled.nextOfBatch() {
            let membership = taken.takeUnretainedValue()
            guard let number = sources.first(where: { $0.value === membership.source })?.key else {
                throw Mismatch(text: "batch \(index) takes a source that is gone")
            }
            try expect(takeExpected(index), is: number, "the source that batch \(index) performs")
            modes[mode].signalled.remove(membership)
            lines[mode].remove(number)
            if membership.source.isSignalled {
                Journal.note("batch \(index) performs source \(number)")
                return try perform(number, membership, mode)
            }
        }
        try expect(takeExpected(index) == nil, "batch \(index) has skipped a source")
        endBatch()
    }

    private func takeExpected(_ index: Int) -> Int? {
        let mode = batches[index].mode
        guard batches[index].list != nil else { return lines[mode].sorted.first?.source }
        while let next = batches[index].list?.first {
            batches[index].list?.removeFirst()
            if let number = sources.first(where: { $0.value === next.source })?.key,
                membership(number, mode) === next, lines[mode].lists(number)
            {
                return number
            }
        }
        return nil
    }

    /// As `GRunLoop.notePerformed`: a source leaves the lists of all its modes before it is performed.
    private func perform(_ number: Int, _ membership: SourceMembership, _ mode: Int) throws {
        guard let all = membership.source.takeSignal() else { return }
        kept.append(all)
        for other in all {
            guard let otherMode = modes.firstIndex(where: { $0 === other.mode }) else { continue }
            listBatch(of: otherMode)
            other.mode.signalled.removePerformed(other)
            lines[otherMode].remove(number)
        }
    }

    private func cutBatch() {
        guard let batch = batches.last else { return }
        Journal.note("cut batch \(batches.count - 1)")
        modes[batch.mode].signalled.cutBatch()
        for index in lines[batch.mode].sorted.indices { lines[batch.mode].sorted[index].isSettled = true }
        endBatch()
    }

    private func endBatch() {
        guard let batch = batches.popLast() else { return }
        Journal.note("end batch \(batches.count)")
        kept.append(modes[batch.mode].signalled.endBatch(resuming: batch.outer))
        if batches.isEmpty { kept = [] }
    }

    // MARK: Comparison

    private func check() throws {
        for mode in 0..<2 {
            let isEmpty = lines[mode].fresh.isEmpty && lines[mode].sorted.isEmpty
            try expect(modes[mode].signalled.isEmpty, is: isEmpty, "whether mode \(mode) has signalled sources")
            for number in sources.keys {
                guard let membership = membership(number, mode) else { continue }
                try expect(
                    membership.isListed, is: lines[mode].lists(number), "whether mode \(mode) lists source \(number)")
                if membership.source.isSignalled {
                    try expect(membership.isListed, "the signalled source \(number) is not listed in mode \(mode)")
                }
            }
        }
    }
}
