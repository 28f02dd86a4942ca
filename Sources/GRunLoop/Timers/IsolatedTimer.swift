// SPDX-License-Identifier: Apache-2.0
// Timers whose closures belong to an actor: see Isolated.swift.

extension Confined {
    fileprivate var timerHandler: @Sendable (GRunLoop.Timer) -> Void {
        { timer in self.call { if case .timer(let call) = $0 { call(timer) } } }
    }
}

extension GRunLoop.Timer {
    /// A timer whose closure belongs to the actor that the caller is on, and is called and let go there.
    ///
    /// Only the actor's own loop takes it, and a loop of virtual time on its thread: adding it to another ends the
    /// process, with a message. It holds the actor until it is invalidated.
    ///
    /// That actor is `isolation`: `self` in an actor, `#isolation` anywhere. It must live on a run loop: one that does
    /// not ends the process, with a message. The closure need not be `@Sendable`.
    ///
    /// Threads: the actor's. Otherwise it is ``init(fireAt:interval:tolerance:handler:)``.
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

    /// A timer whose closure belongs to the main actor, and is called and let go there: one that is written as
    /// `{ @MainActor _ in ... }`.
    ///
    /// Only the main loop takes it, and a loop of virtual time on the main actor: adding it to another ends the
    /// process, with a message.
    ///
    /// Threads: any. Otherwise it is ``init(fireAt:interval:tolerance:handler:)``.
    public convenience init(
        fireAt: GRunLoop.Instant, interval: Duration = .zero, tolerance: Duration = .zero,
        isolation: MainActor = .shared, handler: @escaping @MainActor (GRunLoop.Timer) -> Void
    ) {
        let confined = Confined(onMainActor: .timer(unsafeBitCast(handler, to: ConfinedClosure.Timer.self)))
        self.init(
            date: Nanoseconds(saturating: fireAt), period: Nanoseconds(saturating: interval), tolerance: tolerance,
            at: ThreadLoops.time,
            home: confined.home, handler: confined.timerHandler)
    }

    /// A timer whose closure belongs to the actor that the caller is on, and is called and let go there.
    ///
    /// Only the actor's own loop takes it, and a loop of virtual time on its thread: adding it to another ends the
    /// process, with a message. It holds the actor until it is invalidated.
    ///
    /// That actor is `isolation`: `self` in an actor, `#isolation` anywhere. It must live on a run loop: one that does
    /// not ends the process, with a message. The closure need not be `@Sendable`.
    ///
    /// Threads: the actor's. Otherwise it is ``init(interval:repeats:tolerance:handler:)``.
    public convenience init(
        interval: Duration, repeats: Bool, tolerance: Duration = .zero,
        isolation: isolated any Actor, handler: @escaping (GRunLoop.Timer) -> Void
    ) {
        let confined = Confined(.timer(handler), of: isolation)
        self.init(
            interval: interval, startingAt: ThreadLoops.time, repeats: repeats, tolerance: tolerance,
            home: confined.home, handler: confined.timerHandler)
    }

    /// A timer whose closure belongs to the main actor, and is called and let go there: one that is written as
    /// `{ @MainActor _ in ... }`.
    ///
    /// Only the main loop takes it, and a loop of virtual time on the main actor: adding it to another ends the
    /// process, with a message.
    ///
    /// Threads: any. Otherwise it is ``init(interval:repeats:tolerance:handler:)``.
    public convenience init(
        interval: Duration, repeats: Bool, tolerance: Duration = .zero,
        isolation: MainActor = .shared, handler: @escaping @MainActor (GRunLoop.Timer) -> Void
    ) {
        let confined = Confined(onMainActor: .timer(unsafeBitCast(handler, to: ConfinedClosure.Timer.self)))
        self.init(
            interval: interval, startingAt: ThreadLoops.time, repeats: repeats, tolerance: tolerance,
            home: confined.home, handler: confined.timerHandler)
    }

    /// Makes a timer whose closure belongs to the actor that the caller is on, see
    /// ``init(interval:repeats:tolerance:isolation:handler:)-(_,_,_,Actor,_)``, and adds it to the current thread's
    /// loop, in the default mode.
    ///
    /// Threads: the actor's. The corresponding Foundation method is
    /// `Timer.scheduledTimer(withTimeInterval:repeats:block:)`.
    @available(*, noasync, message: "an async function has no thread of its own, so no current run loop")
    @discardableResult
    public static func scheduled(
        interval: Duration, repeats: Bool, tolerance: Duration = .zero,
        isolation: isolated any Actor, handler: @escaping (GRunLoop.Timer) -> Void
    ) -> GRunLoop.Timer {
        let timer = GRunLoop.Timer(
            interval: interval, repeats: repeats, tolerance: tolerance, isolation: isolation, handler: handler)
        ThreadLoops.current.add(timer, forMode: .default)
        return timer
    }

    /// Makes a timer whose closure belongs to the main actor, and adds it to the current thread's loop, in the default
    /// mode.
    ///
    /// Threads: the main one, or wherever the main actor is in virtual time; on another it ends the process, with a
    /// message. The corresponding Foundation method is `Timer.scheduledTimer(withTimeInterval:repeats:block:)`.
    @available(*, noasync, message: "an async function has no thread of its own, so no current run loop")
    @discardableResult
    public static func scheduled(
        interval: Duration, repeats: Bool, tolerance: Duration = .zero,
        isolation: MainActor = .shared, handler: @escaping @MainActor (GRunLoop.Timer) -> Void
    ) -> GRunLoop.Timer {
        let timer = GRunLoop.Timer(
            interval: interval, repeats: repeats, tolerance: tolerance, isolation: isolation, handler: handler)
        ThreadLoops.current.add(timer, forMode: .default)
        return timer
    }
}
