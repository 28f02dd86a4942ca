// SPDX-License-Identifier: Apache-2.0
// The items of a mode that take turns.

@testable import GRunLoop

final class TurnListModel: Model {
    static let name = "TurnList"

    private let mode = ModeState(name: "model", isCommon: false)
    private var list = TurnList<Counted>()
    private var members: [Counted] = []
    private var turns: [ObjectIdentifier: Turn<Counted>] = [:]
    /// The numbers of the members that have work, in the order of their turns.
    private var order: [Int] = []
    private var made = 0

    init(_ random: inout Random) {}

    func step(_ random: inout Random) throws {
        switch random.below(10) {
        case 0, 1: insert()
        case 2: remove(random.element(of: members)?.number)
        case 3...7: note(random.element(of: members)?.number, hasWork: !random.once(in: 3))
        default: listFirst(random.element(of: order))
        }
        try check()
    }

    func finish() throws {
        while !members.isEmpty {
            remove(members.last?.number)
            try check()
        }
        try expect(Counted.count, is: 0, "members that were not released")
    }

    // MARK: Operations

    private func insert() {
        guard members.count < 12 else { return }
        made += 1
        Journal.note("insert \(made)")
        let member = Counted(made)
        members.append(member)
        turns[ObjectIdentifier(member)] = Turn(of: member, in: mode)
        list.insert(member)
    }

    private func remove(_ number: Int?) {
        guard let index = members.firstIndex(where: { $0.number == number }),
            let turn = turns.removeValue(forKey: ObjectIdentifier(members[index]))
        else { return }
        Journal.note("remove \(members[index].number)")
        list.note(.passUnretained(turn), false)
        list.remove(members[index])
        order.removeAll { $0 == number }
        members.remove(at: index)
    }

    private func note(_ number: Int?, hasWork: Bool) {
        guard let number, let turn = turn(of: number) else { return }
        Journal.note("\(number) \(hasWork ? "has work" : "has no work")")
        list.note(.passUnretained(turn), hasWork)
        if !hasWork {
            order.removeAll { $0 == number }
        } else if !order.contains(number) {
            order.append(number)
        }
    }

    private func turn(of number: Int) -> Turn<Counted>? {
        members.first { $0.number == number }.flatMap { turns[ObjectIdentifier($0)] }
    }

    private func listFirst(_ number: Int?) {
        guard let number, let turn = turn(of: number) else { return }
        Journal.note("\(number) comes first")
        list.listFirst(.passUnretained(turn))
        order.removeAll { $0 == number }
        order.insert(number, at: 0)
    }

    // MARK: Comparison

    private func check() throws {
        try expect(list.ready.map { $0.takeUnretainedValue().number }, is: order, "the order of turns")
        try expect(list.hasReadyItems, is: !order.isEmpty, "whether a member has work")
        try expect(list.next?.takeUnretainedValue().number, is: order.first, "whose turn it is")
        try expect(list.all.map(\.number).sorted(), is: members.map(\.number).sorted(), "the members")
        try expect(list.isEmpty, is: members.isEmpty, "whether the list is empty")
        for member in members {
            try expect(list.contains(.passUnretained(member)), "a member is not in the list")
            try expect(
                turns[ObjectIdentifier(member)]?.isListed, is: order.contains(member.number),
                "whether \(member.number) is listed")
        }
        try expect(Counted.count, is: members.count, "members that are alive")
    }
}
