// SPDX-License-Identifier: Apache-2.0
// Functions that call closures on a loop's thread: soon, after a delay or in a given order. Other functions cancel
// these closures.

extension GRunLoop {
    // MARK: On the loop's thread

    /// Calls the closure once on the loop's thread, in the first of the modes that runs, and wakes the loop.
    ///
    /// The caller does not wait for the closure. Each pass calls the closures that are queued for the same modes, in
    /// order, until ``timeSlice`` is used up. If the list of modes is empty, the closure is never called.
    ///
    /// Unlike a block of ``async(inModes:_:)``, the closure has a source. The source keeps its modes from being
    /// finished until the closure was called, and counts as a handled source.
    ///
    /// - Throws: ``LoopEndedError`` if the loop's thread has ended. Closures that are queued when the thread ends are
    ///   dropped.
    ///
    /// Threads: any. The corresponding Foundation method is `perform(_:on:with:waitUntilDone:modes:)` without waiting.
    public func performOnThread(
        inModes names: [Mode] = [.common], _ body: @escaping @Sendable () -> Void
    ) throws(LoopEndedError) {
        guard !names.isEmpty else { return }
        if Fork.refuses("performOnThread") { throw LoopEndedError() }
        try enqueue(PerformQueue.Request(waits: false, body), modes: Set(names))
    }

    /// Calls the closure on the loop's thread, and waits until the closure has returned.
    ///
    /// While it waits, the calling thread serves no loop.
    ///
    /// - Parameters:
    ///   - names: the modes to call the closure in. An empty list ends the process with a message, because the call
    ///     would wait forever.
    ///   - body: the closure to call.
    /// - Returns: the value of the closure.
    /// - Throws: the closure's error, or ``LoopEndedError`` if the loop's thread ends before the closure has returned.
    ///
    /// Threads: any. On the loop's own thread, even in virtual time, the closure is called immediately. The
    /// corresponding Foundation method is `perform(_:on:with:waitUntilDone:modes:)`.
    public func performAndWait<Value: Sendable, Failure: Error>(
        inModes names: [Mode] = [.common], _ body: @escaping @Sendable () throws(Failure) -> Value
    ) throws -> Value {
        if names.isEmpty {
            Log.fatal("performAndWait", "the list of modes is empty, so the call would wait forever; pass a mode")
        }
        if Fork.refuses("performAndWait") { throw LoopEndedError() }
        if isOfThisThread { return try body() }
        let box = ResultBox<Value, Failure>()
        let request = PerformQueue.Request(waits: true) { box.fill(with: body) }
        try enqueue(request, modes: Set(names))
        request.wait()
        guard let outcome = box.outcome else { throw LoopEndedError() }
        return try outcome.get()
    }

    private func enqueue(_ request: PerformQueue.Request, modes names: Set<Mode>) throws(LoopEndedError) {
        let place = lock.withLock {
            performs.append(request, modes: names) {
                Source { [weak self] in self?.performQueued(names) }
            }
        }
        guard let place else { throw LoopEndedError() }
        if place.isNew {
            for name in names { add(place.source, forMode: name) }
        }
        place.source.signal()
        wakeUpEveryRun()
    }

    private func performQueued(_ names: Set<Mode>) {
        // Calls only the closures that are queued now. Closures that are queued meanwhile wait for the next pass.
        for _ in 0..<lock.withLock({ performs.count(for: names) }) {
            performNext(names)
            if endItemOfCallout() { break }
        }
        // Removes the source if no closure is queued, because the source would keep its modes from being finished.
        if let idle = lock.withLock({ performs.removeIfIdle(names) }) {
            idle.invalidate()
        } else {
            lock.withLock { performs.source(for: names) }?.signal()
        }
    }

    /// This is a separate function, so that the captures of one closure are released before the next closure is called.
    private func performNext(_ names: Set<Mode>) {
        guard let request = lock.withLock({ performs.take(for: names) }) else { return }
        guard request.isAwaited, let frame else { return request.perform() }
        frame.called.waiter = request
        request.perform()
        frame.called.waiter = nil
    }

