// SPDX-License-Identifier: Apache-2.0
// The table behind `cancelPerforms(target:key:)`.

import Synchronization

/// The performs that the program can cancel by target and key, and all ordered performs with their sources. An ordered
/// perform is a closure of `perform(order:inModes:target:key:_:)`. Used on the loop's thread only. The cost of a
/// cancellation does not depend on the number of other performs.
///
/// Comparing or hashing a key runs user code. So the caller hashes the key before it uses this table. The table returns
/// the performs whose keys have the same hash, and the caller compares the keys.
struct Cancellables {
    /// The number of a perform; never 0. Later performs have greater numbers.
    typealias Number = UInt64

    /// The object or the pointer that the program passes to cancel performs.
    enum Target: Hashable {
        case object(ObjectIdentifier)
        /// The user data of a C callback.
        case data(UInt)
    }

    /// A target, and optionally a key with its hash.
    struct Name {
        let target: Target
        let key: AnyHashable?
        fileprivate let keyHash: Int

        /// Makes a name from a target and a key. Hashes the key, which runs user code.
        init(_ target: Target, key: AnyHashable?) {
            self.target = target
            self.key = key
            keyHash = key?.hashValue ?? 0
        }

        /// Returns whether a cancellation with the name `wanted` covers a perform of this name. Both names must have
        /// the same target. If `wanted` has no key, it covers every perform of its target. Comparing keys runs user
        /// code.
        func isMeant(by wanted: Name) -> Bool { wanted.key == nil || wanted.key == key }

        fileprivate var ofTarget: Line.Name { Line.Name(target: target, keyHash: nil) }
        fileprivate var ofKey: Line.Name { Line.Name(target: target, keyHash: keyHash) }
    }

    /// One perform of the table. Release a removed entry only after the access to the table, because the deinit of the
    /// entry's target may use the table.
    struct Entry {
        /// The target and key by which the program can cancel the perform; nil if the program cannot cancel it.
        let name: Name?
        /// The object that keeps the target alive: the target itself or, for a closure of an actor, the ``Confined``
        /// whose closure captures the target.
        let holder: (any AnyObject & Sendable)?
        /// The delayed perform; nil for an ordered perform.
        let perform: GRunLoop.PerformName?
        /// The source of an ordered perform; nil for a delayed perform.
        fileprivate(set) var source: GRunLoop.Source?
    }

    /// The performs of one target: all performs, or the performs whose keys have the same hash.
    fileprivate struct Line {
        struct Name: Hashable {
            let target: Target
            /// The hash of the keys; nil for all performs of the target, whatever their keys.
            let keyHash: Int?
        }

        /// The numbers of the performs, in the order in which they were added. Some of these performs may have been
        /// removed already.
        var numbers: [Number]
        var removed = 0
    }

    private var entries: [Number: Entry] = [:]
    private var delayed: [GRunLoop.PerformName: Number] = [:]
    private var lines: [Line.Name: Line] = [:]
    /// The number of the perform that was added last. Each loop has its own range, so that numbers are unique in the
    /// process.
    private var additions: Number
    private static let ranges = Atomic<Number>(0)

    /// - Parameter additions: the first perform gets the number after this one. Tests set it.
    init(additions: Number = Self.ranges.add(1, ordering: .relaxed).oldValue << 40) { self.additions = additions }

    var isEmpty: Bool { entries.isEmpty }

    /// Adds a delayed perform, and returns its number.
    @discardableResult mutating func add(
        _ perform: GRunLoop.PerformName, _ name: Name, heldBy holder: (any AnyObject & Sendable)?
    ) -> Number {
        let number = add(Entry(name: name, holder: holder, perform: perform, source: nil))
        delayed[perform] = number
        return number
    }

    /// Adds an ordered perform, and returns its number. The caller then sets the source with ``setSource(_:of:)``.
    mutating func add(_ name: Name?, heldBy holder: (any AnyObject & Sendable)?) -> Number {
        add(Entry(name: name, holder: holder, perform: nil, source: nil))
    }

    private mutating func add(_ entry: Entry) -> Number {
        additions += 1
        entries[additions] = entry
        for name in Self.lineNames(of: entry) { lines[name, default: Line(numbers: [])].numbers.append(additions) }
        return additions
    }

    mutating func setSource(_ source: GRunLoop.Source, of number: Number) {
        entries[number]?.source = source
    }

    /// Returns the performs that `wanted` may cover, in the order in which they were added. User code may remove some
    /// of these performs while the caller compares their keys.
    func candidates(for wanted: Name) -> [(number: Number, name: Name)] {
        let line = lines[wanted.key == nil ? wanted.ofTarget : wanted.ofKey]
        return (line?.numbers ?? []).compactMap { number in
            entries[number].flatMap { $0.name }.map { (number, $0) }
        }
    }

    /// Removes a delayed perform by its number. Returns nil if the number is unknown or belongs to an ordered perform.
    mutating func removeDelayed(_ number: Number) -> GRunLoop.PerformName? {
        entries[number]?.perform == nil ? nil : remove(number)?.perform
    }

    mutating func remove(_ perform: GRunLoop.PerformName) -> Entry? { delayed[perform].flatMap { remove($0) } }

    mutating func remove(_ number: Number) -> Entry? {
        guard let entry = entries.removeValue(forKey: number) else { return nil }
        if let perform = entry.perform { delayed[perform] = nil }
        for name in Self.lineNames(of: entry) { noteRemoval(from: name) }
        return entry
    }

    private static func lineNames(of entry: Entry) -> [Line.Name] {
        guard let name = entry.name else { return [] }
        return name.key == nil ? [name.ofTarget] : [name.ofTarget, name.ofKey]
    }

    private mutating func noteRemoval(from name: Line.Name) {
        guard var line = lines.removeValue(forKey: name) else { return }
        line.removed += 1
        // Drops removed numbers in batches. Otherwise the removal of all performs of a target would take quadratic
        // time.
        if line.removed * 2 > line.numbers.count {
            line.numbers.removeAll { entries[$0] == nil }
            line.removed = 0
        }
        if !line.numbers.isEmpty { lines[name] = line }
    }
}
