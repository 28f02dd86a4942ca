// SPDX-License-Identifier: Apache-2.0
// Passes elements from an item of a loop to a waiting task.

/// Delivers elements from an item of a loop to one waiting task. A mailbox merges a new element with an element that
/// the task has not taken yet. So elements do not pile up if the task is slow.
///
/// A mailbox is an actor and its own executor, so it can keep the job of the waiting task. The thread that sends an
/// element runs this job immediately. The job only takes the element, and then the task continues on its own executor.
/// With a continuation, the task would first resume on Swift's thread pool, and would have to switch to the loop's
/// thread from there.
///
/// The item and the mailbox retain each other until ``close(_:)``. If the item is a delayed perform, the mailbox stores
/// only the perform's name.
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

    /// - Parameter merge: merges an older and a newer element into one.
    package init(of loop: GRunLoop, merge: @escaping @Sendable (Element, Element) -> Element) {
        self.loop = loop
        self.merge = merge
    }

    deinit {
        Lock.giveBack(lock)
    }

    /// The reason why the mailbox was closed; nil while it is open.
    package nonisolated var reason: End? { lock.withLock { end } }

    /// The error for a task that waits for a single element, if the mailbox is closed before that element comes.
    nonisolated var failure: any Error {
        reason == .loopEnded ? GRunLoop.LoopEndedError() : CancellationError()
    }

    /// Connects the mailbox to an item. Call this function before the first call of ``next(isolation:)``. The item may
    /// already have sent elements. The end of the loop closes the mailbox, and closing the mailbox invalidates `item`.
    package nonisolated func open(for item: any Invalidatable) { open(.item(item)) }

    /// Connects the mailbox to a delayed perform. Closing the mailbox cancels the perform.
    nonisolated func open(for perform: GRunLoop.PerformName) { open(.perform(perform)) }

    private nonisolated func open(_ watched: Watched) {
        guard !Fork.refuses("makeAsyncIterator") else { return lock.withLock { end = .loopEnded } }
        // Adds the mailbox to the loop's waiters first. If another thread could close the mailbox before that, nothing
        // would remove the mailbox from the waiters afterwards.
        let isAwaited = loop.addWaiter(self)
        let isOpen = lock.withLock { () -> Bool in
            guard end == nil else { return false }
            self.watched = watched
            return true
        }
        // If another thread closed the mailbox before the item was stored, the item is removed from the loop here.
        if !isOpen { letGo(of: watched) } else if !isAwaited { close(.loopEnded) }
    }

    /// Delivers an element. Called by the item's closure.
    package nonisolated func send(_ element: Element) {
        let waiting = lock.withLock { () -> SuspendedJob? in
            guard end == nil else { return nil }
            pending = pending.map { merge($0, element) } ?? element
            return reader.take()
        }
        waiting?.run(on: self)
    }

    /// Returns the next element; nil if the mailbox is closed. If an element is there already, the task is not
    /// suspended. Cancelling the task closes the mailbox immediately.
    package func next(isolation: isolated (any Actor)?) async -> Element? {
        if Fork.isChild { return nil }
        if !Task.isCancelled, isDecided { return takePending() }
        return await withTaskCancellationHandler {
            // This capture keeps the closure on the caller's executor.
            _ = isolation
            return await receive()
        } onCancel: {
            close(.cancelled)
        }
    }

    /// Runs as a job of the mailbox when an element was sent or the mailbox was closed.
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
                    "two tasks await the next element of one iterator or sequence; make an iterator for each task, "
                        + "and a sequence for each task if only one task may iterate the sequence")
            }
            reader = job
            return true
        }
        if !mustWait { job.run(on: self) }
    }

    // MARK: The end

    /// Closes the mailbox. The first call removes the item from the loop and resumes the waiting task; later calls do
    /// nothing.
    package nonisolated func close(_ reason: End) {
        guard !Fork.isChild else { return }
        // Also takes the pending element, and releases it after unlocking, because the element's deinit may be user
        // code.
        let (waiting, watched, element) = lock.withLock { () -> (SuspendedJob?, Watched?, Element?) in
            guard end == nil else { return (nil, nil, nil) }
            end = reason
            return (reader.take(), self.watched.take(), pending.take())
        }
        withExtendedLifetime(element) {}
        if let watched { letGo(of: watched) }
        if reason == .cancelled { waiting?.enqueue(for: self) } else { waiting?.run(on: self) }
    }

    private nonisolated func letGo(of watched: Watched) {
        switch watched {
        case .item(let item): item.invalidate()
        case .perform(let perform): loop.removePerform(perform)
        }
        _ = loop.removeWaiter(self)
    }

    package nonisolated func loopHasEnded() {
        close(.loopEnded)
    }
}