    // MARK: Later

    /// Calls the closure once after a delay, in the first of the modes that runs after the delay.
    ///
    /// - Parameters:
    ///   - delay: how long to wait. Zero and negative values mean as soon as the loop runs one of the modes, but never
    ///     inside this call. 16 years and more mean 16 years.
    ///   - names: the modes. If the list is empty, the closure is never called.
    ///   - target: the object by which ``cancelPerforms(target:key:)`` finds the closure, together with `key`. The
    ///     target is retained until the closure was called or cancelled. Then it may be released on the loop's thread,
    ///     so it must be Sendable. With `isolation:` it can be any object of the actor. If `target` is nil, only
    ///     ``DelayedPerform/cancel()`` can cancel the closure.
    ///   - key: see `target`. If the key is nil, only a cancellation without a key finds the closure.
    ///   - body: the closure to call.
    /// - Returns: the token for ``DelayedPerform/cancel()``. No closure was added if the list of modes is empty, or if
    ///   the loop's thread has ended.
    ///
    /// Threads: the loop's own thread; on another thread the process ends with a message. The corresponding Foundation
    /// method is `perform(_:with:afterDelay:inModes:)`.
    @discardableResult public func perform(
        after delay: Duration, inModes names: [Mode] = [.default], target: (any AnyObject & Sendable)? = nil,
        key: (any Hashable & Sendable)? = nil, _ body: @escaping @Sendable () -> Void
    ) -> DelayedPerform {
        perform(after: delay, names, cancelledBy: .init(target, key), heldBy: target, body)
    }

    /// Calls the closure once after a delay, in the default mode.
    ///
    /// This is the fastest way to call a closure later. For other modes, or for a cancellation by target, call
    /// ``perform(after:inModes:target:key:_:)``.
    ///
    /// - Parameters:
    ///   - delay: how long to wait. Zero and negative values mean as soon as the loop runs the default mode, but never
    ///     inside this call. 16 years and more mean 16 years.
    ///   - body: the closure to call. The closure is released after it was called or cancelled, or when the loop's
    ///     thread ends.
    /// - Returns: the token for ``DelayedPerform/cancel()``.
    ///
    /// Threads: the loop's own thread; on another thread the process ends with a message. The corresponding Foundation
    /// method is `perform(_:with:afterDelay:)`.
    @discardableResult public func perform(
        after delay: Duration, _ body: consuming @escaping @Sendable () -> Void
    ) -> DelayedPerform {
        guard canPerformLater() else { return DelayedPerform(.none) }
        return DelayedPerform(addPerform(at: time.addingSaturating(Nanoseconds(ahead: delay)), body))
    }

    func perform(
        after delay: Duration, _ names: [Mode], cancelledBy name: @autoclosure () -> Cancellables.Name?,
        heldBy holder: (any AnyObject & Sendable)?, _ body: @escaping @Sendable () -> Void
    ) -> DelayedPerform {
        guard canPerformLater() else { return DelayedPerform(.none) }
        // Hashes the key before anything is added, because hashing runs user code.
        let name = name()
        let perform = addPerform(at: time.addingSaturating(Nanoseconds(ahead: delay)), inModes: names, body)
        guard perform != .none, let name else { return DelayedPerform(perform) }
        cancellables.add(perform, name, heldBy: holder)
        return DelayedPerform(perform, hasTarget: true)
    }

    @inline(__always) func canPerformLater() -> Bool {
        !Fork.refuses("perform(after:)") && requireOwnThread("perform(after:)")
    }

    /// Releases the target of a cancelled perform on the loop's thread, because only that thread may use the table of
    /// targets. Threads: any.
    @inline(never) func releaseTarget(of perform: PerformName) {
        if isOfThisThread {
            _ = cancellables.remove(perform)
        } else {
            asyncInEveryMode { [unowned self] in _ = cancellables.remove(perform) }
        }
    }

