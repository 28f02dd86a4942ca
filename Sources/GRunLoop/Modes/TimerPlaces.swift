// SPDX-License-Identifier: Apache-2.0
// The modes that a timer is in, and where it stands in the heap of each.

/// Where a timer stands: the modes that it is in, and its index in the heap of each. The first place is inline, since nearly every
/// timer has one.
struct TimerPlaces {
    struct Place {
        unowned(unsafe) let mode: ModeState
        /// -1 while the timer is firing: it has left the heap but is still in the mode.
        var index: Int
    }

    private(set) var first: Place?
    private(set) var others: [Place] = []

    var isEmpty: Bool { first == nil }
    /// Nearly all are in one mode: no array for those.
    func forEach(_ body: (ModeState) -> Void) {
        if let first { body(first.mode) }
        for place in others { body(place.mode) }
    }

    var modes: [ModeState] { (first.map { [$0.mode] } ?? []) + others.map(\.mode) }

    func contains(_ mode: ModeState) -> Bool {
        first?.mode === mode || others.contains { $0.mode === mode }
    }

    func index(in mode: ModeState) -> Int {
        if let first, first.mode === mode { return first.index }
        return others.first { $0.mode === mode }?.index ?? -1
    }

    @inline(__always) mutating func setIndex(_ index: Int, in mode: ModeState) {
        if others.isEmpty {
            first?.index = index
        } else {
            setIndexOfSeveral(index, in: mode)
        }
    }

    @inline(never) private mutating func setIndexOfSeveral(_ index: Int, in mode: ModeState) {
        if first?.mode === mode {
            first?.index = index
        } else if let place = others.firstIndex(where: { $0.mode === mode }) {
            others[place].index = index
        }
    }

    mutating func add(_ mode: ModeState) {
        let place = Place(mode: mode, index: -1)
        if first == nil { first = place } else { others.append(place) }
    }

    mutating func remove(_ mode: ModeState) {
        if first?.mode === mode {
            first = others.isEmpty ? nil : others.removeFirst()
        } else {
            others.removeAll { $0.mode === mode }
        }
    }
}
