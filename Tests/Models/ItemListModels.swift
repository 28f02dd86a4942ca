// SPDX-License-Identifier: Apache-2.0
// The modes that an item is in, and the common items of a loop.

@testable import GRunLoop

final class PlacesModel: Model {
    static let name = "Places"

    private let modes = (0..<4).map { ModeState(name: GRunLoop.Mode("model \($0)"), isCommon: false) }
    private var places = Places<Unmanaged<ModeState>>()
    /// The numbers of the modes, in the order of addition.
    private var order: [Int] = []

    init(_ random: inout Random) {}

    func step(_ random: inout Random) throws {
        let number = random.below(modes.count)
        if !order.contains(number) {
            Journal.note("add \(number)")
            places.add(.passUnretained(modes[number]))
            order.append(number)
        } else {
            Journal.note("remove \(number)")
            places.remove(modes[number])
            order.removeAll { $0 == number }
        }
        var found: [Int] = []
        places.forEach { mode in found += modes.indices.filter { mode === modes[$0] } }
        try expect(found, is: order, "the modes")
        try expect(
            modes.indices.filter { places.contains(modes[$0]) }, is: order.sorted(), "the modes that are contained")
        try expect(places.first?.toOpaque(), is: order.first.map { toOpaque(modes[$0]) }, "the first mode")
    }

    func finish() throws {
        for number in order.reversed() { places.remove(modes[number]) }
        try expect(places.first == nil, "a mode is left")
    }

    private func toOpaque(_ mode: ModeState) -> UnsafeMutableRawPointer { Unmanaged.passUnretained(mode).toOpaque() }
}

final class CommonItemsModel: Model {
    static let name = "CommonItems"

    private var items: CommonItems
    private let sources = (0..<6).map { GRunLoop.Source(order: $0) {} }
    /// Addresses that stand for contexts, which the list never looks into.
    private let contexts = (100..<103).compactMap { OpaquePointer(bitPattern: $0) }
    /// The numbers of the sources; those of the contexts are 100 and more.
    private var order: [Int] = []

    init(_ random: inout Random) {
        items = CommonItems(additions: random.once(in: 2) ? 0 : .max - 100_000)
    }

    func step(_ random: inout Random) throws {
        let number = random.once(in: 3) ? 100 + random.below(contexts.count) : random.below(sources.count)
        if random.once(in: 40) {
            Journal.note("remove all")
            try expect(items.removeAll().map(number(of:)), is: order, "what was removed")
            order = []
        } else if random.once(in: 2) {
            Journal.note("insert \(number)")
            if number < 100 {
                items.insert(.source(sources[number]), for: sources[number])
            } else {
                items.insert(contexts[number - 100])
            }
            if !order.contains(number) { order.append(number) }
        } else {
            Journal.note("remove \(number)")
            let removed = number < 100 ? items.remove(sources[number]) : items.remove(contexts[number - 100])
            try expect(removed.map(self.number(of:)), is: order.contains(number) ? number : nil, "what was removed")
            order.removeAll { $0 == number }
        }
        try expect(items.ordered.map(self.number(of:)), is: order, "the order")
        for number in sources.indices {
            try expect(items.contains(sources[number]), is: order.contains(number), "whether \(number) is common")
        }
        for number in contexts.indices {
            try expect(
                items.contains(contexts[number]), is: order.contains(100 + number), "whether a context is common")
        }
    }

    func finish() throws {
        try expect(items.removeAll().map(number(of:)), is: order, "what is left")
        try expect(items.ordered.isEmpty, "an item is left")
    }

    private func number(of item: CommonItem) -> Int {
        switch item {
        case .source(let source): source.order
        case .context(let context): 100 + (contexts.firstIndex(of: context) ?? 100)
        default: -1
        }
    }
}
