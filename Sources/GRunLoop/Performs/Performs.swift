// SPDX-License-Identifier: Apache-2.0
// The perform family: closures on a loop's thread, now, later, in order, and taken back by target and key.

extension GRunLoop {
    // MARK: On the loop's thread

    /// Has the closure performed on the loop's thread, in the first of the modes that runs, and wakes the loop. What
    /// was queued is performed in one pass, in order, as far as ``timeSlice`` lets it. An empty list of modes means
    /// never.
    ///
    /// Unlike ``async(inModes:_:)`` it is a source: it keeps its modes from being finished until it was performed,
    /// counts as a handled source, and throws when it can never happen.
    ///
    /// - Throws: ``LoopEndedError`` when the loop's thread has ended. What is queued when it ends is dropped.
    ///
    /// Threads: any. The corresponding Foundation method is `perform(_:on:with:waitUntilDone:modes:)` without waiting.
    public func performOnThread(
        inModes names: [Mode] = [.common], _ body: @escaping @Sendable () -> Void
    ) throws(LoopEndedError) {
        guard !names.isEmpty else { return }
        if Fork.refuses("performOnThread") { throw LoopEndedError() }
        try enqueue(PerformQueue.Request(waits: false, body), modes: Set(names))
    }

    /// Has the closure performed on the loop's thread and waits until that is done. While it waits this thread serves
    /// nothing.
    ///
    /// - Parameters:
    ///   - names: the modes to perform it in. An empty list is an error of the program's, and ends the process, since
    ///     the call would wait forever.
    ///   - body: what is performed.
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws; ``LoopEndedError`` when the loop's thread has ended, or ends before the
    ///   closure was performed.
    ///
    /// Threads: any. On the loop's own, also while that is in virtual time, the closure is performed at once. The
    /// corresponding Foundation method is `perform(_:on:with:waitUntilDone:modes:)`.
    public func performAndWait<Value: Sendable, Failure: Error>(
        inModes names: [Mode] = [.common], _ body: @escaping @Sendable () throws(Failure) -> Value
    ) throws -> Value {
        if names.isEmpty { Log.fatal("performAndWait", "an empty list of modes would wait forever; name a mode") }
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
        // Performs the requests that are queued now. Those that they queue wait for the next pass.
        for _ in 0..<lock.withLock({ performs.count(for: names) }) {
            performNext(names)
            if isSliceSpent() { break }
        }
        // Removes the idle source: it would keep a mode without other items from ever being finished.
        if let idle = lock.withLock({ performs.removeIfIdle(names) }) {
            idle.invalidate()
        } else {
            lock.withLock { performs.source(for: names) }?.signal()
        }
    }

    /// A function of its own, so that what a closure has captured is released before the next one is called.
    private func performNext(_ names: Set<Mode>) {
        guard let request = lock.withLock({ performs.take(for: names) }) else { return }
        guard request.isAwaited, let frame else { return request.perform() }
        frame.called.waiter = request
        request.perform()
        frame.called.waiter = nil
    }

    // MARK: Later

    /// Has the closure performed once, after a delay, in whichever of the modes runs then.
    ///
    /// - Parameters:
    ///   - delay: zero and negative mean as soon as the loop runs such a mode, never at once. 16 years and more mean in
    ///     16 years.
    ///   - names: the modes. An empty list means never.
    ///   - target: with `key`, what ``cancelPerforms(target:key:)`` finds it by. It is retained until the closure was
    ///     performed or cancelled, and may then be let go on the loop's thread, so that it is Sendable; with
    ///     `isolation:` it can be any object of the actor's. Nil: that does not
    ///     find it; ``cancelPerform(_:)`` does.
    ///   - key: see `target`. Nil: it is found by its target alone.
    ///   - body: what is performed.
    /// - Returns: what ``cancelPerform(_:)`` takes. It ignores that of a closure that is never to be performed: with an
    ///   empty list of modes, from another thread, of a loop whose thread has ended.
    ///
    /// Threads: the loop's own; from another thread it is logged and ignored. The corresponding Foundation method is
    /// `perform(_:with:afterDelay:inModes:)`.
    @discardableResult public func perform(
        after delay: Duration, inModes names: [Mode] = [.default], target: (any AnyObject & Sendable)? = nil,
        key: (any Hashable & Sendable)? = nil, _ body: @escaping @Sendable () -> Void
    ) -> DelayedPerform {
        perform(after: delay, names, cancelledBy: .init(target, key), heldBy: target, body)
    }

