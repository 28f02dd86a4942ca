// SPDX-License-Identifier: Apache-2.0
// Child sources whose closures belong to an actor: see Isolated.swift.

extension GRunLoop.ChildSource {
    /// Creates a child source whose closure belongs to the caller's actor, and is called and released on this actor.
    ///
    /// `isolation` is the caller's actor: pass `self` in an actor, or `#isolation` anywhere. If the actor does not live
    /// on a run loop, the process ends with a message. The closure need not be `@Sendable`.
    ///
    /// The source can be added only to the actor's own loop or, on that loop's thread, to a loop of virtual time. If
    /// the source is added to another loop, the process ends with a message. The source retains the closure and the
    /// actor until the source is invalidated.
    ///
    /// - Throws: ``GRunLoop/SystemError``.
    ///
    /// Threads: the actor's thread. Everything else is as in ``init(pid:handler:)``.
    public convenience init(
        pid: Int32, isolation: isolated any Actor, handler: @escaping (GRunLoop.ChildSource, Outcome) -> Void
    ) throws(GRunLoop.SystemError) {
        let confined = Confined(.descriptor { source, _ in Self.perform(source, handler) }, of: isolation)
        try self.init(pid, confined: confined, confined.descriptorHandler)
    }

    /// Creates a child source whose closure belongs to the main actor, and is called and released on this actor. Write
    /// the closure as `{ @MainActor _, _ in ... }`.
    ///
    /// The source can be added only to the main loop or, on the main actor, to a loop of virtual time. If the source is
    /// added to another loop, the process ends with a message.
    ///
    /// - Throws: ``GRunLoop/SystemError``.
    ///
    /// Threads: any. Everything else is as in ``init(pid:handler:)``.
    public convenience init(
        pid: Int32, isolation: MainActor = .shared,
        handler: @escaping @MainActor (GRunLoop.ChildSource, Outcome) -> Void
    ) throws(GRunLoop.SystemError) {
        let confined = Confined { @MainActor source, _ in Self.perform(source, handler) }
        try self.init(pid, confined: confined, confined.descriptorHandler)
    }
}
