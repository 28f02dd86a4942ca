// SPDX-License-Identifier: Apache-2.0
// The modes that a timer is in, and where it stands in the heap of each.

/// Where a timer stands: the modes that it is in, and its index in the heap of each. The first place is inline, since nearly every
/// timer has one. Modes live as long as their loop, and are neither retained nor released here.
struct TimerPlaces {
    private struct Place {
        let mode: Unmanaged<ModeState>
        var index: Int32
    }

    private(set) var first: Unmanaged<ModeState>?
    private var others: [Place] = []
    /// In the heap of the first mode. -1 while the timer is firing: it has left the heap but is still in the mode.
    private var firstIndex: Int32 = -1

    var isEmpty: Bool { first == nil }

    /// Nearly all are in one mode: no array for those.
    @inline(__always) func forEach(_ body: (ModeState) -> Void) {
        if let first { first._withUnsafeGuaranteedRef(body) }
        if !others.isEmpty { for place in others { place.mode._withUnsafeGuaranteedRef(body) } }
    }

    func contains(_ mode: ModeState) -> Bool {
        isFirst(mode) || position(of: mode) != nil
    }

    @inline(__always) func index(in mode: ModeState) -> Int {
        Int(isFirst(mode) ? firstIndex : position(of: mode).map { others[$0].index } ?? -1)
    }

    @inline(__always) mutating func setIndex(_ index: Int, in mode: ModeState) {
        let index = Int32(truncatingIfNeeded: index)
        if others.isEmpty || isFirst(mode) { firstIndex = index } else { setOther(index, in: mode) }
    }

    mutating func add(_ mode: ModeState) {
        if first == nil { first = .passUnretained(mode) } else { others.append(Place(mode: .passUnretained(mode), index: -1)) }
    }

    mutating func remove(_ mode: ModeState) {
        if !isFirst(mode) {
            if let position = position(of: mode) { others.remove(at: position) }
        } else if others.isEmpty {
            first = nil
            firstIndex = -1
        } else {
            let next = others.removeFirst()
            first = next.mode
            firstIndex = next.index
        }
    }

    @inline(__always) private func isFirst(_ mode: ModeState) -> Bool {
        first?.toOpaque() == Unmanaged.passUnretained(mode).toOpaque()
    }

    private func position(of mode: ModeState) -> Int? {
        others.isEmpty ? nil : others.firstIndex { $0.mode.toOpaque() == Unmanaged.passUnretained(mode).toOpaque() }
    }

    @inline(never) private mutating func setOther(_ index: Int32, in mode: ModeState) {
        if let position = position(of: mode) { others[position].index = index }
    }
}
