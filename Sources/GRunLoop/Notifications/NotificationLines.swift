// SPDX-License-Identifier: Apache-2.0
// For each mode and style, lists the numbers of a queue's waiting notifications. Also finds notifications that may be
// the same as a given notification.
//
// This code knows only the hashes of names. So it runs no user code, and can be called with the queue's lock held.

/// The hash of a notification's name, and its sender. Notifications that may be the same have equal hashes or senders.
struct NotificationKey: Hashable {
    let hash: Int
    /// The address of the sender; 0 if there is none.
    let sender: UInt
}

/// The waiting notifications of a queue. Guarded by the queue's lock. The cost of an operation on one notification does
/// not depend on the number of waiting notifications.
struct NotificationLines {
    typealias Line = NotificationTurn.Line

    /// The turns that the caller must begin, and the turns that it must end, after unlocking.
    struct Changes {
        var begun: [NotificationTurn] = []
        var ended: [NotificationTurn] = []
    }

    private struct Entry {
        let key: NotificationKey
        let style: GRunLoop.PostingStyle
        let modes: [GRunLoop.Mode]
    }

    /// The key of a search for notifications that may be the same. With `both`, the search does not find notifications
    /// of the same name with another sender.
    private enum CoalescingKey: Hashable {
        case name(Int)
        case sender(UInt)
        case both(NotificationKey)

        static func all(of key: NotificationKey) -> [CoalescingKey] {
            [.name(key.hash), .sender(key.sender), .both(key)]
        }

        /// Nil if `coalescing` is empty, because then no notifications are the same.
        init?(_ key: NotificationKey, _ coalescing: GRunLoop.Coalescing) {
            switch (coalescing.contains(.onName), coalescing.contains(.onSender)) {
            case (true, true): self = .both(key)
            case (true, false): self = .name(key.hash)
            case (false, true): self = .sender(key.sender)
            case (false, false): return nil
            }
        }
    }

    /// The notifications of one style that wait for one mode.
    private struct Waiting {
        /// The numbers in ascending order, valid from index `next` on. Some numbers may belong to notifications that
        /// were taken already.
        var numbers: [UInt64] = []
        var next = 0
        /// The number of notifications that were not taken yet.
        var count = 0
        /// The turn that will post the notifications, if there is one.
        var turn: NotificationTurn?
    }

    /// The number of the notification that was added last; 0 at first.
    private(set) var last: UInt64
    private var entries: [UInt64: Entry] = [:]
    private var alikes: [CoalescingKey: Set<UInt64>] = [:]
    private var lines: [Line: Waiting] = [:]
    /// Lines that have become empty. New notifications may have been added to these lines since then.
    private var emptied: Set<Line> = []
    private var lastTurn: UInt64
    private var changes = Changes()

    /// - Parameter last: the first notification gets the number after this one. Only tests pass a number other than 0.
    init(last: UInt64 = 0) {
        self.last = last
        lastTurn = last
    }

    var turns: [NotificationTurn] { lines.values.compactMap(\.turn) }

    mutating func takeChanges() -> Changes {
        // A line's turn ends here, not when the line becomes empty. So if a new notification replaces the only
        // notification of a line, the line keeps its turn, and can still be posted in this pass.
        for line in emptied where lines[line]?.count == 0 {
            if let turn = lines.removeValue(forKey: line)?.turn { changes.ended.append(turn) }
        }
        emptied = []
        defer { changes = Changes() }
        return changes
    }

    mutating func add(
        _ key: NotificationKey, _ style: GRunLoop.PostingStyle, _ names: [GRunLoop.Mode],
        of server: some NotificationServer
    ) -> UInt64 {
        last += 1
        let modes = names.count > 1 ? Array(Set(names)) : names
        entries[last] = Entry(key: key, style: style, modes: modes)
        for likeness in CoalescingKey.all(of: key) { alikes[likeness, default: []].insert(last) }
        for mode in modes {
            let line = Line(mode: mode, style: style)
            lines[line, default: Waiting()].numbers.append(last)
            lines[line]?.count += 1
            checkInvariants(of: line)
            ensureTurn(of: line, of: server)
        }
        return last
    }

    mutating func remove(_ number: UInt64) {
        guard let entry = entries.removeValue(forKey: number) else { return }
        for likeness in CoalescingKey.all(of: entry.key) { remove(number, from: likeness) }
        for mode in entry.modes { noteTaken(from: Line(mode: mode, style: entry.style)) }
    }

    private mutating func remove(_ number: UInt64, from likeness: CoalescingKey) {
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
        // Drops the numbers of taken notifications. Otherwise the line of a mode that never runs would grow forever if
        // its notifications are coalesced again and again.
        if waiting.numbers.count - waiting.next > 2 * waiting.count + 16 || waiting.next > waiting.numbers.count / 2 {
            waiting.numbers = waiting.numbers[waiting.next...].filter { entries[$0] != nil }
            waiting.next = 0
        }
        lines[line] = waiting
        checkInvariants(of: line)
    }

    @inline(__always) private func checkInvariants(of line: Line) {
        #if DEBUG
            guard let waiting = lines[line], waiting.numbers.count <= Invariant.few else { return }
            let numbers = waiting.numbers[waiting.next...]
            invariant(numbers.count { entries[$0] != nil } == waiting.count, "the count of waiting entries is right")
            invariant(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }, "a line is in order")
        #endif
    }

    /// Returns the numbers of waiting notifications that may be the same as a notification with `key`, but only numbers
    /// greater than `first`. `coalescing` selects whether the name, the sender or both are compared.
    func alike(_ key: NotificationKey, _ coalescing: GRunLoop.Coalescing, after first: UInt64) -> [UInt64] {
        guard let likeness = CoalescingKey(key, coalescing), let found = alikes[likeness] else { return [] }
        return found.filter { $0 > first }
    }

    // MARK: Turns

    /// Called when a turn begins to post. It posts the notifications of all `modes`, so the turns of these modes end,
    /// including the turn itself. Returns false if the turn has already ended.
    mutating func begin(_ id: NotificationTurn.ID, _ modes: Set<GRunLoop.Mode>) -> Bool {
        guard lines[id.line]?.turn?.id.number == id.number else { return false }
        for mode in modes.union([id.line.mode]) {
            if let turn = lines[Line(mode: mode, style: id.line.style)]?.turn.take() { changes.ended.append(turn) }
        }
        return true
    }

    /// Returns the number of the oldest notification that waits for one of `modes`; nil if no notification up to the
    /// number `last` waits.
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

    /// Ensures that a line with waiting notifications has a turn, and that the turn is added to its mode.
    mutating func ensureTurn(of line: Line, of server: some NotificationServer) {
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
