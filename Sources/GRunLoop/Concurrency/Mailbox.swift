// SPDX-License-Identifier: Apache-2.0
// How an item of a loop reaches a task that awaits it: one place for the latest element, and one task that waits.

/// What awaits something that a loop does. Told when the loop's thread ends, since nothing will come then.
protocol AsyncWaiter: AnyObject, Sendable {
    func loopHasEnded()
}

/// Those of one loop. Guarded by its lock.
struct AsyncWaiters {
    private var waiting: [ObjectIdentifier: any AsyncWaiter] = [:]
    private var isClosed = false

    /// False if the loop has ended.
    mutating func add(_ waiter: any AsyncWaiter) -> Bool {
        if !isClosed { waiting[ObjectIdentifier(waiter)] = waiter }
        return !isClosed
    }

    /// What it answers is released after the lock.
    mutating func remove(_ waiter: any AsyncWaiter) -> (any AsyncWaiter)? {
        waiting.removeValue(forKey: ObjectIdentifier(waiter))
    }

    mutating func close() -> [any AsyncWaiter] {
        isClosed = true
        defer { waiting = [:] }
        return Array(waiting.values)
    }
}

/// One element at most is kept: what comes before the last one was taken is merged into it, so that a slow task costs no memory.
///
/// The loop's item holds the mailbox, and the mailbox the item, until ``close(_:)``.
final class Mailbox<Element: Sendable>: AsyncWaiter, @unchecked Sendable {
    enum End {
        case done, cancelled, loopEnded
    }

    private let loop: GRunLoop
    private let merge: @Sendable (Element, Element) -> Element
    private let lock = Lock.take()
    // Guarded by the lock.
    private var pending: Element?
    private var task: CheckedContinuation<Element?, Never>?
    private var watched: (any Invalidatable)?
    private var end: End?

    /// - Parameter merge: the element to keep of an older one and a newer.
    init(of loop: GRunLoop, merge: @escaping @Sendable (Element, Element) -> Element) {
        self.loop = loop
        self.merge = merge
    }

    deinit {
        Lock.giveBack(lock)
    }

    /// Why nothing comes any more; nil while something may.
    var reason: End? { lock.withLock { end } }

    /// Before anything else: has it closed when the loop ends. `item` is invalidated when the mailbox is closed.
    func open(for item: any Invalidatable) {
        guard !Fork.refuses("makeAsyncIterator") else { return lock.withLock { end = .loopEnded } }
        let hasEnded = lock.withLock { () -> Bool in
            if end == nil { watched = item }
            return end != nil
        }
        if hasEnded { return item.invalidate() }
        if !loop.lock.withLock({ loop.waiters.add(self) }) { return close(.loopEnded) }
        // Closed meanwhile, by whoever did not find it among the waiters yet.
        if reason != nil { forget() }
    }

    /// From the item's closure.
    func send(_ element: Element) {
        let (waiting, value) = lock.withLock { () -> (CheckedContinuation<Element?, Never>?, Element) in
            guard end == nil else { return (nil, element) }
            let value = pending.map { merge($0, element) } ?? element
            guard let waiting = task else {
                pending = value
                return (nil, value)
            }
            task = nil
            pending = nil
            return (waiting, value)
        }
        waiting?.resume(returning: value)
    }

    /// The next element; nil when there will be none. Being cancelled closes the mailbox, at once.
    nonisolated(nonsending) func next() async -> Element? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { receive($0) }
        } onCancel: {
            close(.cancelled)
        }
    }

    private enum Answer {
        case now(Element?), later, taken
    }

    private func receive(_ continuation: CheckedContinuation<Element?, Never>) {
        if Fork.isChild { return continuation.resume(returning: nil) }
        let answer = lock.withLock { () -> Answer in
            if end != nil { return .now(nil) }
            if let element = pending {
                pending = nil
                return .now(element)
            }
            if task != nil { return .taken }
            task = continuation
            return .later
        }
        switch answer {
        case .now(let element): continuation.resume(returning: element)
        case .later: break
        case .taken:
            fatalError("GRunLoop: two tasks await the next element of one iterator; give each its own, by makeAsyncIterator()")
        }
    }

    /// Nothing comes any more: takes the item out of the loop, and lets the task go that waits. The first reason counts.
    func close(_ reason: End) {
        guard !Fork.isChild else { return }
        let (waiting, item) = lock.withLock { () -> (CheckedContinuation<Element?, Never>?, (any Invalidatable)?) in
            guard end == nil else { return (nil, nil) }
            end = reason
            pending = nil
            defer { (task, watched) = (nil, nil) }
            return (task, watched)
        }
        item?.invalidate()
        if item != nil { forget() }
        waiting?.resume(returning: nil)
    }

    private func forget() {
        _ = loop.lock.withLock { loop.waiters.remove(self) }
    }

    func loopHasEnded() {
        close(.loopEnded)
    }
}
