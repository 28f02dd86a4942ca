// SPDX-License-Identifier: Apache-2.0
// Ports whose handlers belong to an actor: see Isolated.swift.

extension Confined {
    fileprivate var portHandler: @Sendable (GRunLoop.PortMessage) -> Void {
        { message in self.call { if case .port(let call) = $0 { call(message) } } }
    }
}

extension GRunLoop.Port {
    /// A port whose handler belongs to the actor that the caller is on, and is called and let go there.
    ///
    /// Only the actor's own loop takes it, and a loop of virtual time on its thread: adding it to another ends the
    /// process, with a message. It holds the actor until it is invalidated.
    ///
    /// That actor is `isolation`: `self` in an actor, `#isolation` anywhere. It must live on a run loop: one that does
    /// not ends the process, with a message. The handler need not be `@Sendable`.
    ///
    /// Threads: the actor's. Otherwise it is ``init(capacity:handler:)``.
    public convenience init(
        capacity: Int = .max, isolation: isolated any Actor, handler: @escaping (GRunLoop.PortMessage) -> Void
    ) {
        let confined = Confined(.port(handler), of: isolation)
        self.init(PortChannel(capacity: capacity), confined: confined, handler: confined.portHandler)
    }

    /// A port whose handler belongs to the main actor, and is called and let go there: one that is written as
    /// `{ @MainActor message in ... }`.
    ///
    /// Only the main loop takes it, and a loop of virtual time on the main actor: adding it to another ends the
    /// process, with a message.
    ///
    /// Threads: any. Otherwise it is ``init(capacity:handler:)``.
    public convenience init(
        capacity: Int = .max, isolation: MainActor = .shared,
        handler: @escaping @MainActor (GRunLoop.PortMessage) -> Void
    ) {
        let confined = Confined(onMainActor: .port(unsafeBitCast(handler, to: ConfinedClosure.Port.self)))
        self.init(PortChannel(capacity: capacity), confined: confined, handler: confined.portHandler)
    }
}
