// SPDX-License-Identifier: Apache-2.0
// Timers whose closures belong to an actor: see Isolated.swift.

extension Confined {
    fileprivate var timerHandler: @Sendable (GRunLoop.Timer) -> Void {
        { timer in self.call { if case .timer(let call) = $0 { call(timer) } } }
    }
}

extension GRunLoop.Timer {
    /// Creates a timer whose closure belongs to the caller's actor, and is called and released on this actor.
    ///
    /// `isolation` names the actor: pass `self` in an actor, or `#isolation` anywhere. The actor must live on a run
    /// loop; otherwise the process ends with a message. The closure need not be `@Sendable`.
    ///
    /// The timer can be added only to the actor's own loop or, on that loop's thread, to a loop of virtual time. Adding
    /// the timer to another loop ends the process with a message. The timer retains the actor until the timer is
    /// invalidated.
    ///
    /// Threads: the actor's thread. Everything else is as in ``init(fireAt:interval:tolerance:handler:)``.
    public convenience init(
        fireAt: GRunLoop.Instant, interval: Duration = .zero, tolerance: Duration = .zero,
        isolation: isolated any Actor, handler: @escaping (GRunLoop.Timer) -> Void
    ) {
        let confined = Confined(.timer(handler), of: isolation)
        self.init(
            date: Nanoseconds(saturating: fireAt), period: Nanoseconds(saturating: interval), tolerance: tolerance,
            at: ThreadLoops.time,
            home: confined.home, handler: confined.timerHandler)
    }

    /// Creates a timer whose closure belongs to the main actor, and is called and released on this actor. Write the
    /// closure as `{ @MainActor _ in ... }`.
    ///
    /// The timer can be added only to the main loop or, on the main actor, to a loop of virtual time. Adding the timer
    /// to another loop ends the process with a message.
    ///
    /// Threads: any. Everything else is as in ``init(fireAt:interval:tolerance:handler:)``.
    public convenience init(
        fireAt: GRunLoop.Instant, interval: Duration = .zero, tolerance: Duration = .zero,
        isolation: MainActor = .shared, handler: @escaping @MainActor (GRunLoop.Timer) -> Void
    ) {
        let confined = Confined(onMainActor: handler)
        self.init(
            date: Nanoseconds(saturating: fireAt), period: Nanoseconds(saturating: interval), tolerance: tolerance,
            at: ThreadLoops.time,
            home: confined.home, handler: confined.timerHandler)
    }

    /// Creates a timer whose closure belongs to the caller's actor, and is called and released on this actor.
    ///
    /// `isolation` names the actor: pass `self` in an actor, or `#isolation` anywhere. The actor must live on a run
    /// loop; otherwise the process ends with a message. The closure need not be `@Sendable`.
    ///
    /// The timer can be added only to the actor's own loop or, on that loop's thread, to a loop of virtual time. Adding
    /// the timer to another loop ends the process with a message. The timer retains the actor until the timer is
    /// invalidated.
    ///
    /// Threads: the actor's thread. Everything else is as in ``init(interval:repeats:after:tolerance:handler:)``.
    public convenience init(
        interval: Duration, repeats: Bool, after delay: Duration? = nil, tolerance: Duration = .zero,
        isolation: isolated any Actor, handler: @escaping (GRunLoop.Timer) -> Void
    ) {
        let confined = Confined(.timer(handler), of: isolation)
        self.init(
            interval: interval, after: delay, startingAt: ThreadLoops.time, repeats: repeats, tolerance: tolerance,
            home: confined.home, handler: confined.timerHandler)
    }

    /// Creates a timer whose closure belongs to the main actor, and is called and released on this actor. Write the
    /// closure as `{ @MainActor _ in ... }`.
    ///
    /// The timer can be added only to the main loop or, on the main actor, to a loop of virtual time. Adding the timer
    /// to another loop ends the process with a message.
    ///
    /// Threads: any. Everything else is as in ``init(interval:repeats:after:tolerance:handler:)``.
    public convenience init(
        interval: Duration, repeats: Bool, after delay: Duration? = nil, tolerance: Duration = .zero,
        isolation: MainActor = .shared, handler: @escaping @MainActor (GRunLoop.Timer) -> Void
    ) {
        let confined = Confined(onMainActor: handler)
        self.init(
            interval: interval, after: delay, startingAt: ThreadLoops.time, repeats: repeats, tolerance: tolerance,
            home: confined.home, handler: confined.timerHandler)
    }

    /// Creates a timer whose closure belongs to the caller's actor, and adds it to the current thread's loop, in the
    /// default mode. The rules for the closure and for the actor are the rules of
    /// ``init(interval:repeats:after:tolerance:isolation:handler:)-(_,_,_,_,Actor,_)``.
    ///
    /// Threads: the actor's thread. The corresponding Foundation method is
    /// `Timer.scheduledTimer(withTimeInterval:repeats:block:)`.
    @available(*, noasync, message: "an async function has no fixed thread, so it has no current run loop")
    @discardableResult
    public static func scheduled(
        interval: Duration, repeats: Bool, after delay: Duration? = nil, tolerance: Duration = .zero,
        isolation: isolated any Actor, handler: @escaping (GRunLoop.Timer) -> Void
    ) -> GRunLoop.Timer {
        let timer = GRunLoop.Timer(
            interval: interval, repeats: repeats, after: delay, tolerance: tolerance, isolation: isolation,
            handler: handler)
        ThreadLoops.current.add(timer, forMode: .default)
        return timer
    }

    /// Creates a timer whose closure belongs to the main actor, and adds it to the current thread's loop, in the
    /// default mode.
    ///
    /// Threads: the main thread; in virtual time, the main actor's thread. A call on another thread ends the process
    /// with a message. The corresponding Foundation method is `Timer.scheduledTimer(withTimeInterval:repeats:block:)`.
    @available(*, noasync, message: "an async function has no fixed thread, so it has no current run loop")
    @discardableResult
    public static func scheduled(
        interval: Duration, repeats: Bool, after delay: Duration? = nil, tolerance: Duration = .zero,
        isolation: MainActor = .shared, handler: @escaping @MainActor (GRunLoop.Timer) -> Void
    ) -> GRunLoop.Timer {
        let timer = GRunLoop.Timer(
            interval: interval, repeats: repeats, after: delay, tolerance: tolerance, isolation: isolation,
            handler: handler)
        ThreadLoops.current.add(timer, forMode: .default)
        return timer
    }
}
