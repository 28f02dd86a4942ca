// SPDX-License-Identifier: Apache-2.0
// Sources whose closures belong to an actor: see Isolated.swift.

extension GRunLoop.Source {
    /// Creates a source whose closure `perform` belongs to the caller's actor, and is called and released on this
    /// actor.
    ///
    /// `isolation` is that actor: pass `self` in an actor, or `#isolation` anywhere. If the actor does not live on a
    /// run loop, the process ends with a message. The closure need not be `@Sendable`.
    ///
    /// The source can be added only to the actor's own loop or, on that loop's thread, to a loop of virtual time. If it
    /// is added to another loop, the process ends with a message. The source retains the closure and the actor until
    /// the source is invalidated.
    ///
    /// Threads: the actor's thread. Everything else is as in ``init(order:schedule:cancel:perform:)``.
    public convenience init(
        order: Int = 0,
        schedule: (@Sendable (GRunLoop, GRunLoop.Mode) -> Void)? = nil,
        cancel: (@Sendable (GRunLoop, GRunLoop.Mode) -> Void)? = nil,
        isolation: isolated any Actor, perform: @escaping () -> Void
    ) {
        let confined = Confined(.block(perform), of: isolation)
        self.init(order, schedule, cancel, confined: confined, confined.block)
    }

    /// Creates a source whose closure `perform` belongs to the main actor, and is called and released on this actor.
    /// Write the closure as `{ @MainActor in ... }`.
    ///
    /// The source can be added only to the main loop or, on the main actor, to a loop of virtual time. If it is added
    /// to another loop, the process ends with a message.
    ///
    /// Threads: any. Everything else is as in ``init(order:schedule:cancel:perform:)``.
    public convenience init(
        order: Int = 0,
        schedule: (@Sendable (GRunLoop, GRunLoop.Mode) -> Void)? = nil,
        cancel: (@Sendable (GRunLoop, GRunLoop.Mode) -> Void)? = nil,
        isolation: MainActor = .shared, perform: @escaping @MainActor () -> Void
    ) {
        let confined = Confined(onMainActor: perform)
        self.init(order, schedule, cancel, confined: confined, confined.block)
    }
}
