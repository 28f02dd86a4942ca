// SPDX-License-Identifier: Apache-2.0
// The modes that a timer is in, and where it stands in the heap of each.

/// Where a timer stands: the modes that it is in, and its index in the heap of each. The first place is inline, since nearly every
/// timer has one.
struct TimerPlaces {
    private struct Place {
        unowned(unsafe) let mode: ModeState
        var index: Int32
    }

    private(set) unowned(unsafe) var first: ModeState?
    private var others: [Place] = []
    /// In the heap of the first mode. -1 while the timer is firing: it has left the heap but is still in the mode.
    private var firstIndex: Int32 = -1

    var isEmpty: Bool { first == nil }
    /// Nearly all are in one mode: no array for those.
    func forEach(_ body: (ModeState) -> Void) {
        if let first { body(first) }
        for place in others { body(place.mode) }
    }

    func contains(_ mode: ModeState) -> Bool {
        first === mode || others.contains { $0.mode === mode }
    }

    func index(in mode: ModeState) -> Int {
        Int(first === mode ? firstIndex : others.first { $0.mode === mode }?.index ?? -1)
    }

    @inline(__always) mutating func setIndex(_ index: Int, in mode: ModeState) {
        if others.isEmpty {
            firstIndex = Int32(truncatingIfNeeded: index)
        } else {
            setIndexOfSeveral(Int32(truncatingIfNeeded: index), in: mode)
        }
    }

    @inline(never) private mutating func setIndexOfSeveral(_ index: Int32, in mode: ModeState) {
        if first === mode {
            firstIndex = index
        } else if let place = others.firstIndex(where: { $0.mode === mode }) {
            others[place].index = index
        }
    }

    mutating func add(_ mode: ModeState) {
        if first == nil { first = mode } else { others.append(Place(mode: mode, index: -1)) }
    }

    mutating func remove(_ mode: ModeState) {
        guard first === mode else { return others.removeAll { $0.mode === mode } }
        let next = others.isEmpty ? nil : others.removeFirst()
        first = next?.mode
        firstIndex = next?.index ?? -1
    }
}
