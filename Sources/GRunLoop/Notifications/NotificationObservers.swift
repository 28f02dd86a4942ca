// SPDX-License-Identifier: Apache-2.0
// Who observes a notification queue: found by name and sender, so that the others cost a posting nothing.

/// Guarded by the queue's lock. Names are known by their hashes: to compare them is the program's code, and is left to
/// who posts.
struct NotificationObservers<Name: Hashable & Sendable, Payload: Sendable> {
    typealias Notification = GRunLoop.Notification<Name, Payload>

    struct Content {
        let name: Name?
        let body: @Sendable (Notification) -> Void
        /// Kept, or another object could get its address.
        let sender: (any AnyObject & Sendable)?
    }

    final class Observer {
        let number: UInt64
        /// Nil once it is cancelled. Goes without the lock.
        var content: Content?

        init(_ number: UInt64, _ content: Content) {
            self.number = number
            self.content = content
        }
    }

    /// Which notifications somebody observes.
    private struct Key: Hashable {
        /// Of the name; nil: of every name.
        let hash: Int?
        /// The address; 0: of every sender.
        let sender: UInt
    }

    /// Those of one key.
    private struct Line {
        /// In the order in which they were added. Those that were cancelled are still there.
        var observers: [Observer] = []
        var cancelled = 0

        /// Where one of them is.
        func index(of number: UInt64) -> Int {
            var range = 0..<observers.count
            while range.count > 1 {
                let middle = range.lowerBound + range.count / 2
                range = observers[middle].number <= number ? middle..<range.upperBound : range.lowerBound..<middle
            }
            return range.lowerBound
        }
    }

    private var lines: [Key: Line] = [:]
    private var keys: [UInt64: Key] = [:]
    private var last: UInt64 = 0

    /// Returns its number, which is not 0.
    mutating func add(_ content: Content, nameHash: Int?, sender: UInt) -> UInt64 {
        last += 1
        let key = Key(hash: nameHash, sender: sender)
        keys[last] = key
        lines[key, default: Line()].observers.append(Observer(last, content))
        return last
    }

    /// Nil if it was removed before.
    mutating func remove(_ number: UInt64) -> Content? {
        guard let key = keys.removeValue(forKey: number), var line = lines.removeValue(forKey: key) else { return nil }
        let content = line.observers[line.index(of: number)].content.take()
        line.cancelled += 1
        // Not each time: that many who come and go together would take the square of their number.
        if line.cancelled * 2 > line.observers.count {
            line.observers.removeAll { $0.content == nil }
            line.cancelled = 0
        }
        if !line.observers.isEmpty { lines[key] = line }
        return content
    }

    /// Those who may want a notification, in the order in which they were added.
    func candidates(nameHash: Int, sender: UInt) -> [Observer] {
        var found: [Observer] = []
        var isMerged = false
        func take(_ key: Key) {
            guard let line = lines[key] else { return }
            // The usual case: one array, which is not copied.
            if found.isEmpty { return found = line.observers }
            found += line.observers
            isMerged = true
        }
        take(Key(hash: nil, sender: 0))
        take(Key(hash: nameHash, sender: 0))
        if sender != 0 {
            take(Key(hash: nil, sender: sender))
            take(Key(hash: nameHash, sender: sender))
        }
        return isMerged ? found.sorted { $0.number < $1.number } : found
    }
}
