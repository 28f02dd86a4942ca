// SPDX-License-Identifier: Apache-2.0
// Signal sources whose closures belong to an actor: see Isolated.swift.

extension GRunLoop.SignalSource {
    /// Creates a signal source whose closure belongs to the caller's actor, and is called and released on this actor.
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
    /// Threads: the actor's thread. Everything else is as in ``init(_:replacing:handler:)``.
    public convenience init(
        _ signal: Int32, replacing: Bool = false,
        isolation: isolated any Actor, handler: @escaping (GRunLoop.SignalSource, Int) -> Void
    ) throws(GRunLoop.SystemError) {
        let confined = Confined(.descriptor { source, _ in Self.perform(source, handler) }, of: isolation)
        try self.init(signal, replacing, confined: confined, confined.descriptorHandler)
    }

    /// Creates a signal source whose closure belongs to the main actor, and is called and released on this actor. Write
    /// the closure as `{ @MainActor _, _ in ... }`.
    ///
    /// The source can be added only to the main loop or, on the main actor, to a loop of virtual time. If the source is
    /// added to another loop, the process ends with a message.
    ///
    /// - Throws: ``GRunLoop/SystemError``.
    ///
    /// Threads: any. Everything else is as in ``init(_:replacing:handler:)``.
    public convenience init(
        _ signal: Int32, replacing: Bool = false,
        isolation: MainActor = .shared, handler: @escaping @MainActor (GRunLoop.SignalSource, Int) -> Void
    ) throws(GRunLoop.SystemError) {
        let confined = Confined { @MainActor source, _ in Self.perform(source, handler) }
        try self.init(signal, replacing, confined: confined, confined.descriptorHandler)
    }
}
