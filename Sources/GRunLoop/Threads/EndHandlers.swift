// SPDX-License-Identifier: Apache-2.0
// Closures that are called before a loop ends with its thread.

import CGRun

/// The end handlers of a loop. Guarded by its lock; a closure that is taken out is called or released after the lock.
struct EndHandlers {
    typealias Body = @Sendable () -> Void

    private struct Entry {
        let id: UInt64
        /// Nil if it was removed.
        var body: Body?
    }

    /// In the order of their ids, without a gap at the end.
    private var entries: [Entry] = []
    private var gaps = 0
    private var lastID: UInt64
    private var isClosed = false

    /// - Parameter lastID: for tests: the id of the last handler that was added before.
    init(lastID: UInt64 = 0) { self.lastID = lastID }

    /// Nil if handlers are not called any more.
    mutating func add(_ body: @escaping Body) -> UInt64? {
        if isClosed { return nil }
        lastID += 1
        entries.append(Entry(id: lastID, body: body))
        return lastID
    }

    mutating func remove(_ id: UInt64) -> Body? {
        guard let index = index(of: id), let body = entries[index].body.take() else { return nil }
        gaps += 1
        dropGaps()
        return body
    }

    mutating func takeLast() -> Body? {
        guard let last = entries.popLast() else { return nil }
        dropGaps()
        return last.body
    }

    /// Whether no handler is left: then none can be added from now on.
    mutating func closeIfEmpty() -> Bool {
        isClosed = entries.isEmpty
        return isClosed
    }

    private mutating func dropGaps() {
        while let last = entries.last, last.body == nil {
            entries.removeLast()
            gaps -= 1
        }
        defer { checkInvariants() }
        // Not at each removal: of many operations in flight, the first to begin is often the first to end.
        guard gaps > entries.count / 2 else { return }
        entries.removeAll { $0.body == nil }
        gaps = 0
    }

    /// In debug builds: the gaps are counted, and none is at the end.
    @inline(__always) private func checkInvariants() {
        #if DEBUG
            invariant(entries.last.map { $0.body != nil } ?? true, "handlers end without a gap")
            guard entries.count <= Invariant.few else { return }
            invariant(entries.count(where: { $0.body == nil }) == gaps, "gaps are counted")
            invariant(zip(entries, entries.dropFirst()).allSatisfy { $0.id < $1.id }, "handlers are in order")
        #endif
    }

    private func index(of id: UInt64) -> Int? {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].id == id ? low : nil
    }
}

extension GRunLoop {
    /// What ``GRunLoop/addEndHandler(_:)`` has added, to be taken back.
    ///
    /// The loop keeps the closure, not this: letting go of it takes nothing back.
    public struct EndHandler: Sendable {
        let id: UInt64
        private let loop: GRunLoop

        fileprivate init(id: UInt64, of loop: GRunLoop) {
            self.id = id
            self.loop = loop
        }

        /// Takes the closure back, and lets it go.
        ///
        /// An operation whose completion calls this, and goes on only where this returns true, ends exactly once: by
        /// its completion or by the closure, whichever comes first.
        ///
        /// - Returns: true if it was not called, and never is. False if it was taken back before, or the ending thread
        ///   has it: it was called, is being called or will be at once.
        ///
        /// Threads: any.
        @discardableResult public func remove() -> Bool {
            loop.removeEndHandler(id)
        }
    }

    /// Has the closure called once, on the loop's thread, when that thread ends.
    ///
    /// It is for what waits outside the loop's own items, like an operation of GIO's that can complete no more.
    ///
    /// ```swift
    /// try await withCheckedThrowingContinuation { continuation in
    ///     let ending = try? loop.addEndHandler { continuation.resume(throwing: GRunLoop.LoopEndedError()) }
    ///     guard let ending else { return continuation.resume(throwing: GRunLoop.LoopEndedError()) }
    ///     start { result in if ending.remove() { continuation.resume(returning: result) } }
    /// }
    /// ```
    ///
    /// The last one that was added is called first, as with `atexit`. Nothing of the loop has been taken down then: its
    /// items are there, it can be run, and more may be added, which are called next. Afterwards each task that awaits
    /// the loop is told, and its ``executor``'s jobs are run for the last time and closed, those of the tasks that a
    /// handler has resumed among them. **A continuation takes an actor's task there only if the task prefers the loop's
    /// executor** (`withTaskExecutorPreference`): otherwise Swift's runtime resumes it on a thread of its own first,
    /// from where it comes back too late.
    ///
    /// It is called when the thread returns from its main function or calls `pthread_exit`, before the destructors of
    /// thread-specific data have finished; at the end of ``withVirtualTime(from:_:)`` for a loop of that; not when the
    /// process exits, and not in a child after `fork()`.
    ///
    /// - Returns: what takes the closure back.
    /// - Throws: ``LoopEndedError`` when the loop's thread has ended, or has called its last handler.
    ///
    /// Threads: any. There is no corresponding Core Foundation function.
    @discardableResult public func addEndHandler(_ body: @escaping @Sendable () -> Void) throws(LoopEndedError)
        -> EndHandler
    {
        guard !refuses("addEndHandler"), let id = lock.withLock({ endHandlers.add(body) }) else {
            throw LoopEndedError()
        }
        return EndHandler(id: id, of: self)
    }

    func removeEndHandler(_ id: UInt64) -> Bool {
        if Fork.isChild { return false }
        return lock.withLock { endHandlers.remove(id) } != nil
    }
}
