// SPDX-License-Identifier: Apache-2.0
// Child sources whose closures belong to an actor: see Isolated.swift.

extension GRunLoop.ChildSource {
    /// A child source whose closure belongs to the actor that the caller is on, and is called and let go there.
    ///
    /// Only the actor's own loop takes it, and a loop of virtual time on its thread: adding it to another ends the
    /// process, with a message. It holds the actor until it is invalidated, which also lets its closure go.
    ///
    /// That actor is `isolation`: `self` in an actor, `#isolation` anywhere. It must live on a run loop: one that does
    /// not ends the process, with a message. The closure need not be `@Sendable`.
    ///
    /// - Throws: ``GRunLoop/ChildError``.
    ///
    /// Threads: the actor's. Otherwise it is ``init(pid:handler:)``.
    public convenience init(
        pid: Int32, isolation: isolated any Actor, handler: @escaping (GRunLoop.ChildSource, Outcome) -> Void
    ) throws(GRunLoop.ChildError) {
        let confined = Confined(.descriptor { source, _ in Self.perform(source, handler) }, of: isolation)
        try self.init(pid, confined: confined, confined.descriptorHandler)
    }

    /// A child source whose closure belongs to the main actor, and is called and let go there: one that is written as
    /// `{ @MainActor _, _ in ... }`.
    ///
    /// Only the main loop takes it, and a loop of virtual time on the main actor: adding it to another ends the
    /// process, with a message.
    ///
    /// - Throws: ``GRunLoop/ChildError``.
    ///
    /// Threads: any. Otherwise it is ``init(pid:handler:)``.
    public convenience init(
        pid: Int32, isolation: MainActor = .shared,
        handler: @escaping @MainActor (GRunLoop.ChildSource, Outcome) -> Void
    ) throws(GRunLoop.ChildError) {
        let call = unsafeBitCast(handler, to: ((GRunLoop.ChildSource, Outcome) -> Void).self)
        let confined = Confined(onMainActor: .descriptor { source, _ in Self.perform(source, call) })
        try self.init(pid, confined: confined, confined.descriptorHandler)
    }
}
