// SPDX-License-Identifier: Apache-2.0
// Closures that a loop calls when its thread ends, before the loop itself ends.

import CGRun

/// The end handlers of a loop. Guarded by the loop's lock. The caller must call or release a removed closure without
/// the lock.
struct EndHandlers {
    typealias Body = @Sendable () -> Void

    private struct Entry {
        let id: UInt64
        /// The closure; nil after the handler was removed.
        var body: Body?
    }

    /// Ordered by id. Removed handlers leave gaps, but none at the end.
    private var entries: [Entry] = []
    private var gaps = 0
    private var lastID: UInt64
    private var isClosed = false

    /// - Parameter lastID: the first handler gets the id after this one. Tests set it.
    init(lastID: UInt64 = 0) { self.lastID = lastID }

    /// Adds a handler and returns its id; nil if the loop calls no handlers any more.
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

    /// If no handler is left, returns true, and no handler can be added from then on.
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
        // Other gaps stay until they are more than half of the entries. Dropping each gap immediately would be slow,
        // because programs often remove the oldest handler, and all later entries would move.
        guard gaps > entries.count / 2 else { return }
        entries.removeAll { $0.body == nil }
        gaps = 0
    }

    @inline(__always) private func checkInvariants() {
        #if DEBUG
            invariant(entries.last.map { $0.body != nil } ?? true, "the last entry has a handler")
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
    /// Identifies a closure that ``GRunLoop/addEndHandler(_:)`` has added, so that ``cancel()`` can remove it.
    ///
    /// The loop keeps the closure, even if this value is released.
    public struct EndHandler: Sendable {
        let id: UInt64
        private let loop: GRunLoop

        fileprivate init(id: UInt64, of loop: GRunLoop) {
            self.id = id
            self.loop = loop
        }

        /// Removes the closure from the loop and releases it.
        ///
        /// When an operation completes, call this method, and deliver the result only if the method returns true. Then
        /// the operation ends exactly once: by its completion or by the closure.
        ///
        /// - Returns: true if the closure was not called and never will be. False if the closure was removed before, or
        ///   if it was called, is being called or is about to be called on the ending thread. Always false in a forked
        ///   child.
        ///
        /// Threads: any.
        @discardableResult public func cancel() -> Bool {
            loop.removeEndHandler(id)
        }
    }

    /// Adds a closure that is called once, on the loop's thread, when that thread ends.
    ///
    /// Use such a closure to end operations that the loop does not know, such as an operation of GIO that can no longer
    /// complete.
    ///
    /// ```swift
    /// try await withCheckedThrowingContinuation { continuation in
    ///     let ending = try? loop.addEndHandler { continuation.resume(throwing: GRunLoop.LoopEndedError()) }
    ///     guard let ending else { return continuation.resume(throwing: GRunLoop.LoopEndedError()) }
    ///     start { result in if ending.cancel() { continuation.resume(returning: result) } }
    /// }
    /// ```
    ///
    /// The handler that was added last is called first, as with `atexit`. During these calls the loop still has its
    /// items, and a handler can run the loop. A handler can add handlers, which are called next. Afterwards each task
    /// that awaits the loop is resumed. Then the loop's ``executor`` runs the last jobs, including the jobs of tasks
    /// that a handler has resumed.
    ///
    /// **A continuation resumes an actor's task in these last jobs only if the task prefers the loop's executor**
    /// (`withTaskExecutorPreference`). Otherwise Swift's runtime first resumes the task on another thread, and the task
    /// comes back too late.
    ///
    /// The closure is called when the thread returns from its main function or calls `pthread_exit`, before the
    /// destructors of thread-specific data have finished. For a loop of virtual time, the closure is called at the end
    /// of ``withVirtualTime(from:_:)``. The closure is not called when the process exits, nor in a child after
    /// `fork()`.
    ///
    /// - Returns: the token with which ``EndHandler/cancel()`` removes the closure.
    /// - Throws: ``LoopEndedError`` if the loop's thread has ended, or has called its last handler.
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
