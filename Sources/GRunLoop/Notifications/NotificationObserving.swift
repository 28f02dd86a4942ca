// SPDX-License-Identifier: Apache-2.0
// Observing the notifications of a queue.

extension GRunLoop.NotificationQueue {
    /// Calls a closure with each notification of a given name and sender when it is posted, on the loop's thread.
    ///
    /// An observer that is added while a notification is being posted is called from the next notification on.
    ///
    /// - Parameters:
    ///   - name: the name of the notifications. Nil means every name.
    ///   - sender: their sender, which is retained as long as the closure. Nil means every sender, and notifications
    ///     without a sender.
    ///   - body: called with the notification. It may enqueue, dequeue, cancel, and run the loop.
    /// - Returns: a token that keeps the closure. Releasing the token cancels the observation.
    ///
    /// Threads: any. The corresponding Foundation method is
    /// `NotificationCenter.addObserver(forName:object:queue:using:)`.
    public func observe(
        _ name: Name? = nil, sender: (any AnyObject & Sendable)? = nil,
        _ body: @escaping @Sendable (GRunLoop.Notification<Name, Payload>) -> Void
    ) -> GRunLoop.Observation {
        guard !Fork.refuses("NotificationQueue.observe") else { return GRunLoop.Observation {} }
        let number = core.addObserver(name, sender, address(of: sender), body)
        // Weak, because an observation does not keep the queue. The closure is released with the queue.
        return GRunLoop.Observation { [weak core] in _ = core?.removeObserver(number) }
    }

    /// Calls a closure that belongs to the caller's actor. The actor must live on the queue's loop, or that loop must
    /// be a loop of virtual time on the actor's thread. Otherwise the process ends with a message. The closure is
    /// called and released on the actor, and need not be `@Sendable`. The observation holds the actor until it is
    /// cancelled.
    ///
    /// Threads: the actor's. Otherwise it works like ``observe(_:sender:_:)``.
    public func observe(
        _ name: Name? = nil, sender: (any AnyObject & Sendable)? = nil, isolation: isolated any Actor,
        _ body: @escaping (GRunLoop.Notification<Name, Payload>) -> Void
    ) -> GRunLoop.Observation {
        guard !Fork.refuses("NotificationQueue.observe") else { return GRunLoop.Observation {} }
        let posted = Posted()
        return observe(name, sender, posted, Confined(.block { posted.take(body) }, of: isolation))
    }

    /// Calls a closure that belongs to the main actor. Write the closure as `{ @MainActor notification in ... }`. The
    /// process ends with a message if the queue's loop is neither the main loop nor a loop of virtual time on the main
    /// actor.
    ///
    /// Threads: any. Otherwise it works like ``observe(_:sender:_:)``.
    public func observe(
        _ name: Name? = nil, sender: (any AnyObject & Sendable)? = nil, isolation: MainActor = .shared,
        _ body: @escaping @MainActor (GRunLoop.Notification<Name, Payload>) -> Void
    ) -> GRunLoop.Observation {
        guard !Fork.refuses("NotificationQueue.observe") else { return GRunLoop.Observation {} }
        let posted = Posted()
        return observe(name, sender, posted, Confined { @MainActor in posted.take(body) })
    }

    private func observe(
        _ name: Name?, _ sender: (any AnyObject & Sendable)?, _ posted: Posted, _ confined: Confined
    ) -> GRunLoop.Observation {
        confined.home.require(loop, for: "observation of a NotificationQueue")
        return observe(name, sender: sender) { @Sendable notification in
            posted.notification = notification
            confined.block()
        }
    }

    /// Passes the notification to a closure of an actor. Used on the loop's thread only, from the call until the
    /// closure's first line.
    private final class Posted: @unchecked Sendable {
        var notification: GRunLoop.Notification<Name, Payload>?

        func take(_ body: (GRunLoop.Notification<Name, Payload>) -> Void) {
            if let notification = notification.take() { body(notification) }
        }
    }
}

extension GRunLoop {
    /// Keeps an observer of a ``NotificationQueue``: releasing this object cancels the observation.
    ///
    /// Threads: any. The corresponding Foundation type is the `NSObjectProtocol` that
    /// `NotificationCenter.addObserver(forName:object:queue:using:)` returns.
    public final class Observation: Sendable {
        private let end: @Sendable () -> Void

        init(_ end: @escaping @Sendable () -> Void) { self.end = end }

        deinit { cancel() }

        /// Cancels the observation and releases its closure. The closure is not called any more, not even for a
        /// notification that is being posted and has not come to it yet. If this is called on another thread than the
        /// loop's, the closure may be called once more meanwhile. A second call does nothing.
        ///
        /// Threads: any. The corresponding Foundation method is `NotificationCenter.removeObserver(_:)`.
        public func cancel() {
            guard !Fork.isChild else { return }
            end()
        }
    }
}