    /// Has the closure performed once, after a delay, in the default mode: the quickest way to have something done
    /// later. ``perform(after:inModes:target:key:_:)`` names other modes, or a target to cancel by.
    ///
    /// - Parameters:
    ///   - delay: zero and negative mean as soon as the loop runs the default mode, never at once. 16 years and more
    ///     mean in 16 years.
    ///   - body: what is performed. It is let go when it was performed or cancelled, or when the loop's thread ends.
    /// - Returns: what ``cancelPerform(_:)`` takes.
    ///
    /// Threads: the loop's own; from another thread it is logged and ignored. The corresponding Foundation method is
    /// `perform(_:with:afterDelay:)`.
    @discardableResult public func perform(
        after delay: Duration, _ body: consuming @escaping @Sendable () -> Void
    ) -> DelayedPerform {
        guard canPerformLater() else { return .none }
        return addPerform(at: time.addingSaturating(Nanoseconds(ahead: delay)), body)
    }

    func perform(
        after delay: Duration, _ names: [Mode], cancelledBy name: @autoclosure () -> Cancellables.Name?,
        heldBy holder: (any AnyObject & Sendable)?, _ body: @escaping @Sendable () -> Void
    ) -> DelayedPerform {
        guard canPerformLater() else { return .none }
        // Before anything is added, because it calls code of the program.
        let name = name()
        let perform = addPerform(at: time.addingSaturating(Nanoseconds(ahead: delay)), inModes: names, body)
        if perform != .none, let name { cancellables.add(perform, name, heldBy: holder) }
        return perform
    }

    @inline(__always) private func canPerformLater() -> Bool {
        !Fork.refuses("perform(after:)") && requireOwnThread("perform(after:)")
    }

    /// Takes back a closure that ``perform(after:_:)`` or one of its kin has not performed yet.
    ///
    /// - Parameter perform: what that has returned. That of another loop is ignored.
    /// - Returns: whether it was taken back; false if it was performed, is being performed, or was cancelled, however
    ///   long ago that was.
    ///
    /// Threads: the loop's own; from another thread it is logged and ignored. The corresponding GLib function is
    /// `g_source_remove`.
    @discardableResult public func cancelPerform(_ perform: DelayedPerform) -> Bool {
        guard !Fork.refuses("cancelPerform"), requireOwnThread("cancelPerform") else { return false }
        let wasThere = removePerform(perform)
        if !cancellables.isEmpty { letGoOfTarget(of: perform) }
        return wasThere
    }

    @inline(never) private func letGoOfTarget(of perform: DelayedPerform) {
        _ = cancellables.remove(perform)
    }

    /// Has the closure performed once, at the start of the next pass in one of the modes. It does not wake the loop.
    ///
    /// - Parameters:
    ///   - order: lower ones are performed first; equal ones in the order of these calls.
    ///   - names: the modes. An empty list means never.
    ///   - target: with `key`, what ``cancelPerforms(target:key:)`` finds it by. It is retained until the closure was
    ///     performed or cancelled, and may then be let go on the loop's thread, so that it is Sendable; with
    ///     `isolation:` it can be any object of the actor's. Nil: it cannot be cancelled.
    ///   - key: see `target`. Nil: it is found by its target alone.
    ///   - body: what is performed.
    ///
    /// Threads: the loop's own; from another thread it is logged and ignored. The corresponding Foundation method is
    /// `RunLoop.perform(_:target:argument:order:modes:)`.
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
        // Before anything is added, because it calls code of the program.
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

    /// Takes back what ``perform(after:inModes:target:key:_:)`` and ``perform(order:inModes:target:key:_:)`` of this
    /// loop have not performed yet. What other threads have queued stays.
    ///
    /// - Parameters:
    ///   - target: whose performs are taken back.
    ///   - key: nil means everything of the target, else what has also an equal key.
    ///
    /// Threads: the loop's own; from another thread it is logged and ignored. The corresponding Foundation methods are
    /// `cancelPreviousPerformRequests(withTarget:selector:object:)` and `RunLoop.cancelPerformSelectors(withTarget:)`.
    public func cancelPerforms(target: AnyObject, key: (any Hashable & Sendable)? = nil) {
        guard !Fork.refuses("cancelPerforms"), requireOwnThread("cancelPerforms") else { return }
        if let wanted = Cancellables.Name(target, key) { takeBack(wanted) }
    }

    /// Cancels those that the name means, in the order in which they were added.
    func takeBack(_ wanted: Cancellables.Name) {
        // Of a copy: comparing keys calls the user's code, which may add and cancel others.
        for (number, name) in cancellables.candidates(for: wanted) where name.isMeant(by: wanted) {
            guard let removed = cancellables.remove(number) else { continue }
            removed.source?.invalidate()
            if let perform = removed.perform { removePerform(perform) }
        }
    }
}

extension Cancellables.Name {
    /// Nil without a target. Calls the program's code.
    init?(_ target: AnyObject?, _ key: (any Hashable & Sendable)?) {
        guard let target else { return nil }
        self.init(.object(ObjectIdentifier(target)), key: key.map { AnyHashable($0) })
    }
}

/// The outcome for the waiting thread. Written before that thread is woken, read afterwards.
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
