// SPDX-License-Identifier: Apache-2.0
// Items whose closures belong to an actor: to the main actor, or to one that lives on a loop.
//
// Each initializer that takes a @Sendable closure, which any loop may call, has two more. With `isolation:` it takes
// any closure that is made on an actor: what it captures, plain classes and variables among it, belongs to the actor
// from then on, which the compiler sees to. A closure that is written as `{ @MainActor in ... }` belongs to the main
// actor, wherever it is made. Nothing is scheduled: the actor is on the loop's thread, and the closure is called where
// it stands.
//
// The casts take the main actor off a closure's type: ``Home`` sees to it where it is called, as
// `MainActor.assumeIsolated` would.
//
// The actor must not be optional: with none, what a closure captures could still be sent to another thread.
//
// What the compiler (6.3) does not see, here as with `Task { }`: in code of a global actor, as the main one, an object
// that is made on the spot, captured by a closure that is written there, and then sent away.

extension Confined {
    fileprivate var timerHandler: @Sendable (GRunLoop.Timer) -> Void {
        { timer in self.call { if case .timer(let call) = $0 { call(timer) } } }
    }

    var block: @Sendable () -> Void {
        { self.call { if case .block(let call) = $0 { call() } } }
    }

    /// For a thread that hands it over: the closure goes as soon as it was called, and not with that thread's own
    /// reference, which may go later and would have it brought back.
    var blockOnce: @Sendable () -> Void {
        {
            self.block()
            self.letGo()
        }
    }

    fileprivate var descriptorHandler:
        @Sendable (GRunLoop.DescriptorSource, GRunLoop.DescriptorSource.Conditions) -> Void
    {
        { source, ready in self.call { if case .descriptor(let call) = $0 { call(source, ready) } } }
    }

