// SPDX-License-Identifier: Apache-2.0
// Signal sources whose closures belong to an actor: see Isolated.swift.

extension GRunLoop.SignalSource {
    /// A signal source whose closure belongs to the actor that the caller is on, and is called and let go there.
    ///
    /// Only the actor's own loop takes it, and a loop of virtual time on its thread: adding it to another ends the
    /// process, with a message. It holds the actor until it is invalidated, which also lets its closure go.
    ///
    /// That actor is `isolation`: `self` in an actor, `#isolation` anywhere. It must live on a run loop: one that does
    /// not ends the process, with a message. The closure need not be `@Sendable`.
    ///
    /// - Throws: ``GRunLoop/SignalError``.
    ///
    /// Threads: the actor's. Otherwise it is ``init(_:replacing:handler:)``.
    public convenience init(
        _ signal: Int32, replacing: Bool = false,
        isolation: isolated any Actor, handler: @escaping (GRunLoop.SignalSource, Int) -> Void
    ) throws(GRunLoop.SignalError) {
        let confined = Confined(.descriptor { source, _ in Self.perform(source, handler) }, of: isolation)
        try self.init(signal, replacing, confined: confined, confined.descriptorHandler)
    }

    /// A signal source whose closure belongs to the main actor, and is called and let go there: one that is written as
    /// `{ @MainActor _, _ in ... }`.
    ///
    /// Only the main loop takes it, and a loop of virtual time on the main actor: adding it to another ends the
    /// process, with a message.
    ///
    /// - Throws: ``GRunLoop/SignalError``.
    ///
    /// Threads: any. Otherwise it is ``init(_:replacing:handler:)``.
    public convenience init(
        _ signal: Int32, replacing: Bool = false,
        isolation: MainActor = .shared, handler: @escaping @MainActor (GRunLoop.SignalSource, Int) -> Void
    ) throws(GRunLoop.SignalError) {
        let call = unsafeBitCast(handler, to: ((GRunLoop.SignalSource, Int) -> Void).self)
        let confined = Confined(onMainActor: .descriptor { source, _ in Self.perform(source, call) })
        try self.init(signal, replacing, confined: confined, confined.descriptorHandler)
    }
}
