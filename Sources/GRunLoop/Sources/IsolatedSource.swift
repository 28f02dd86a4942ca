// SPDX-License-Identifier: Apache-2.0
// Sources whose closures belong to an actor: see Isolated.swift.

extension GRunLoop.Source {
    /// A source whose closure belongs to the actor that the caller is on, and is called and let go there.
    ///
    /// Only the actor's own loop takes it, and a loop of virtual time on its thread: adding it to another ends the
    /// process, with a message. It holds the actor until it is invalidated, which also lets its closure go.
    ///
    /// That actor is `isolation`: `self` in an actor, `#isolation` anywhere. It must live on a run loop: one that does
    /// not ends the process, with a message. The closure need not be `@Sendable`.
    ///
    /// Threads: the actor's. Otherwise it is ``init(order:schedule:cancel:perform:)``.
    public convenience init(
        order: Int = 0,
        schedule: (@Sendable (GRunLoop, GRunLoop.Mode) -> Void)? = nil,
        cancel: (@Sendable (GRunLoop, GRunLoop.Mode) -> Void)? = nil,
        isolation: isolated any Actor, perform: @escaping () -> Void
    ) {
        let confined = Confined(.block(perform), of: isolation)
        self.init(order, schedule, cancel, confined: confined, confined.block)
    }

    /// A source whose closure belongs to the main actor, and is called and let go there: one that is written as
    /// `{ @MainActor in ... }`.
    ///
    /// Only the main loop takes it, and a loop of virtual time on the main actor: adding it to another ends the
    /// process, with a message.
    ///
    /// Threads: any. Otherwise it is ``init(order:schedule:cancel:perform:)``.
    public convenience init(
        order: Int = 0,
        schedule: (@Sendable (GRunLoop, GRunLoop.Mode) -> Void)? = nil,
        cancel: (@Sendable (GRunLoop, GRunLoop.Mode) -> Void)? = nil,
        isolation: MainActor = .shared, perform: @escaping @MainActor () -> Void
    ) {
        let confined = Confined(onMainActor: .block(unsafeBitCast(perform, to: ConfinedClosure.Block.self)))
        self.init(order, schedule, cancel, confined: confined, confined.block)
    }
}
