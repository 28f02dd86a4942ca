// SPDX-License-Identifier: Apache-2.0
// The table of the delayed performs that have a target, and of all ordered performs. An ordered perform finds its
// source in it.

import Synchronization

/// The performs that the program can cancel by target and key, and the sources of ordered performs. Own thread only.
/// The cost of a cancellation does not depend on the number of other performs.
///
/// Comparing or hashing a key runs code of the program. So the caller hashes the key before it uses this table. The
/// table finds the performs whose keys have the same hash, and the caller compares their keys one after the other.
struct Cancellables {
    /// The number of an addition; not 0.
    typealias Number = UInt64

    /// The object or the pointer by which the program cancels performs.
    enum Target: Hashable {
        case object(ObjectIdentifier)
        /// The user data of a function of C.
        case data(UInt)
    }

    /// A target, and perhaps a key with its hash.
    struct Name {
        let target: Target
        let key: AnyHashable?
        fileprivate let keyHash: Int

        /// Hashes the key, which calls code of the program.
        init(_ target: Target, key: AnyHashable?) {
            self.target = target
            self.key = key
            keyHash = key?.hashValue ?? 0
        }

        /// Whether cancelling by `wanted` cancels a perform of this name. Without a key, `wanted` means every perform
        /// of its target. Calls code of the program.
        func isMeant(by wanted: Name) -> Bool { wanted.key == nil || wanted.key == key }

        fileprivate var ofTarget: Line.Name { Line.Name(target: target, keyHash: nil) }
        fileprivate var ofKey: Line.Name { Line.Name(target: target, keyHash: keyHash) }
    }

    /// One perform of the table. The deinit of its target may call back into the loop, so a removed entry is released
    /// after the access to the table.
    struct Entry {
        /// The target and key by which the program can cancel the perform; nil if it cannot.
        let name: Name?
        /// Keeps the target alive: the target itself or, if the closure belongs to an actor, the closure, which holds
        /// the target.
        let holder: (any AnyObject & Sendable)?
        /// The delayed perform; nil for an ordered one.
        let perform: GRunLoop.PerformName?
        /// The source of an ordered perform; nil for a delayed one.
        fileprivate(set) var source: GRunLoop.Source?
    }

    /// The performs of one target, or only those of them whose keys have the same hash.
    fileprivate struct Line {
        struct Name: Hashable {
            let target: Target
            /// Nil for all performs of the target, whatever their keys.
            let keyHash: Int?
        }

        /// In the order of addition. The numbers of some removed performs are still in the list.
        var numbers: [Number]
        var removed = 0
    }

    private var entries: [Number: Entry] = [:]
    private var delayed: [GRunLoop.PerformName: Number] = [:]
    private var lines: [Line.Name: Line] = [:]
    /// The number of the last addition. Each loop has a range of its own, so that no two performs of the process have
    /// the same number.
    private var additions: Number
    private static let ranges = Atomic<Number>(0)

    /// - Parameter additions: tests set it.
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

    /// Adds an ordered perform, whose source is not made yet, and returns its number.
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

    /// The performs that the name may mean, in the order of addition. Some of them may be removed while the caller
    /// compares their keys.
    func candidates(for wanted: Name) -> [(number: Number, name: Name)] {
        let line = lines[wanted.key == nil ? wanted.ofTarget : wanted.ofKey]
        return (line?.numbers ?? []).compactMap { number in
            entries[number].flatMap { $0.name }.map { (number, $0) }
        }
    }

    /// Removes a delayed perform by its number. Nil if the number is unknown, or stands for an ordered perform.
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
        // Not at each removal: to cancel all performs of a target would then take quadratic time.
        if line.removed * 2 > line.numbers.count {
            line.numbers.removeAll { entries[$0] == nil }
            line.removed = 0
        }
        if !line.numbers.isEmpty { lines[name] = line }
    }
}
