// SPDX-License-Identifier: Apache-2.0
// What waits in a notification queue, by number: in the order in which it came, for each mode and style. And who may be
// the same as another.
//
// It knows no name, only its hash: so no user code runs here, and the queue's lock may be held.

/// What a notification is found by.
struct NotificationKey: Hashable {
    let hash: Int
    /// The address of the sender; 0 if there is none.
    let sender: UInt
}

/// Guarded by the queue's lock. Costs the same beside any number of others that wait.
struct NotificationLines {
    typealias Line = NotificationTurn.Line

    /// What is to be done after the lock.
    struct Changes {
        var begun: [NotificationTurn] = []
        var ended: [NotificationTurn] = []
    }

    private struct Entry {
        let key: NotificationKey
        let style: GRunLoop.PostingStyle
        let modes: [GRunLoop.Mode]
    }

    /// By what others are looked for: so that those of one name cost nothing where the sender is another one.
    private enum Likeness: Hashable {
        case name(Int)
        case sender(UInt)
        case both(NotificationKey)

        static func all(of key: NotificationKey) -> [Likeness] { [.name(key.hash), .sender(key.sender), .both(key)] }

        /// Nil: nothing is the same.
        init?(_ key: NotificationKey, _ coalescing: GRunLoop.Coalescing) {
            switch (coalescing.contains(.onName), coalescing.contains(.onSender)) {
            case (true, true): self = .both(key)
            case (true, false): self = .name(key.hash)
            case (false, true): self = .sender(key.sender)
            case (false, false): return nil
            }
        }
    }

    /// Those that wait for a mode.
    private struct Waiting {
        /// In ascending order, from `next` on. Those that were taken elsewhere are still there.
        var numbers: [UInt64] = []
        var next = 0
        /// How many have not been taken.
        var count = 0
        /// Nil while none waits.
        var turn: NotificationTurn?
    }

    /// The number of what came last; 0 at first.
    private(set) var last: UInt64
    private var entries: [UInt64: Entry] = [:]
    private var alikes: [Likeness: Set<UInt64>] = [:]
    private var lines: [Line: Waiting] = [:]
    /// In which nothing waits, unless something has come since.
    private var emptied: Set<Line> = []
    private var lastTurn: UInt64
    private var changes = Changes()

    /// - Parameter last: for tests: the number of what came before.
    init(last: UInt64 = 0) {
        self.last = last
        lastTurn = last
    }

    var turns: [NotificationTurn] { lines.values.compactMap(\.turn) }

    mutating func takeChanges() -> Changes {
        // Not at once: what takes the place of an equal keeps its turn, which may come in this pass.
        for line in emptied where lines[line]?.count == 0 {
            if let turn = lines.removeValue(forKey: line)?.turn { changes.ended.append(turn) }
        }
        emptied = []
        defer { changes = Changes() }
        return changes
    }

    /// Returns its number.
    mutating func add(
        _ key: NotificationKey, _ style: GRunLoop.PostingStyle, _ names: [GRunLoop.Mode],
        of server: some NotificationServer
    ) -> UInt64 {
        last += 1
        let modes = names.count > 1 ? Array(Set(names)) : names
        entries[last] = Entry(key: key, style: style, modes: modes)
        for likeness in Likeness.all(of: key) { alikes[likeness, default: []].insert(last) }
        for mode in modes {
            let line = Line(mode: mode, style: style)
            lines[line, default: Waiting()].numbers.append(last)
            lines[line]?.count += 1
            checkInvariants(of: line)
            seeToTurn(of: line, of: server)
        }
        return last
    }

    mutating func remove(_ number: UInt64) {
        guard let entry = entries.removeValue(forKey: number) else { return }
        for likeness in Likeness.all(of: entry.key) { remove(number, from: likeness) }
        for mode in entry.modes { noteTaken(from: Line(mode: mode, style: entry.style)) }
    }

    private mutating func remove(_ number: UInt64, from likeness: Likeness) {
        alikes[likeness]?.remove(number)
        if alikes[likeness]?.isEmpty == true { alikes[likeness] = nil }
    }

    private mutating func noteTaken(from line: Line) {
        guard var waiting = lines.removeValue(forKey: line) else { return }
        waiting.count -= 1
        if waiting.count == 0 {
            emptied.insert(line)
            (waiting.numbers, waiting.next) = ([], 0)
        }
        // Or what is enqueued and coalesced again and again, for a mode that never runs, would grow for ever.
        if waiting.numbers.count - waiting.next > 2 * waiting.count + 16 || waiting.next > waiting.numbers.count / 2 {
            waiting.numbers = waiting.numbers[waiting.next...].filter { entries[$0] != nil }
            waiting.next = 0
        }
        lines[line] = waiting
        checkInvariants(of: line)
    }

    /// In debug builds: those that wait are counted, and in order.
    @inline(__always) private func checkInvariants(of line: Line) {
        #if DEBUG
            guard let waiting = lines[line], waiting.numbers.count <= Invariant.few else { return }
            let numbers = waiting.numbers[waiting.next...]
            invariant(numbers.count { entries[$0] != nil } == waiting.count, "those that wait in a line are counted")
            invariant(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }, "a line is in order")
        #endif
    }

    /// Which of those that came after `first` may be the same: of the same hash, of the same sender.
    func alike(_ key: NotificationKey, _ coalescing: GRunLoop.Coalescing, after first: UInt64) -> [UInt64] {
        guard let likeness = Likeness(key, coalescing), let found = alikes[likeness] else { return [] }
        return found.filter { $0 > first }
    }

    // MARK: Turns

    /// A turn has come, and is that of all `modes`. Returns false if it is none any more: it was over just before.
    mutating func begin(_ id: NotificationTurn.ID, _ modes: Set<GRunLoop.Mode>) -> Bool {
        guard lines[id.line]?.turn?.id.number == id.number else { return false }
        for mode in modes.union([id.line.mode]) {
            if let turn = lines[Line(mode: mode, style: id.line.style)]?.turn.take() { changes.ended.append(turn) }
        }
        return true
    }

    /// The number of the one that came first and waits for one of the modes; nil if none is as old as `last`.
    mutating func first(_ style: GRunLoop.PostingStyle, _ modes: Set<GRunLoop.Mode>, upTo last: UInt64) -> UInt64? {
        let first = modes.compactMap { firstNumber(of: Line(mode: $0, style: style)) }.min()
        return first.flatMap { $0 <= last ? $0 : nil }
    }

    private mutating func firstNumber(of line: Line) -> UInt64? {
        guard var waiting = lines.removeValue(forKey: line) else { return nil }
        defer { lines[line] = waiting }
        while waiting.next < waiting.numbers.count {
            let number = waiting.numbers[waiting.next]
            if entries[number] != nil { return number }
            waiting.next += 1
        }
        return nil
    }

    /// Those that wait have a turn.
    mutating func seeToTurn(of line: Line, of server: some NotificationServer) {
        guard let waiting = lines[line], waiting.count > 0 else { return }
        if let turn = waiting.turn {
            if !turn.hasBegun.load(ordering: .acquiring) { changes.begun.append(turn) }
            return
        }
        lastTurn += 1
        let turn = NotificationTurn(.init(line: line, number: lastTurn), of: server)
        lines[line]?.turn = turn
        changes.begun.append(turn)
    }
}
