// SPDX-License-Identifier: Apache-2.0
// A notification queue on a loop: the posted notifications, their observers and their order.

@testable import GRunLoop

final class NotificationCoreModel: Model {
    static let name = "NotificationCore"

    /// Different names may have the same hash.
    struct Name: Hashable, Sendable {
        let number: Int
        func hash(into hasher: inout Hasher) { hasher.combine(number % 2) }
    }

    private typealias Core = NotificationCore<Name, Int>

    private struct Waiting {
        let number: Int
        let name: Name
        let sender: Int?
        let style: GRunLoop.PostingStyle
        let modes: Set<GRunLoop.Mode>
    }

    private struct Observer {
        let id: UInt64
        let number: Int
        let name: Name?
        let sender: Int?
    }

    private static let modes: [GRunLoop.Mode] = [.default, "model"]

    private let core = Core(on: GRunLoop.current)
    private let senders = [Shared(0), Shared(1)]
    private var waiting: [Waiting] = []
    private var observers: [Observer] = []
    private var made = 0
    /// The number of each posted notification, and of the observer that got it.
    private let posted = Shared<[(notification: Int, observer: Int)]>([])

    init(_ random: inout Random) {}

    func step(_ random: inout Random) throws {
        let name = Name(number: random.below(4))
        let sender = random.once(in: 2) ? nil : random.below(2)
        let kinds: [GRunLoop.Coalescing] = [[], .onName, .onSender, [.onName, .onSender]]
        let coalescing = kinds[random.below(4)]
        switch random.below(12) {
        case 0...4:
            let modes = random.once(in: 3) ? Self.modes : [Self.modes[random.below(2)]]
            try enqueue(name, sender, random.once(in: 2) ? .asap : .whenIdle, coalescing, modes)
        case 5: try dequeue(name, sender, coalescing)
        case 6, 7: addObserver(random.once(in: 4) ? nil : name, sender)
        case 8: try removeObserver(random.element(of: observers))
        default: try run(Self.modes[random.below(2)])
        }
        try expect(core.count, is: waiting.count, "notifications that wait")
    }

    func finish() throws {
        for mode in Self.modes {
            for _ in 0..<1000 where waiting.contains(where: { $0.modes.contains(mode) }) { try run(mode) }
        }
        try expect(waiting.count, is: 0, "notifications that are never posted")
        try expect(core.count, is: 0, "notifications that are left")
        while let last = observers.last { try removeObserver(last) }
        try expect(Counted.count, is: 0, "observers that were not released")
    }

    // MARK: Operations

    private func notification(_ number: Int, _ name: Name, _ sender: Int?) -> Core.Notification {
        Core.Notification(name: name, sender: sender.map { senders[$0] }, payload: number)
    }

    private func isSame(_ waiting: Waiting, _ name: Name, _ sender: Int?, _ coalescing: GRunLoop.Coalescing) -> Bool {
        !coalescing.isEmpty && (!coalescing.contains(.onName) || waiting.name == name)
            && (!coalescing.contains(.onSender) || waiting.sender == sender)
    }

    private func enqueue(
        _ name: Name, _ sender: Int?, _ style: GRunLoop.PostingStyle, _ coalescing: GRunLoop.Coalescing,
        _ modes: [GRunLoop.Mode]
    ) throws {
        made += 1
        Journal.note("enqueue \(made), name \(name.number), sender \(sender ?? -1), \(style), \(coalescing), \(modes)")
        waiting.removeAll { isSame($0, name, sender, coalescing) }
        try expect(core.enqueue(notification(made, name, sender), style, coalescing, modes), "it is not accepted")
        waiting.append(Waiting(number: made, name: name, sender: sender, style: style, modes: Set(modes)))
    }

    private func dequeue(_ name: Name, _ sender: Int?, _ coalescing: GRunLoop.Coalescing) throws {
        Journal.note("dequeue name \(name.number), sender \(sender ?? -1), \(coalescing)")
        let count = waiting.count { isSame($0, name, sender, coalescing) }
        waiting.removeAll { isSame($0, name, sender, coalescing) }
        try expect(core.dequeue(notification(0, name, sender), coalescing), is: count, "how many were dequeued")
    }

    private func addObserver(_ name: Name?, _ sender: Int?) {
        guard observers.count < 12 else { return }
        made += 1
        Journal.note("add observer \(made), name \(name?.number ?? -1), sender \(sender ?? -1)")
        let object = sender.map { senders[$0] }
        let address = object.map { UInt(bitPattern: Unmanaged.passUnretained($0).toOpaque()) } ?? 0
        let counted = Counted(made)
        let id = core.addObserver(name, object, address) { [posted] notification in
            posted.value.append((notification.payload, counted.number))
        }
        observers.append(Observer(id: id, number: made, name: name, sender: sender))
    }

    private func removeObserver(_ observer: Observer?) throws {
        guard let observer else { return }
        Journal.note("remove observer \(observer.number)")
        try expect(core.removeObserver(observer.id), "an observer is not there")
        try expect(!core.removeObserver(observer.id), "an observer is removed twice")
        observers.removeAll { $0.number == observer.number }
    }

    // MARK: Comparison

    /// A run posts what waits for its mode, each style in order, to every observer that wants it.
    private func run(_ mode: GRunLoop.Mode) throws {
        Journal.note("run in \(mode)")
        let before = waiting
        posted.value = []
        // A run that is to end immediately is never idle.
        _ = core.loop.run(mode: mode, for: .microseconds(50))
        let left = core.count
        var found = posted.value[...]
        // Notifications without an observer are posted without a record.
        for style in [GRunLoop.PostingStyle.asap, .whenIdle] {
            let numbers = posted.value.map(\.notification).filter { number in
                before.contains { $0.number == number && $0.style == style }
            }
            try expect(numbers, is: numbers.sorted(), "the order of \(style)")
        }
        while let number = found.first?.notification {
            guard let notification = before.first(where: { $0.number == number }) else {
                throw Mismatch(text: "\(number) is posted, but does not wait")
            }
            try expect(notification.modes.contains(mode), "\(number) is posted in \(mode)")
            let count = found.prefix { $0.notification == number }.count
            let wanted = observers.filter { observer in
                observer.name.map { $0 == notification.name } ?? true
                    && observer.sender.map { $0 == notification.sender } ?? true
            }
            try expect(found.prefix(count).map(\.observer), is: wanted.map(\.number), "the observers of \(number)")
            found = found.dropFirst(count)
            waiting.removeAll { $0.number == number }
            try expect(!found.contains { $0.notification == number }, "\(number) is posted twice")
        }
        try forgetUnobserved(mode, left)
    }

    /// Notifications that no observer wants are posted as well.
    private func forgetUnobserved(_ mode: GRunLoop.Mode, _ left: Int) throws {
        let unobserved = waiting.filter { notification in
            notification.modes.contains(mode)
                && !observers.contains { observer in
                    observer.name.map { $0 == notification.name } ?? true
                        && observer.sender.map { $0 == notification.sender } ?? true
                }
        }
        let count = waiting.count - left
        try expect(0...unobserved.count ~= count, "\(count) more notifications are gone than were posted")
        // In order within a style; the first pass posts those as soon as possible.
        let inOrder = unobserved.filter { $0.style == .asap } + unobserved.filter { $0.style == .whenIdle }
        let gone = Set(inOrder.prefix(count).map(\.number))
        waiting.removeAll { gone.contains($0.number) }
    }
}
