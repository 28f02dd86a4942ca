// SPDX-License-Identifier: Apache-2.0
// Message ports whose handlers belong to an actor: see Isolated.swift.

extension GRunLoop.MessagePort {
    /// A port whose handler belongs to the actor that the caller is on, and is called and let go there.
    ///
    /// Only the actor's own loop takes it, and a loop of virtual time on its thread: adding it to another ends the
    /// process, with a message. It holds the actor until it is invalidated.
    ///
    /// That actor is `isolation`: `self` in an actor, `#isolation` anywhere. It must live on a run loop: one that does
    /// not ends the process, with a message. The handler need not be `@Sendable`.
    ///
    /// - Throws: ``GRunLoop/MessagePortError``.
    ///
    /// Threads: the actor's. Otherwise it is ``init(_:handler:)``.
    public convenience init(
        _ name: String?, isolation: isolated any Actor, handler: @escaping (Message) -> Void
    ) throws(GRunLoop.MessagePortError) {
        let confined = Confined(.descriptor { source, _ in Self.perform(source, handler) }, of: isolation)
        try self.init(name, confined: confined, confined.descriptorHandler)
    }

    /// A port whose handler belongs to the main actor, and is called and let go there: one that is written as
    /// `{ @MainActor message in ... }`.
    ///
    /// Only the main loop takes it, and a loop of virtual time on the main actor: adding it to another ends the
    /// process, with a message.
    ///
    /// - Throws: ``GRunLoop/MessagePortError``.
    ///
    /// Threads: any. Otherwise it is ``init(_:handler:)``.
    public convenience init(
        _ name: String?, isolation: MainActor = .shared, handler: @escaping @MainActor (Message) -> Void
    ) throws(GRunLoop.MessagePortError) {
        let call = unsafeBitCast(handler, to: ((Message) -> Void).self)
        let confined = Confined(onMainActor: .descriptor { source, _ in Self.perform(source, call) })
        try self.init(name, confined: confined, confined.descriptorHandler)
    }

    /// A port that replies, and whose handler belongs to the actor that the caller is on: see
    /// ``init(_:isolation:handler:)-(_,Actor,_)``.
    ///
    /// - Throws: ``GRunLoop/MessagePortError``.
    ///
    /// Threads: the actor's. Otherwise it is ``init(replying:handler:)``.
    public convenience init(
        replying name: String?, isolation: isolated any Actor,
        handler: @escaping (Message) -> GRunLoop.MessageData?
    ) throws(GRunLoop.MessagePortError) {
        let replying: (Message) -> Void = { Self.reply(to: $0, by: handler) }
        let confined = Confined(.descriptor { source, _ in Self.perform(source, replying) }, of: isolation)
        try self.init(name, confined: confined, confined.descriptorHandler)
    }

    /// A port that replies, and whose handler belongs to the main actor: see
    /// ``init(_:isolation:handler:)-(_,MainActor,_)``.
    ///
    /// - Throws: ``GRunLoop/MessagePortError``.
    ///
    /// Threads: any. Otherwise it is ``init(replying:handler:)``.
    public convenience init(
        replying name: String?, isolation: MainActor = .shared,
        handler: @escaping @MainActor (Message) -> GRunLoop.MessageData?
    ) throws(GRunLoop.MessagePortError) {
        let call = unsafeBitCast(handler, to: ((Message) -> GRunLoop.MessageData?).self)
        let replying: (Message) -> Void = { Self.reply(to: $0, by: call) }
        let confined = Confined(onMainActor: .descriptor { source, _ in Self.perform(source, replying) })
        try self.init(name, confined: confined, confined.descriptorHandler)
    }
}
