// SPDX-License-Identifier: Apache-2.0
// End handlers, cancellable performs, and objects that a loop keeps until its end or until a run no longer needs them.

@testable import GRunLoop

final class EndHandlersModel: Model {
    static let name = "EndHandlers"

    private var handlers: EndHandlers
    private var waiting: [UInt64] = []
    private var given: [UInt64] = []
    private var isClosed = false
    private let called = Shared<UInt64>(0)
    private var last: UInt64

    init(_ random: inout Random) {
        last = random.once(in: 2) ? 0 : .max - 100_000
        handlers = EndHandlers(lastID: last)
    }

    func step(_ random: inout Random) throws {
        switch random.below(20) {
        case 0...8: try add()
        case 9...14: try remove(random.element(of: random.once(in: 2) ? waiting : given))
        case 15...18: try takeLast()
        default:
            // A loop closes once. Later additions have to be refused.
            guard random.once(in: 20) else { return }
            Journal.note("close")
            isClosed = handlers.closeIfEmpty() || isClosed
            try expect(isClosed, is: waiting.isEmpty, "whether the list is closed")
        }
        try expect(Counted.count, is: waiting.count, "closures that are alive")
    }

    func finish() throws {
        while !waiting.isEmpty { try takeLast() }
        try expect(handlers.takeLast() == nil, "a handler is left")
        try expect(handlers.closeIfEmpty(), "the list is empty and does not close")
        try expect(handlers.add {} == nil, "a closed list takes a handler")
        try expect(Counted.count, is: 0, "closures that were not released")
    }

    private func add() throws {
        let counted = Counted(Int(truncatingIfNeeded: last + 1))
        let id = handlers.add { [called] in called.value = UInt64(bitPattern: Int64(counted.number)) }
        Journal.note("add \(id.map(String.init) ?? "nothing")")
        try expect(id, is: isClosed ? nil : last + 1, "the number of the handler")
        guard let id else { return }
        last = id
        waiting.append(id)
        given.append(id)
    }

    private func remove(_ id: UInt64?) throws {
        guard let id else { return }
        Journal.note("remove \(id)")
        try call(handlers.remove(id), is: waiting.contains(id) ? id : nil)
        waiting.removeAll { $0 == id }
    }

    private func takeLast() throws {
        Journal.note("take the last one")
        try call(handlers.takeLast(), is: waiting.popLast())
    }

    private func call(_ body: EndHandlers.Body?, is expected: UInt64?) throws {
        called.value = 0
        body?()
        try expect(body != nil, is: expected != nil, "whether there is a handler")
        if let expected { try expect(called.value, is: expected, "the handler") }
    }
}

final class CancellablesModel: Model {
    static let name = "Cancellables"

    /// How a perform is removed.
    private enum Tag: Hashable {
        case delayed(GRunLoop.PerformName)
        case ordered(Cancellables.Number)
    }

    private struct Entry {
        let tag: Tag
        let target: Counted?
        let key: Int?
        var source: GRunLoop.Source?

        var name: Cancellables.Name? { target.map { CancellablesModel.name(of: $0, key) } }
    }

    private var list: Cancellables
    private var waiting: [Entry] = []
    private var former: Set<Tag> = []
    private var made: UInt32 = 0

    init(_ random: inout Random) {
        list = Cancellables(additions: random.once(in: 2) ? 0 : .max - 100_000)
    }

    func step(_ random: inout Random) throws {
        let target = random.once(in: 4) ? nil : random.element(of: waiting)?.target ?? Counted(Int(made))
        let key = random.once(in: 2) ? nil : random.below(3)
        switch random.below(10) {
        case 0...2: addDelayed(target ?? Counted(Int(made)), key)
        case 3, 4: try addOrdered(target, key)
        case 5: setSource(&random)
        case 6...8: try remove(random.element(of: waiting)?.tag)
        default: try remove(former.randomElement(using: &random))
        }
        try check()
    }

    func finish() throws {
        while let entry = waiting.last { try remove(entry.tag) }
        try expect(list.isEmpty, "an entry is left")
        try expect(Counted.count, is: 0, "targets that were not released")
    }

