// SPDX-License-Identifier: Apache-2.0
// The waiting notifications of a queue, for two styles and three modes.

@testable import GRunLoop

final class NotificationLinesModel: Model {
    static let name = "NotificationLines"

    private final class Server: NotificationServer {
        func serve(_ turn: NotificationTurn.ID, at activity: GRunLoop.Activity) {}
        func end() {}
    }

    private struct Waiting {
        let number: UInt64
        let key: NotificationKey
        let style: GRunLoop.PostingStyle
        let modes: Set<GRunLoop.Mode>

        func waits(for modes: Set<GRunLoop.Mode>, _ style: GRunLoop.PostingStyle) -> Bool {
            self.style == style && !self.modes.isDisjoint(with: modes)
        }
    }

    private static let modes: [GRunLoop.Mode] = [.default, "model", "other"]
    private static let styles: [GRunLoop.PostingStyle] = [.asap, .whenIdle]

    private let server = Server()
    private var lines: NotificationLines
    private var waiting: [Waiting] = []
    /// The turns that have begun and not ended.
    private var turns: [ObjectIdentifier: NotificationTurn] = [:]

    init(_ random: inout Random) {
        lines = NotificationLines(last: random.once(in: 2) ? 0 : .max - 100_000)
    }

    func step(_ random: inout Random) throws {
        let key = NotificationKey(hash: random.below(4), sender: UInt(random.below(3)))
        switch random.below(10) {
        case 0...3:
            add(key, Self.styles[random.below(2)], (0...random.below(3)).map { _ in Self.modes[random.below(3)] })
        case 4: try compareAlike(key, after: lines.last - Swift.min(lines.last, UInt64(random.below(20))))
        case 5, 6: remove(random.element(of: waiting))
        case 7:
            // An equal notification replaces it before an observer is called.
            guard let former = random.element(of: waiting) else { return }
            remove(former)
            add(former.key, former.style, Array(former.modes))
        default: try serve(&random)
        }
        settle()
        try check()
    }

    func finish() throws {
        while let last = waiting.last { remove(last) }
        settle()
        try check()
        try expect(turns.isEmpty, "a turn is left")
    }

    // MARK: Operations

    private func add(_ key: NotificationKey, _ style: GRunLoop.PostingStyle, _ modes: [GRunLoop.Mode]) {
        let number = lines.add(key, style, modes, of: server)
        Journal.note("add \(number), \(key), \(style), \(modes)")
        waiting.append(Waiting(number: number, key: key, style: style, modes: Set(modes)))
    }

    private func remove(_ removed: Waiting?) {
        guard let removed else { return }
        Journal.note("remove \(removed.number)")
        lines.remove(removed.number)
        waiting.removeAll { $0.number == removed.number }
    }

    private func compareAlike(_ key: NotificationKey, after first: UInt64) throws {
        let kinds: [(GRunLoop.Coalescing, (NotificationKey) -> Bool)] = [
            (.onName, { $0.hash == key.hash }), (.onSender, { $0.sender == key.sender }),
            ([.onName, .onSender], { $0 == key }), ([], { _ in false }),
        ]
        for (coalescing, isAlike) in kinds {
            let wanted = waiting.filter { isAlike($0.key) && $0.number > first }.map(\.number)
            try expect(
                lines.alike(key, coalescing, after: first).sorted(), is: wanted, "those that may be the same as \(key)")
        }
    }

    /// As `NotificationCore.serve` and `takeNext`.
    private func serve(_ random: inout Random) throws {
        let all = lines.turns.sorted { $0.id.number < $1.id.number }
        guard let turn = random.element(of: all) else { return }
        var served = Set(Self.modes.filter { _ in random.once(in: 2) })
        if !random.once(in: 4) { served.insert(turn.id.line.mode) }
        let style = turn.id.line.style
        Journal.note("serve turn \(turn.id.number) of \(turn.id.line) with \(served)")
        try expect(lines.begin(turn.id, served), "a turn that waits does not begin")
        try expect(!lines.begin(turn.id, served), "a turn begins twice")
        let last = lines.last
        for _ in 0...random.below(5) {
            let wanted = waiting.first { $0.waits(for: served, style) && $0.number <= last }
            try expect(lines.first(style, served, upTo: last), is: wanted?.number, "the next notification")
            remove(wanted)
            for mode in served.union([turn.id.line.mode]) {
                lines.ensureTurn(of: .init(mode: mode, style: style), of: server)
            }
            settle()
            if wanted == nil { return }
        }
    }

    private func settle() {
        let changes = lines.takeChanges()
        for turn in changes.begun { turns[ObjectIdentifier(turn)] = turn }
        for turn in changes.ended { turns[ObjectIdentifier(turn)] = nil }
    }

    // MARK: Comparison

    private func check() throws {
        for style in Self.styles {
            for mode in Self.modes {
                let line = NotificationTurn.Line(mode: mode, style: style)
                let isWaiting = waiting.contains { $0.waits(for: [mode], style) }
                let found = turns.values.filter { $0.id.line == line }
                try expect(found.count, is: isWaiting ? 1 : 0, "turns of \(line) that have begun and not ended")
                let known = lines.turns.filter { $0.id.line == line }
                try expect(known.count, is: found.count, "turns of \(line)")
                try expect(known.first === found.first, "another turn of \(line)")
            }
        }
    }
}
