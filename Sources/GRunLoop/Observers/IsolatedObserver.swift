// SPDX-License-Identifier: Apache-2.0
// Observers whose closures belong to an actor: see Isolated.swift.

extension Confined {
    fileprivate var observerHandler: @Sendable (GRunLoop.Observer, GRunLoop.Activity) -> Void {
        { observer, activity in self.call { if case .observer(let call) = $0 { call(observer, activity) } } }
    }
}

extension GRunLoop.Observer {
    /// An observer whose closure belongs to the actor that the caller is on, and is called and let go there.
    ///
    /// Only the actor's own loop takes it, and a loop of virtual time on its thread: adding it to another ends the
    /// process, with a message. It holds the actor until it is invalidated.
    ///
    /// That actor is `isolation`: `self` in an actor, `#isolation` anywhere. It must live on a run loop: one that does
    /// not ends the process, with a message. The closure need not be `@Sendable`.
    ///
    /// Threads: the actor's. Otherwise it is ``init(activities:repeats:order:handler:)``.
    public convenience init(
        activities: GRunLoop.Activity, repeats: Bool = true, order: Int = 0,
        isolation: isolated any Actor, handler: @escaping (GRunLoop.Observer, GRunLoop.Activity) -> Void
    ) {
        let confined = Confined(.observer(handler), of: isolation)
        self.init(activities, repeats, order, home: confined.home, confined.observerHandler)
    }

    /// An observer whose closure belongs to the main actor, and is called and let go there: one that is written as
    /// `{ @MainActor _, _ in ... }`.
    ///
    /// Only the main loop takes it, and a loop of virtual time on the main actor: adding it to another ends the
    /// process, with a message.
    ///
    /// Threads: any. Otherwise it is ``init(activities:repeats:order:handler:)``.
    public convenience init(
        activities: GRunLoop.Activity, repeats: Bool = true, order: Int = 0,
        isolation: MainActor = .shared, handler: @escaping @MainActor (GRunLoop.Observer, GRunLoop.Activity) -> Void
    ) {
        let confined = Confined(onMainActor: .observer(unsafeBitCast(handler, to: ConfinedClosure.Observer.self)))
        self.init(activities, repeats, order, home: confined.home, confined.observerHandler)
    }
}
