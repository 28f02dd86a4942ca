// SPDX-License-Identifier: Apache-2.0
// The waiting performs of a loop's thread, for each set of modes.

@testable import GRunLoop

final class PerformQueueModel: Model {
    static let name = "PerformQueue"

    private let sets: [Set<GRunLoop.Mode>] = [[.default], [.common], [.default, "model"]]
    private var queue = PerformQueue()
    private var waiting: [[Int]] = [[], [], []]
    private var sources: [GRunLoop.Source?] = [nil, nil, nil]
    private var made = 0
    private let called = Shared(0)

    init(_ random: inout Random) {}

    func step(_ random: inout Random) throws {
        let set = random.below(3)
        switch random.below(9) {
        case 0...4: try append(to: set)
        case 5...7:
            Journal.note("take from \(set)")
            called.value = 0
            queue.take(for: sets[set])?.perform()
            try expect(called.value, is: waiting[set].isEmpty ? 0 : waiting[set].removeFirst(), "the request")
        default:
            Journal.note("remove \(set) if it is idle")
            let removed = queue.removeIfIdle(sets[set])
            let isIdle = waiting[set].isEmpty && sources[set] != nil
            try expect(removed === (isIdle ? sources[set] : nil), "the source that was removed")
            if isIdle { sources[set] = nil }
        }
        for set in sets.indices {
            try expect(queue.count(for: sets[set]), is: waiting[set].count, "requests that wait for \(set)")
            try expect(queue.source(for: sets[set]) === sources[set], "the source of \(set)")
        }
        try expect(Counted.count, is: waiting.map(\.count).reduce(0, +), "requests that are alive")
    }

    func finish() throws {
        try expect(queue.close().count, is: waiting.map(\.count).reduce(0, +), "requests that are left")
        try expect(Counted.count, is: 0, "requests that were not released")
        let late = queue.append(.init(waits: false) {}, modes: sets[0], makeSource: { GRunLoop.Source {} })
        try expect(late == nil, "a closed queue takes a request")
    }

    private func append(to set: Int) throws {
        made += 1
        Journal.note("append \(made) to \(set)")
        let counted = Counted(made)
        let request = PerformQueue.Request(waits: false) { [called] in called.value = counted.number }
        let former = sources[set]
        guard let added = queue.append(request, modes: sets[set], makeSource: { GRunLoop.Source {} }) else {
            throw Mismatch(text: "an open queue refuses a request")
        }
        try expect(added.isNew, is: former == nil, "whether the source is new")
        try expect(former == nil || added.source === former, "another source")
        sources[set] = added.source
        waiting[set].append(made)
    }
}
