// SPDX-License-Identifier: Apache-2.0
// The connection from an item of a loop to the task that awaits it: a place for one element, and for one waiting task.

/// Delivers elements from an item of a loop to one waiting task. It keeps one element at most, so a slow task costs no
/// memory. A new element is merged with an element that was not taken yet.
///
/// A mailbox is an actor and its own executor. The job of a waiting task is kept here, and the sender of an element
/// runs this job immediately. The job only takes the element; then the task goes on where it came from. A continuation
/// would resume the task on a thread of Swift's runtime, from where the task would have to hop to the loop's thread.
///
/// The loop's item and the mailbox hold each other until ``close(_:)``. If the item is a delayed perform, the
/// mailbox holds only its name.
package actor Mailbox<Element: Sendable>: SerialExecutor, AsyncWaiter {
    private enum Watched {
        case item(any Invalidatable)
        case perform(GRunLoop.PerformName)
    }

    package enum End {
        case done, cancelled, loopEnded
    }

    private nonisolated let loop: GRunLoop
    private nonisolated let merge: @Sendable (Element, Element) -> Element
    private nonisolated let lock = Lock.take()
    // Guarded by the lock.
    private nonisolated(unsafe) var pending: Element?
    private nonisolated(unsafe) var reader: SuspendedJob?
    private nonisolated(unsafe) var watched: Watched?
    private nonisolated(unsafe) var end: End?

    /// - Parameter merge: makes one element from an older and a newer one.
    package init(of loop: GRunLoop, merge: @escaping @Sendable (Element, Element) -> Element) {
        self.loop = loop
        self.merge = merge
    }

    deinit {
        Lock.giveBack(lock)
    }

    /// Why no more elements come; nil while some may.
    package nonisolated var reason: End? { lock.withLock { end } }

    /// The error for a task that waits for a single element, when this element does not come.
    nonisolated var failure: any Error {
        reason == .loopEnded ? GRunLoop.LoopEndedError() : CancellationError()
    }

    /// Connects the mailbox to an item. Call it before the first ``next(isolation:)``; an element may have come
    /// already. The end of the loop closes the mailbox, and closing the mailbox invalidates `item`.
    package nonisolated func open(for item: any Invalidatable) { open(.item(item)) }

    /// Connects the mailbox to a delayed perform. Closing the mailbox cancels the perform.
    nonisolated func open(for perform: GRunLoop.PerformName) { open(.perform(perform)) }

    private nonisolated func open(_ watched: Watched) {
        guard !Fork.refuses("makeAsyncIterator") else { return lock.withLock { end = .loopEnded } }
        // The mailbox joins the waiters first, because closing it removes it from them.
        let isAwaited = loop.lock.withLock { loop.waiters.add(self) }
        let isOpen = lock.withLock { () -> Bool in
            guard end == nil else { return false }
            self.watched = watched
            return true
        }
        // Another thread has closed the mailbox already, and did not know the item.
        if !isOpen { letGo(of: watched) } else if !isAwaited { close(.loopEnded) }
    }

    /// Delivers an element. Called from the item's closure.
    package nonisolated func send(_ element: Element) {
        let waiting = lock.withLock { () -> SuspendedJob? in
            guard end == nil else { return nil }
            pending = pending.map { merge($0, element) } ?? element
            return reader.take()
        }
        waiting?.run(on: self)
    }

    /// Returns the next element; nil if there will be none. Cancelling the task closes the mailbox immediately. The
    /// task is not suspended if an element is there.
    package func next(isolation: isolated (any Actor)?) async -> Element? {
        if Fork.isChild { return nil }
        if !Task.isCancelled, isDecided { return takePending() }
        return await withTaskCancellationHandler {
            // Captured, so that the closure stays on the caller's executor.
            _ = isolation
            return await receive()
        } onCancel: {
            close(.cancelled)
        }
    }

    /// Takes the element. It is a job of the mailbox, which runs once there is an element or an end.
    private func receive() -> Element? { takePending() }

    private nonisolated var isDecided: Bool { lock.withLock { isDecidedLocked } }
    private nonisolated var isDecidedLocked: Bool { pending != nil || end != nil }

    private nonisolated func takePending() -> Element? { lock.withLock { pending.take() } }

    // MARK: The executor of the waiting task

    package nonisolated var unownedExecutor: UnownedSerialExecutor { asUnownedSerialExecutor() }

    package nonisolated func enqueue(_ job: consuming ExecutorJob) {
        let job = SuspendedJob(UnownedJob(job))
        let mustWait = lock.withLock { () -> Bool in
            if isDecidedLocked { return false }
            guard reader == nil else {
                Log.fatal(
                    "two tasks await the next element of one iterator; give each its own, by makeAsyncIterator()")
            }
            reader = job
            return true
        }
        if !mustWait { job.run(on: self) }
    }

    // MARK: The end

    /// Ends the mailbox, removes the item from the loop, and resumes the waiting task. The first reason counts.
    package nonisolated func close(_ reason: End) {
        guard !Fork.isChild else { return }
        // The element is released after the lock, too, because it may hold objects of the program.
        let (waiting, watched, element) = lock.withLock { () -> (SuspendedJob?, Watched?, Element?) in
            guard end == nil else { return (nil, nil, nil) }
            end = reason
            return (reader.take(), self.watched.take(), pending.take())
        }
        withExtendedLifetime(element) {}
        if let watched { letGo(of: watched) }
        if reason == .cancelled { waiting?.enqueue(for: self) } else { waiting?.run(on: self) }
    }

    /// Removes the item from the loop, and the mailbox from the loop's waiters.
    private nonisolated func letGo(of watched: Watched) {
        switch watched {
        case .item(let item): item.invalidate()
        case .perform(let perform): loop.removePerform(perform)
        }
        _ = loop.lock.withLock { loop.waiters.remove(self) }
    }

    package nonisolated func loopHasEnded() {
        close(.loopEnded)
    }
}
