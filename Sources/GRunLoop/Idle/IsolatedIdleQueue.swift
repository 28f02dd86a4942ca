// SPDX-License-Identifier: Apache-2.0
// Idle work that belongs to an actor: see Isolated.swift.

extension GRunLoop.IdleQueue {
    /// Enqueues a closure that belongs to the actor that the caller is on, and is called and let go there.
    ///
    /// That actor is `isolation`: `self` in an actor, `#isolation` anywhere. It must live on the loop that the queue is
    /// in when the closure's turn comes: otherwise the process ends, with a message.
    ///
    /// - Returns: false if the queue was invalidated: then the closure is let go.
    ///
    /// Threads: the actor's. Otherwise it is ``enqueue(_:)``.
    @discardableResult public func enqueue(isolation: isolated any Actor, _ work: @escaping () -> Void) -> Bool {
        guard !Fork.refuses("IdleQueue.enqueue") else { return false }
        return enqueue(Confined(.block(work), of: isolation).blockOnce)
    }

    /// Enqueues a closure that belongs to the main actor, and is called and let go there: one that is written as
    /// `{ @MainActor in ... }`. In a queue of another loop than the main one it ends the process, with a message, when
    /// its turn comes.
    ///
    /// - Returns: false if the queue was invalidated: then the closure is let go.
    ///
    /// Threads: any. Otherwise it is ``enqueue(_:)``.
    @discardableResult public func enqueue(
        isolation: MainActor = .shared, _ work: @escaping @MainActor () -> Void
    ) -> Bool {
        guard !Fork.refuses("IdleQueue.enqueue") else { return false }
        return enqueue(Confined(onMainActor: .block(unsafeBitCast(work, to: ConfinedClosure.Block.self))).blockOnce)
    }
}
