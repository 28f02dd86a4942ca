// SPDX-License-Identifier: Apache-2.0
// The modes that a version-0 source is in: usually one mode, rarely several modes of one or more loops.

/// The memberships of one source. Guarded by the source's lock. The enum takes 8 bytes, so that malloc uses 128 bytes
/// for a source.
enum SourceMemberships {
    case none
    /// This case is declared before `one`, because Swift tags the pointer of the later case, and a leak sanitizer does
    /// not find a tagged pointer. The mode has an untagged pointer to the membership of `one`, which the sanitizer
    /// finds.
    case several(SeveralMemberships)
    case one(SourceMembership)

    /// The membership of a source that is in one mode, which is the usual case; otherwise nil.
    @inline(__always) var only: SourceMembership? {
        if case .one(let membership) = self { membership } else { nil }
    }

    var isEmpty: Bool {
        if case .none = self { true } else { false }
    }

    /// All memberships, in an array that is never changed afterwards.
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
    /// The array that ``all`` returns; nil after a change. The array is replaced and never changed in place, because a
    /// signalling thread reads the array without the lock. A change in place would be a data race with that thread,
    /// even after that thread has released the array.
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

    /// Removes a membership. Returns the remaining membership if only one is left, otherwise nil.
    func remove(_ membership: SourceMembership) -> SourceMembership? {
        list = nil
        places.remove(membership.mode)
        return places.single
    }
}

extension SourceMembership: Place {
    var modeOfPlace: Unmanaged<ModeState> { .passUnretained(mode) }
}

/// The modes that an invalid source must leave, grouped by loop.
struct SourceDepartures {
    private(set) var loops: [(loop: GRunLoop, modes: [ModeState])] = []
    private var indexes: [ObjectIdentifier: Int] = [:]

    /// - Parameter commonIn: the loops that have the source among their common items. These loops are included even if
    ///   the source is in none of their modes.
    init(_ memberships: [SourceMembership], commonIn: [GRunLoop]) {
        for membership in memberships { loops[index(of: membership.loop)].modes.append(membership.mode) }
        for loop in commonIn { _ = index(of: loop) }
    }

    private mutating func index(of loop: GRunLoop) -> Int {
        // In the usual case, the source is in one loop, and no table is needed.
        if loops.first?.loop === loop { return 0 }
        if let known = indexes[ObjectIdentifier(loop)] { return known }
        if !loops.isEmpty { indexes[ObjectIdentifier(loop)] = loops.count }
        loops.append((loop, []))
        return loops.count - 1
    }
}