    private static func name(of target: Counted, _ key: Int?) -> Cancellables.Name {
        Cancellables.Name(.object(ObjectIdentifier(target)), key: key.map { AnyHashable($0) })
    }

    private func addDelayed(_ target: Counted, _ key: Int?) {
        made += 1
        Journal.note("add delayed perform \(made)")
        let perform = GRunLoop.PerformName(mode: 1, name: TimerSlots.Name(slot: made, use: 0))
        list.add(perform, Self.name(of: target, key), heldBy: target)
        waiting.append(Entry(tag: .delayed(perform), target: target, key: key))
    }

    private func addOrdered(_ target: Counted?, _ key: Int?) throws {
        let number = list.add(target.map { Self.name(of: $0, key) }, heldBy: target)
        Journal.note("add ordered perform \(number)")
        try expect(!former.contains(.ordered(number)), "a number was given twice")
        waiting.append(Entry(tag: .ordered(number), target: target, key: key))
    }

    private func setSource(_ random: inout Random) {
        let ordered = waiting.indices.filter { if case .ordered = waiting[$0].tag { true } else { false } }
        guard let index = random.element(of: ordered), case .ordered(let number) = waiting[index].tag else { return }
        Journal.note("set the source of \(number)")
        let source = GRunLoop.Source {}
        list.setSource(source, of: number)
        waiting[index].source = source
    }

    private func remove(_ tag: Tag?) throws {
        guard let tag else { return }
        Journal.note("remove \(tag)")
        let index = waiting.firstIndex { $0.tag == tag }
        let removed =
            switch tag {
            case .delayed(let perform): list.remove(perform)
            case .ordered(let number): list.remove(number)
            }
        try expect(removed != nil, is: index != nil, "whether there was an entry")
        guard let index, let removed else { return }
        try compare(removed, waiting[index])
        waiting.remove(at: index)
        former.insert(tag)
    }

    private func check() throws {
        try expect(list.isEmpty, is: waiting.isEmpty, "whether the list is empty")
        for entry in waiting {
            guard let target = entry.target, let name = entry.name else { continue }
            let found = list.candidates(for: name)
            let wanted = waiting.filter { $0.target === target && (entry.key == nil || $0.key == entry.key) }
            try expect(found.map(\.name.key), is: wanted.map { $0.key.map { AnyHashable($0) } }, "the candidates")
            try expect(found.map(\.number), is: found.map(\.number).sorted(), "the order of addition")
            for (found, wanted) in zip(found, wanted) {
                guard case .ordered(let number) = wanted.tag else { continue }
                try expect(found.number, is: number, "the number")
            }
        }
    }

    private func compare(_ found: Cancellables.Entry, _ wanted: Entry) throws {
        try expect(found.name?.target, is: wanted.name?.target, "the target")
        try expect(found.holder === wanted.target, "the holder")
        try expect(found.name?.key, is: wanted.key.flatMap { wanted.target == nil ? nil : AnyHashable($0) }, "the key")
        try expect(found.source === wanted.source, "the source")
    }
}

final class KeptModel: Model {
    static let name = "Kept"

    private var kept = Kept()
    private var expected = 0
    private var made = 0

    init(_ random: inout Random) {}

    func step(_ random: inout Random) throws {
        made += 1
        switch random.below(10) {
        case 0...3:
            Journal.note("keep one")
            kept.keep(Counted(made))
            expected += 1
        case 4, 5:
            let list = (0..<random.below(4)).map { _ in Counted(made) }
            Journal.note("keep \(list.count)")
            kept.keep(all: list)
            expected += list.count
        case 6, 7:
            Journal.note("replace all by one")
            kept.replace(by: Counted(made))
            expected = 1
        default:
            Journal.note("drop all")
            kept.drop()
            expected = 0
        }
        try expect(Counted.count, is: expected, "objects that are kept")
        try expect(kept.isEmpty, is: expected == 0, "whether anything is kept")
    }

    func finish() throws {
        kept.drop()
        try expect(Counted.count, is: 0, "objects that are still kept")
    }
}