    fileprivate var observerHandler: @Sendable (GRunLoop.Observer, GRunLoop.Activity) -> Void {
        { observer, activity in self.call { if case .observer(let call) = $0 { call(observer, activity) } } }
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

extension GRunLoop.Source {
    /// A source whose closure belongs to the actor that the caller is on, and is called and let go there.
    ///
    /// Only the actor's own loop takes it, and a loop of virtual time on its thread: adding it to another ends the
    /// process, with a message. It holds the actor until it is invalidated, which also lets its closure go.
    ///
    /// That actor is `isolation`: `self` in an actor, `#isolation` anywhere. It must live on a run loop: one that does
    /// not ends the process, with a message. The closure need not be `@Sendable`.
    ///
    /// Threads: the actor's. Otherwise it is ``init(order:schedule:cancel:perform:)``.
    public convenience init(
        order: Int = 0,
        schedule: (@Sendable (GRunLoop, GRunLoop.Mode) -> Void)? = nil,
        cancel: (@Sendable (GRunLoop, GRunLoop.Mode) -> Void)? = nil,
        isolation: isolated any Actor, perform: @escaping () -> Void
    ) {
        let confined = Confined(.block(perform), of: isolation)
        self.init(order, schedule, cancel, confined: confined, confined.block)
    }

    /// A source whose closure belongs to the main actor, and is called and let go there: one that is written as
    /// `{ @MainActor in ... }`.
    ///
    /// Only the main loop takes it, and a loop of virtual time on the main actor: adding it to another ends the
    /// process, with a message.
    ///
    /// Threads: any. Otherwise it is ``init(order:schedule:cancel:perform:)``.
    public convenience init(
        order: Int = 0,
        schedule: (@Sendable (GRunLoop, GRunLoop.Mode) -> Void)? = nil,
        cancel: (@Sendable (GRunLoop, GRunLoop.Mode) -> Void)? = nil,
        isolation: MainActor = .shared, perform: @escaping @MainActor () -> Void
    ) {
        let confined = Confined(onMainActor: .block(unsafeBitCast(perform, to: ConfinedClosure.Block.self)))
        self.init(order, schedule, cancel, confined: confined, confined.block)
    }
}

extension GRunLoop.DescriptorSource {
    /// A descriptor source whose closure belongs to the actor that the caller is on, and is called and let go there.
    ///
    /// Only the actor's own loop takes it, and a loop of virtual time on its thread: adding it to another ends the
    /// process, with a message. It holds the actor until it is invalidated, which also lets its closure go.
    ///
    /// That actor is `isolation`: `self` in an actor, `#isolation` anywhere. It must live on a run loop: one that does
    /// not ends the process, with a message. The closure need not be `@Sendable`.
    ///
    /// Threads: the actor's. Otherwise it is ``init(descriptor:conditions:handler:)``.
    public convenience init(
        descriptor: Int32, conditions: Conditions = .readable,
        isolation: isolated any Actor, handler: @escaping (GRunLoop.DescriptorSource, Conditions) -> Void
    ) {
        let confined = Confined(.descriptor(handler), of: isolation)
        self.init(descriptor, conditions, confined: confined, confined.descriptorHandler)
    }

    /// A descriptor source whose closure belongs to the main actor, and is called and let go there: one that is written
    /// as `{ @MainActor _, _ in ... }`.
    ///
    /// Only the main loop takes it, and a loop of virtual time on the main actor: adding it to another ends the
    /// process, with a message.
    ///
    /// Threads: any. Otherwise it is ``init(descriptor:conditions:handler:)``.
    public convenience init(
        descriptor: Int32, conditions: Conditions = .readable,
        isolation: MainActor = .shared, handler: @escaping @MainActor (GRunLoop.DescriptorSource, Conditions) -> Void
    ) {
        let confined = Confined(onMainActor: .descriptor(unsafeBitCast(handler, to: ConfinedClosure.Descriptor.self)))
        self.init(descriptor, conditions, confined: confined, confined.descriptorHandler)
    }
}

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

extension GRunLoop.ChildSource {
    /// A child source whose closure belongs to the actor that the caller is on, and is called and let go there.
    ///
    /// Only the actor's own loop takes it, and a loop of virtual time on its thread: adding it to another ends the
    /// process, with a message. It holds the actor until it is invalidated, which also lets its closure go.
    ///
    /// That actor is `isolation`: `self` in an actor, `#isolation` anywhere. It must live on a run loop: one that does
    /// not ends the process, with a message. The closure need not be `@Sendable`.
    ///
    /// - Throws: ``GRunLoop/ChildError``.
    ///
    /// Threads: the actor's. Otherwise it is ``init(pid:handler:)``.
    public convenience init(
        pid: Int32, isolation: isolated any Actor, handler: @escaping (GRunLoop.ChildSource, Outcome) -> Void
    ) throws(GRunLoop.ChildError) {
        let confined = Confined(.descriptor { source, _ in Self.perform(source, handler) }, of: isolation)
        try self.init(pid, confined: confined, confined.descriptorHandler)
    }

    /// A child source whose closure belongs to the main actor, and is called and let go there: one that is written as
    /// `{ @MainActor _, _ in ... }`.
    ///
    /// Only the main loop takes it, and a loop of virtual time on the main actor: adding it to another ends the
    /// process, with a message.
    ///
    /// - Throws: ``GRunLoop/ChildError``.
    ///
    /// Threads: any. Otherwise it is ``init(pid:handler:)``.
    public convenience init(
        pid: Int32, isolation: MainActor = .shared,
        handler: @escaping @MainActor (GRunLoop.ChildSource, Outcome) -> Void
    ) throws(GRunLoop.ChildError) {
        let call = unsafeBitCast(handler, to: ((GRunLoop.ChildSource, Outcome) -> Void).self)
        let confined = Confined(onMainActor: .descriptor { source, _ in Self.perform(source, call) })
        try self.init(pid, confined: confined, confined.descriptorHandler)
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

extension GRunLoop.IdleQueue {
    /// Enqueues a closure that belongs to the actor that the caller is on, and is called and let go there.
    ///
    /// That actor is `isolation`: `self` in an actor, `#isolation` anywhere. It must live on the loop that the queue is
    /// in when the closure's turn comes: otherwise the process ends, with a message.
    ///
    /// - Returns: false if the queue was invalidated: then the closure is let go.
    ///
    /// Threads: the actor's. Otherwise it is ``enqueue(_:)``.
    @discardableResult public func enqueue(isolation: isolated any Actor, _ work: @escaping () -> Void) -> Bool {
        guard !Fork.refuses("IdleQueue.enqueue") else { return false }
        return enqueue(Confined(.block(work), of: isolation).blockOnce)
    }

    /// Enqueues a closure that belongs to the main actor, and is called and let go there: one that is written as
    /// `{ @MainActor in ... }`. In a queue of another loop than the main one it ends the process, with a message, when
    /// its turn comes.
    ///
    /// - Returns: false if the queue was invalidated: then the closure is let go.
    ///
    /// Threads: any. Otherwise it is ``enqueue(_:)``.
    @discardableResult public func enqueue(
        isolation: MainActor = .shared, _ work: @escaping @MainActor () -> Void
    ) -> Bool {
        guard !Fork.refuses("IdleQueue.enqueue") else { return false }
        return enqueue(Confined(onMainActor: .block(unsafeBitCast(work, to: ConfinedClosure.Block.self))).blockOnce)
    }
}