    /// Calls the closure once, at the start of the next pass in one of the modes. Does not wake the loop.
    ///
    /// - Parameters:
    ///   - order: closures of a lower order are called first. Closures of equal order are called in the order in which
    ///     they were added.
    ///   - names: the modes. If the list is empty, the closure is never called.
    ///   - target: as in ``perform(after:inModes:target:key:_:)``. If the target is nil, the closure cannot be
    ///     cancelled.
    ///   - key: if it is nil, only a cancellation without a key finds the closure.
    ///   - body: the closure to call.
    ///
    /// Threads: the loop's own thread; on another thread the process ends with a message. The corresponding Foundation
    /// method is `RunLoop.perform(_:target:argument:order:modes:)`.
    public func perform(
        order: Int, inModes names: [Mode], target: (any AnyObject & Sendable)? = nil,
        key: (any Hashable & Sendable)? = nil, _ body: @escaping @Sendable () -> Void
    ) {
        perform(order: order, names, cancelledBy: .init(target, key), heldBy: target, body)
    }

    func perform(
        order: Int, _ names: [Mode], cancelledBy name: @autoclosure () -> Cancellables.Name?,
        heldBy holder: (any AnyObject & Sendable)?, _ body: @escaping @Sendable () -> Void
    ) {
        guard !Fork.refuses("perform(order:)"), requireOwnThread("perform(order:)"), !names.isEmpty, !isDead else {
            return
        }
        // Hashes the key before anything is added, because hashing runs user code.
        let name = name()
        let number = cancellables.add(name, heldBy: holder)
        let source = Source(order: order) { [unowned self] in
            let entry = cancellables.remove(number)
            entry?.source?.invalidate()
            body()
        }
        cancellables.setSource(source, of: number)
        for name in Set(names) { add(source, forMode: name) }
        source.signal()
    }

    /// Cancels the closures of a target that were not called yet. They were added by
    /// ``perform(after:inModes:target:key:_:)`` or ``perform(order:inModes:target:key:_:)`` of this loop. Closures of
    /// ``performOnThread(inModes:_:)`` cannot be cancelled.
    ///
    /// - Parameters:
    ///   - target: the target of the closures to cancel.
    ///   - key: if it is nil, all closures of the target are cancelled. Otherwise only the closures with an equal key
    ///     are cancelled.
    ///
    /// Threads: the loop's own thread; on another thread the process ends with a message. The corresponding Foundation
    /// methods are `cancelPreviousPerformRequests(withTarget:selector:object:)` and
    /// `RunLoop.cancelPerformSelectors(withTarget:)`.
    public func cancelPerforms(target: AnyObject, key: (any Hashable & Sendable)? = nil) {
        guard !Fork.refuses("cancelPerforms"), requireOwnThread("cancelPerforms") else { return }
        if let wanted = Cancellables.Name(target, key) { takeBack(wanted) }
    }

    /// Cancels the performs that `wanted` covers, in the order in which they were added.
    func takeBack(_ wanted: Cancellables.Name) {
        // Iterates over a copy, because comparing keys runs user code, which may add and cancel performs.
        for (number, name) in cancellables.candidates(for: wanted) where name.isMeant(by: wanted) {
            guard let removed = cancellables.remove(number) else { continue }
            removed.source?.invalidate()
            if let perform = removed.perform { removePerform(perform) }
        }
    }
}

extension Cancellables.Name {
    /// Returns nil if there is no target. Hashes the key, which runs user code.
    init?(_ target: AnyObject?, _ key: (any Hashable & Sendable)?) {
        guard let target else { return nil }
        self.init(.object(ObjectIdentifier(target)), key: key.map { AnyHashable($0) })
    }
}

/// The outcome of a closure for the waiting thread. The outcome is written before the waiting thread is woken, and read
/// afterwards.
private final class ResultBox<Value: Sendable, Failure: Error>: @unchecked Sendable {
    private(set) var outcome: Result<Value, Failure>?

    func fill(with body: () throws(Failure) -> Value) {
        do throws(Failure) {
            outcome = .success(try body())
        } catch {
            outcome = .failure(error)
        }
    }
}
