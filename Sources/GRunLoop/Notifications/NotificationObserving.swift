// SPDX-License-Identifier: Apache-2.0
// Observing the notifications of a queue.

extension GRunLoop.NotificationQueue {
    /// Calls a closure on the loop's thread with each posted notification of a given name and sender.
    ///
    /// An observer that is added while a notification is being posted gets only later notifications.
    ///
    /// - Parameters:
    ///   - name: the name of the notifications. Nil means every name.
    ///   - sender: the sender of the notifications. The sender is retained as long as the closure. Nil means any sender
    ///     or none.
    ///   - body: a closure that is called with each notification. It may enqueue and dequeue notifications, cancel
    ///     observations, and run the loop.
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
        // The reference is weak, because an observation must not keep the queue alive. When the queue is released, the
        // closure is also released.
        return GRunLoop.Observation { [weak core] in _ = core?.removeObserver(number) }
    }

    /// Calls a closure of the caller's actor with each posted notification of a given name and sender.
    ///
    /// The closure need not be `@Sendable`, and is called and released on the actor. The actor must live on the queue's
    /// loop, or that loop must be a loop of virtual time on the actor's thread. Otherwise the process ends with a
    /// message. The observation retains the actor until the observation is cancelled.
    ///
    /// Threads: the actor's thread. Otherwise it works like ``observe(_:sender:_:)``.
    public func observe(
        _ name: Name? = nil, sender: (any AnyObject & Sendable)? = nil, isolation: isolated any Actor,
        _ body: @escaping (GRunLoop.Notification<Name, Payload>) -> Void
    ) -> GRunLoop.Observation {
        guard !Fork.refuses("NotificationQueue.observe") else { return GRunLoop.Observation {} }
        let posted = Posted()
        return observe(name, sender, posted, Confined(.block { posted.take(body) }, of: isolation))
    }

    /// Calls a closure of the main actor with each posted notification of a given name and sender. Write the closure as
    /// `{ @MainActor notification in ... }`.
    ///
    /// The queue's loop must be the main loop, or a loop of virtual time on the main actor. Otherwise the process ends
    /// with a message.
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

    /// Stores the notification for a closure of an actor, because a closure in `ConfinedClosure.block` has no
    /// parameter. Used on the loop's thread only.
    private final class Posted: @unchecked Sendable {
        var notification: GRunLoop.Notification<Name, Payload>?

        func take(_ body: (GRunLoop.Notification<Name, Payload>) -> Void) {
            if let notification = notification.take() { body(notification) }
        }
    }
}

extension GRunLoop {
    /// Keeps an observer of a ``NotificationQueue`` until this object is released.
    ///
    /// Threads: any. The corresponding Foundation type is the `NSObjectProtocol` that
    /// `NotificationCenter.addObserver(forName:object:queue:using:)` returns.
    public final class Observation: Sendable {
        private let end: @Sendable () -> Void

        init(_ end: @escaping @Sendable () -> Void) { self.end = end }

        deinit { cancel() }

        /// Cancels the observation and releases its closure. A second call does nothing.
        ///
        /// The closure is not called any more, even if a notification is being posted. If this method is called on a
        /// thread other than the loop's thread, one call of the closure may still begin.
        ///
        /// Threads: any. The corresponding Foundation method is `NotificationCenter.removeObserver(_:)`.
        public func cancel() {
            guard !Fork.isChild else { return }
            end()
        }
    }
}
