// SPDX-License-Identifier: Apache-2.0
// Who is called when a notification is posted.

extension GRunLoop.NotificationQueue {
    /// Has the closure called with each notification that is posted, on the loop's thread.
    ///
    /// One that is added while a notification is posted is called from the next one on.
    ///
    /// - Parameters:
    ///   - name: which notifications. Nil: those of every name.
    ///   - sender: whose, kept as long as the closure. Nil: those of every sender, and of none.
    ///   - body: called with the notification. It may enqueue, dequeue, cancel, and run the loop.
    /// - Returns: what keeps the closure: letting go of it cancels.
    ///
    /// Threads: any. The corresponding Foundation method is
    /// `NotificationCenter.addObserver(forName:object:queue:using:)`.
    public func observe(
        _ name: Name? = nil, sender: (any AnyObject & Sendable)? = nil,
        _ body: @escaping @Sendable (GRunLoop.Notification<Name, Payload>) -> Void
    ) -> GRunLoop.Observation {
        guard !Fork.refuses("NotificationQueue.observe") else { return GRunLoop.Observation {} }
        let number = core.addObserver(name, sender, address(of: sender), body)
        // Weakly: who observes does not keep what it observes, and the closure goes with that.
        return GRunLoop.Observation { [weak core] in _ = core?.removeObserver(number) }
    }

    /// The same with a closure that belongs to the actor that the caller is on, which must live on the queue's loop:
    /// otherwise the process ends, with a message. It is called and let go there, and need not be `@Sendable`. It holds
    /// the actor until it is cancelled.
    ///
    /// Threads: the actor's. Otherwise it is ``observe(_:sender:_:)``.
    public func observe(
        _ name: Name? = nil, sender: (any AnyObject & Sendable)? = nil, isolation: isolated any Actor,
        _ body: @escaping (GRunLoop.Notification<Name, Payload>) -> Void
    ) -> GRunLoop.Observation {
        guard !Fork.refuses("NotificationQueue.observe") else { return GRunLoop.Observation {} }
        let posted = Posted()
        return observe(name, sender, posted, Confined(.block { posted.take(body) }, of: isolation))
    }

    /// The same with a closure that belongs to the main actor: one that is written as `{ @MainActor notification in ...
    /// }`. With another loop than the main one the process ends, with a message.
    ///
    /// Threads: any. Otherwise it is ``observe(_:sender:_:)``.
    public func observe(
        _ name: Name? = nil, sender: (any AnyObject & Sendable)? = nil, isolation: MainActor = .shared,
        _ body: @escaping @MainActor (GRunLoop.Notification<Name, Payload>) -> Void
    ) -> GRunLoop.Observation {
        guard !Fork.refuses("NotificationQueue.observe") else { return GRunLoop.Observation {} }
        let posted = Posted()
        let call = unsafeBitCast(body, to: ((GRunLoop.Notification<Name, Payload>) -> Void).self)
        return observe(name, sender, posted, Confined(onMainActor: .block { posted.take(call) }))
    }

    private func observe(
        _ name: Name?, _ sender: (any AnyObject & Sendable)?, _ posted: Posted, _ confined: Confined
    ) -> GRunLoop.Observation {
        confined.home.belonging.require(loop, for: "observation of a NotificationQueue")
        return observe(name, sender: sender) { @Sendable notification in
            posted.notification = notification
            confined.block()
        }
    }

    /// What a closure of an actor's is to be called with: on the loop's thread, from the call to the closure's first
    /// line.
    private final class Posted: @unchecked Sendable {
        var notification: GRunLoop.Notification<Name, Payload>?

        func take(_ body: (GRunLoop.Notification<Name, Payload>) -> Void) {
            if let notification = notification.take() { body(notification) }
        }
    }
}

extension GRunLoop {
    /// Who observes a ``NotificationQueue``, as long as this is kept.
    ///
    /// Threads: any. The corresponding Foundation type is the `NSObjectProtocol` that
    /// `NotificationCenter.addObserver(forName:object:queue:using:)` returns.
    public final class Observation: Sendable {
        private let end: @Sendable () -> Void

        init(_ end: @escaping @Sendable () -> Void) { self.end = end }

        deinit { cancel() }

        /// Lets go of the closure: it is not called any more, not even for a notification that is being posted to
        /// others before it. On another thread than the loop's it may be called once more meanwhile. The second time it
        /// does nothing.
        ///
        /// Threads: any. The corresponding Foundation method is `NotificationCenter.removeObserver(_:)`.
        public func cancel() {
            guard !Fork.isChild else { return }
            end()
        }
    }
}
