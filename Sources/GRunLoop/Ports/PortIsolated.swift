// SPDX-License-Identifier: Apache-2.0
// Ports whose handlers belong to an actor: see Isolated.swift.

extension Confined {
    fileprivate var portHandler: @Sendable (GRunLoop.PortMessage) -> Void {
        { message in self.call { if case .port(let call) = $0 { call(message) } } }
    }
}

extension GRunLoop.Port {
    /// Creates a port whose handler belongs to the caller's actor, and is called and released on this actor.
    ///
    /// The port can be added only to the actor's own loop, or to a loop of virtual time on that loop's thread. Adding
    /// the port to another loop ends the process with a message. The port retains the actor until the port is
    /// invalidated.
    ///
    /// `isolation` names the actor: pass `self` in an actor, or `#isolation` anywhere. The actor must live on a run
    /// loop; otherwise the process ends with a message. The handler need not be `@Sendable`.
    ///
    /// Threads: the actor's thread. Everything else is as in ``init(capacity:handler:)``.
    public convenience init(
        capacity: Int = .max, isolation: isolated any Actor, handler: @escaping (GRunLoop.PortMessage) -> Void
    ) {
        let confined = Confined(.port(handler), of: isolation)
        self.init(PortChannel(capacity: capacity), confined: confined, handler: confined.portHandler)
    }

    /// Creates a port whose handler belongs to the main actor, and is called and released on this actor. Write the
    /// handler as `{ @MainActor message in ... }`.
    ///
    /// The port can be added only to the main loop, or to a loop of virtual time on the main actor. Adding the port to
    /// another loop ends the process with a message.
    ///
    /// Threads: any. Everything else is as in ``init(capacity:handler:)``.
    public convenience init(
        capacity: Int = .max, isolation: MainActor = .shared,
        handler: @escaping @MainActor (GRunLoop.PortMessage) -> Void
    ) {
        let confined = Confined(onMainActor: handler)
        self.init(PortChannel(capacity: capacity), confined: confined, handler: confined.portHandler)
    }
}
