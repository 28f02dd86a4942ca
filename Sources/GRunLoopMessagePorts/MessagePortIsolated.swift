// SPDX-License-Identifier: Apache-2.0
// Message ports whose handlers belong to an actor. Isolated.swift describes such handlers.

public import GRunLoop

extension GRunLoop.MessagePort {
    /// Creates a port whose handler belongs to the caller's actor, and is called and released on that actor.
    ///
    /// Add the port only to the actor's own loop, or to a loop of virtual time on the same thread. Adding the port to
    /// another loop ends the process, with a message. The port retains the actor until the port is invalidated.
    ///
    /// Pass the actor as `isolation`: `self` in an actor, `#isolation` anywhere. The actor must live on a run loop.
    /// Otherwise this initializer ends the process, with a message. The handler need not be `@Sendable`.
    ///
    /// - Throws: ``GRunLoop/MessagePortError``.
    ///
    /// Threads: the actor's thread. Everything else is as in ``init(_:handler:)``.
    public convenience init(
        _ name: String?, isolation: isolated any Actor, handler: @escaping (Message) -> Void
    ) throws(GRunLoop.MessagePortError) {
        let confined = Confined(.descriptor { source, _ in Self.handleNext(of: source, handler) }, of: isolation)
        try self.init(name, confined: confined)
    }

    /// Creates a port whose handler belongs to the main actor, and is called and released on the main actor. Write the
    /// handler as `{ @MainActor message in ... }`.
    ///
    /// Add the port only to the main loop, or to a loop of virtual time on the main actor. Adding the port to another
    /// loop ends the process, with a message.
    ///
    /// - Throws: ``GRunLoop/MessagePortError``.
    ///
    /// Threads: any. Everything else is as in ``init(_:handler:)``.
    public convenience init(
        _ name: String?, isolation: MainActor = .shared, handler: @escaping @MainActor (Message) -> Void
    ) throws(GRunLoop.MessagePortError) {
        let confined = Confined { @MainActor source, _ in Self.handleNext(of: source, handler) }
        try self.init(name, confined: confined)
    }

    /// Creates a port whose handler returns the replies, and belongs to the caller's actor: see
    /// ``init(_:isolation:handler:)-(_,Actor,_)``.
    ///
    /// - Throws: ``GRunLoop/MessagePortError``.
    ///
    /// Threads: the actor's thread. Everything else is as in ``init(replying:handler:)``.
    public convenience init(
        replying name: String?, isolation: isolated any Actor,
        handler: @escaping (Message) -> GRunLoop.MessageData?
    ) throws(GRunLoop.MessagePortError) {
        let replying: (Message) -> Void = { Self.reply(to: $0, by: handler) }
        let confined = Confined(.descriptor { source, _ in Self.handleNext(of: source, replying) }, of: isolation)
        try self.init(name, confined: confined)
    }

    /// Creates a port whose handler returns the replies, and belongs to the main actor: see
    /// ``init(_:isolation:handler:)-(_,MainActor,_)``.
    ///
    /// - Throws: ``GRunLoop/MessagePortError``.
    ///
    /// Threads: any. Everything else is as in ``init(replying:handler:)``.
    public convenience init(
        replying name: String?, isolation: MainActor = .shared,
        handler: @escaping @MainActor (Message) -> GRunLoop.MessageData?
    ) throws(GRunLoop.MessagePortError) {
        let confined = Confined { @MainActor source, _ in
            Self.handleNext(of: source) { Self.reply(to: $0, by: handler) }
        }
        try self.init(name, confined: confined)
    }
}
