// SPDX-License-Identifier: Apache-2.0
// Idle work that belongs to an actor: see Isolated.swift.

extension GRunLoop.IdleQueue {
    /// Enqueues a closure that belongs to the caller's actor, and is called and released on this actor.
    ///
    /// `isolation` is that actor: pass `self` in an actor, or `#isolation` anywhere. If the actor does not live on a
    /// run loop, the process ends with a message. When the closure's turn comes, the queue must be in the actor's loop,
    /// or in a loop of virtual time on the same thread. Otherwise the process ends with a message.
    ///
    /// - Returns: false if the queue was invalidated, and in a forked child. The closure is then released.
    ///
    /// Threads: the actor's thread. Everything else is as in ``enqueue(_:)``.
    @discardableResult public func enqueue(isolation: isolated any Actor, _ work: @escaping () -> Void) -> Bool {
        guard !Fork.refuses("IdleQueue.enqueue") else { return false }
        return enqueue(Confined(.block(work), of: isolation).blockOnce)
    }

    /// Enqueues a closure that belongs to the main actor, and is called and released on this actor. Write the closure
    /// as `{ @MainActor in ... }`.
    ///
    /// When the closure's turn comes, the queue must be in the main loop or, on the main actor, in a loop of virtual
    /// time. Otherwise the process ends with a message.
    ///
    /// - Returns: false if the queue was invalidated, and in a forked child. The closure is then released.
    ///
    /// Threads: any. Everything else is as in ``enqueue(_:)``.
    @discardableResult public func enqueue(
        isolation: MainActor = .shared, _ work: @escaping @MainActor () -> Void
    ) -> Bool {
        guard !Fork.refuses("IdleQueue.enqueue") else { return false }
        return enqueue(Confined(onMainActor: work).blockOnce)
    }
}
