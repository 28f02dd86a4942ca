// SPDX-License-Identifier: Apache-2.0
// The modes that an item is in, and the item's data for each mode.

/// An item's data for one mode.
protocol Place {
    /// Not retained, because the mode lives as long as its loop.
    var modeOfPlace: Unmanaged<ModeState> { get }
}

/// The places of an item. Nearly all items are in one mode, so one place needs no allocation. Guarded by the lock that
/// guards the item.
struct Places<Content: Place> {
    private var only: Content?
    private var others: OtherPlaces<Content>?

    @inline(__always) var first: Unmanaged<ModeState>? { only?.modeOfPlace }
    /// The item's only place; nil if the item has several places or none.
    @inline(__always) var single: Content? { others == nil ? only : nil }
    var hasSeveral: Bool { others != nil }

    /// The item's place in a mode; nil if the item is not there.
    subscript(_ mode: ModeState) -> Content? {
        guard let only else { return nil }
        return only.modeOfPlace === mode ? only : others?[mode]
    }

    func contains(_ mode: ModeState) -> Bool { first === mode || others?[mode] != nil }

    func forEach(_ body: (Content) -> Void) {
        if let only { body(only) }
        others?.forEach(body)
    }

    mutating func add(_ place: Content) {
        invariant(
            !contains(place.modeOfPlace.takeUnretainedValue()), "an item joins a mode that it is not in")
        if only == nil {
            only = place
        } else if let others {
            others.add(place)
        } else {
            others = OtherPlaces(place)
        }
    }

    /// Removes and returns the item's place in a mode; nil if there is none.
    @discardableResult mutating func remove(_ mode: ModeState) -> Content? {
        guard first === mode else {
            let removed = others?.remove(mode)
            if others?.isEmpty == true { others = nil }
            return removed
        }
        defer {
            only = others?.removeNext()
            if others?.isEmpty == true { others = nil }
        }
        return only
    }
}

/// The places of an item in all its modes except one.
final class OtherPlaces<Content: Place> {
    @exclusivity(unchecked) private var places: [Content]
    /// The index of the place for each mode; nil while the places are so few that a search is quicker.
    @exclusivity(unchecked) private var indexes: [UnsafeMutableRawPointer: Int]?
    private static var most: Int { 8 }

    init(_ place: Content) { places = [place] }

    var isEmpty: Bool { places.isEmpty }

    /// The item's place in a mode; nil if the item is not there. The setter can only replace an existing place.
    subscript(_ mode: ModeState) -> Content? {
        get { index(of: mode).map { places[$0] } }
        set {
            if let index = index(of: mode), let newValue { places[index] = newValue }
        }
    }

    func forEach(_ body: (Content) -> Void) {
        for place in places { body(place) }
    }

    func add(_ place: Content) {
        places.append(place)
        if indexes != nil {
            indexes?[place.modeOfPlace.toOpaque()] = places.count - 1
        } else if places.count > Self.most {
            var made: [UnsafeMutableRawPointer: Int] = [:]
            for (index, place) in places.enumerated() { made[place.modeOfPlace.toOpaque()] = index }
            indexes = made
        }
    }

    func remove(_ mode: ModeState) -> Content? {
        guard let index = index(of: mode) else { return nil }
        guard indexes != nil else { return places.remove(at: index) }
        indexes?[Unmanaged.passUnretained(mode).toOpaque()] = nil
        let last = places.removeLast()
        guard index < places.count else { return last }
        indexes?[last.modeOfPlace.toOpaque()] = index
        defer { places[index] = last }
        return places[index]
    }

    /// Removes and returns an arbitrary place, without a search.
    func removeNext() -> Content? {
        guard indexes != nil else { return places.isEmpty ? nil : places.removeFirst() }
        guard let last = places.popLast() else { return nil }
        indexes?[last.modeOfPlace.toOpaque()] = nil
        return last
    }

    private func index(of mode: ModeState) -> Int? {
        guard let indexes else { return places.firstIndex { $0.modeOfPlace === mode } }
        return indexes[Unmanaged.passUnretained(mode).toOpaque()]
    }
}

extension Unmanaged<ModeState>: Place {
    var modeOfPlace: Unmanaged<ModeState> { self }
}
