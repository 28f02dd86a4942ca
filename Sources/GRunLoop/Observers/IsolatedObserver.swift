// SPDX-License-Identifier: Apache-2.0
// Observers whose closures belong to an actor: see Isolated.swift.

extension Confined {
    fileprivate var observerHandler: @Sendable (GRunLoop.Observer, GRunLoop.Activity) -> Void {
        { observer, activity in self.call { if case .observer(let call) = $0 { call(observer, activity) } } }
    }
}

extension GRunLoop.Observer {
    /// Creates an observer whose closure belongs to the caller's actor, and is called and released on this actor.
    ///
    /// `isolation` is that actor: pass `self` in an actor, or `#isolation` anywhere. If the actor does not live on a
    /// run loop, the process ends with a message. The closure need not be `@Sendable`.
    ///
    /// The observer can be added only to the actor's own loop or, on that loop's thread, to a loop of virtual time. If
    /// it is added to another loop, the process ends with a message. The observer retains the closure and the actor
    /// until the observer is invalidated.
    ///
    /// Threads: the actor's thread. Everything else is as in ``init(activities:repeats:order:handler:)``.
    public convenience init(
        activities: GRunLoop.Activity, repeats: Bool = true, order: Int = 0,
        isolation: isolated any Actor, handler: @escaping (GRunLoop.Observer, GRunLoop.Activity) -> Void
    ) {
        let confined = Confined(.observer(handler), of: isolation)
        self.init(activities, repeats, order, home: confined.home, confined.observerHandler)
    }

    /// Creates an observer whose closure belongs to the main actor, and is called and released on this actor. Write the
    /// closure as `{ @MainActor _, _ in ... }`.
    ///
    /// The observer can be added only to the main loop or, on the main actor, to a loop of virtual time. If it is added
    /// to another loop, the process ends with a message.
    ///
    /// Threads: any. Everything else is as in ``init(activities:repeats:order:handler:)``.
    public convenience init(
        activities: GRunLoop.Activity, repeats: Bool = true, order: Int = 0,
        isolation: MainActor = .shared, handler: @escaping @MainActor (GRunLoop.Observer, GRunLoop.Activity) -> Void
    ) {
        let confined = Confined(onMainActor: handler)
        self.init(activities, repeats, order, home: confined.home, confined.observerHandler)
    }
}
