// SPDX-License-Identifier: Apache-2.0
// The modes that a version-0 source is in. They can belong to several loops, but usually there is one mode.

/// Guarded by the source's lock. One word, so that a source stays in malloc's class of 128 bytes.
enum SourceMemberships {
    case none
    /// First, because Swift tags the pointer of the later case, and a leak sanitizer does not find it then. The mode
    /// has a plain pointer to the membership of `one`.
    case several(SeveralMemberships)
    case one(SourceMembership)

    /// The usual case.
    @inline(__always) var only: SourceMembership? {
        if case .one(let membership) = self { membership } else { nil }
    }

    var isEmpty: Bool {
        if case .none = self { true } else { false }
    }

    /// All of them, in an array that is never changed.
    var all: [SourceMembership] {
        switch self {
        case .none: []
        case .one(let membership): [membership]
        case .several(let several): several.all
        }
    }

    mutating func add(_ membership: SourceMembership) {
        switch self {
        case .none: self = .one(membership)
        case .one(let first): self = .several(SeveralMemberships(first, membership))
        case .several(let several): several.add(membership)
        }
    }

    mutating func remove(_ membership: SourceMembership) {
        switch self {
        case .none: break
        case .one(let only): if only === membership { self = .none }
        case .several(let several): if let left = several.remove(membership) { self = .one(left) }
        }
    }
}

final class SeveralMemberships {
    @exclusivity(unchecked) private var places = Places<SourceMembership>()
    /// Nil after a change. Replaced, never changed in place: a signalling thread reads the array that it found without
    /// the lock, and its release of that array is not ordered before a change in place.
    private var list: [SourceMembership]?

    init(_ first: SourceMembership, _ second: SourceMembership) {
        places.add(first)
        places.add(second)
    }

    var all: [SourceMembership] {
        if let list { return list }
        var made: [SourceMembership] = []
        places.forEach { made.append($0) }
        list = made
        return made
    }

    func add(_ membership: SourceMembership) {
        list = nil
        places.add(membership)
    }

    /// Returns what is left, if that is one.
    func remove(_ membership: SourceMembership) -> SourceMembership? {
        list = nil
        places.remove(membership.mode)
        return places.single
    }
}

extension SourceMembership: Place {
    var modeOfPlace: Unmanaged<ModeState> { .passUnretained(mode) }
}

/// The modes that an invalid source has to leave in each of its loops.
struct SourceDepartures {
    private(set) var loops: [(loop: GRunLoop, modes: [ModeState])] = []
    private var indexes: [ObjectIdentifier: Int] = [:]

    /// - Parameter commonIn: the loops that have the source among their common items, perhaps in no mode.
    init(_ memberships: [SourceMembership], commonIn: [GRunLoop]) {
        for membership in memberships { loops[index(of: membership.loop)].modes.append(membership.mode) }
        for loop in commonIn { _ = index(of: loop) }
    }

    private mutating func index(of loop: GRunLoop) -> Int {
        // The usual case: one loop, which needs no table.
        if loops.first?.loop === loop { return 0 }
        if let known = indexes[ObjectIdentifier(loop)] { return known }
        if !loops.isEmpty { indexes[ObjectIdentifier(loop)] = loops.count }
        loops.append((loop, []))
        return loops.count - 1
    }
}
