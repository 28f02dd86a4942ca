// SPDX-License-Identifier: Apache-2.0
// The observers of a notification queue.

/// The observers of a queue, found by name and sender, so that posting does not visit every observer. Guarded by the
/// queue's lock. This table compares only the hashes of names. The caller compares the names without the lock, because
/// the comparison runs user code.
struct NotificationObservers<Name: Hashable & Sendable, Payload: Sendable> {
    typealias Notification = GRunLoop.Notification<Name, Payload>

    struct Content {
        let name: Name?
        let body: @Sendable (Notification) -> Void
        /// The sender is retained. Otherwise another object could get the sender's address.
        let sender: (any AnyObject & Sendable)?
    }

    final class Observer {
        let number: UInt64
        /// Nil after the observer was cancelled. The caller must release the content without the lock.
        var content: Content?

        init(_ number: UInt64, _ content: Content) {
            self.number = number
            self.content = content
        }
    }

    /// Selects the notifications that an observer receives.
    private struct Key: Hashable {
        /// The hash of the name; nil means every name.
        let hash: Int?
        /// The address of the sender; 0 means every sender.
        let sender: UInt
    }

    /// The observers of one key.
    private struct Line {
        /// The observers, in the order in which they were added. Some of them may be cancelled already.
        var observers: [Observer] = []
        var cancelled = 0

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

    /// Adds an observer. Returns its number, which is not 0.
    mutating func add(_ content: Content, nameHash: Int?, sender: UInt) -> UInt64 {
        last += 1
        let key = Key(hash: nameHash, sender: sender)
        keys[last] = key
        lines[key, default: Line()].observers.append(Observer(last, content))
        return last
    }

    mutating func remove(_ number: UInt64) -> Content? {
        guard let key = keys.removeValue(forKey: number), var line = lines.removeValue(forKey: key) else { return nil }
        let content = line.observers[line.index(of: number)].content.take()
        line.cancelled += 1
        // Drops cancelled observers in batches, because dropping them separately would take quadratic time.
        if line.cancelled * 2 > line.observers.count {
            line.observers.removeAll { $0.content == nil }
            line.cancelled = 0
        }
        if !line.observers.isEmpty { lines[key] = line }
        return content
    }

    /// The observers that may want a notification, in the order in which they were added.
    func candidates(nameHash: Int, sender: UInt) -> [Observer] {
        var found: [Observer] = []
        var isMerged = false
        func take(_ key: Key) {
            guard let line = lines[key] else { return }
            // Usually only one line matches, and its array is returned without a copy.
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
