// SPDX-License-Identifier: Apache-2.0
// Perform functions for closures that belong to an actor: see Isolated.swift.

extension GRunLoop {
    /// Calls a closure of the caller's actor once, after a delay, as ``perform(after:inModes:target:key:_:)`` does.
    ///
    /// The closure is called and released on the caller's actor. Pass this actor as `isolation`: `self` in an actor, or
    /// `#isolation` anywhere. `target` can be any object of the actor, and is also released on the actor.
    ///
    /// Threads: the loop's own thread. If the actor does not live on the loop's thread, the process ends with a
    /// message.
    @discardableResult public func perform(
        after delay: Duration, inModes names: [Mode] = [.default], target: AnyObject? = nil,
        key: (any Hashable & Sendable)? = nil,
        isolation: isolated any Actor, _ body: @escaping () -> Void
    ) -> DelayedPerform {
        let confined = Confined(.block { withExtendedLifetime(target, body) }, of: isolation)
        if !Fork.isChild { confined.home.require(self, for: "perform") }
        return perform(after: delay, names, cancelledBy: .init(target, key), heldBy: confined, confined.block)
    }

    /// Calls a closure of the main actor once, after a delay, as ``perform(after:inModes:target:key:_:)`` does. Write
    /// the closure as `{ @MainActor in ... }`.
    ///
    /// The loop must be the main loop, or a loop of virtual time on the main actor. Otherwise the process ends with a
    /// message.
    ///
    /// Threads: the main thread; in virtual time, the thread of the main actor.
    @discardableResult public func perform(
        after delay: Duration, inModes names: [Mode] = [.default], target: (any AnyObject & Sendable)? = nil,
        key: (any Hashable & Sendable)? = nil,
        isolation: MainActor = .shared, _ body: @escaping @MainActor () -> Void
    ) -> DelayedPerform {
        let confined = Confined(onMainActor: body)
        if !Fork.isChild { confined.home.require(self, for: "perform") }
        return perform(after: delay, inModes: names, target: target, key: key, confined.block)
    }

    /// Calls a closure of the caller's actor once, at the start of the next pass, as
    /// ``perform(order:inModes:target:key:_:)`` does.
    ///
    /// The closure is called and released on the caller's actor. Pass this actor as `isolation`: `self` in an actor, or
    /// `#isolation` anywhere. `target` can be any object of the actor, and is also released on the actor.
    ///
    /// Threads: the loop's own thread. If the actor does not live on the loop's thread, the process ends with a
    /// message.
    public func perform(
        order: Int, inModes names: [Mode], target: AnyObject? = nil, key: (any Hashable & Sendable)? = nil,
        isolation: isolated any Actor, _ body: @escaping () -> Void
    ) {
        let confined = Confined(.block { withExtendedLifetime(target, body) }, of: isolation)
        if !Fork.isChild { confined.home.require(self, for: "perform") }
        perform(order: order, names, cancelledBy: .init(target, key), heldBy: confined, confined.block)
    }

    /// Calls a closure of the main actor once, at the start of the next pass, as
    /// ``perform(order:inModes:target:key:_:)`` does. Write the closure as `{ @MainActor in ... }`.
    ///
    /// The loop must be the main loop, or a loop of virtual time on the main actor. Otherwise the process ends with a
    /// message.
    ///
    /// Threads: the main thread; in virtual time, the thread of the main actor.
    public func perform(
        order: Int, inModes names: [Mode], target: (any AnyObject & Sendable)? = nil,
        key: (any Hashable & Sendable)? = nil, isolation: MainActor = .shared, _ body: @escaping @MainActor () -> Void
    ) {
        let confined = Confined(onMainActor: body)
        if !Fork.isChild { confined.home.require(self, for: "perform") }
        perform(order: order, inModes: names, target: target, key: key, confined.block)
    }

    /// Enqueues a block of the main actor, as ``perform(inModes:_:)`` does. Write the block as `{ @MainActor in ... }`.
    /// The block is also released on the main actor.
    ///
    /// The loop must be the main loop, or a loop of virtual time on the main actor. Otherwise the process ends with a
    /// message.
    ///
    /// Threads: any.
    public func perform(
        inModes names: [Mode] = [.default], isolation: MainActor = .shared, _ body: @escaping @MainActor () -> Void
    ) {
        perform(inModes: names, ofMainActor(body, for: "block").blockOnce)
    }

    /// Enqueues a block of the main actor and wakes the loop, as ``async(inModes:_:)`` does. Write the block as
    /// `{ @MainActor in ... }`. The block is also released on the main actor.
    ///
    /// The loop must be the main loop, or a loop of virtual time on the main actor. Otherwise the process ends with a
    /// message. The static ``asyncOnMain(inModes:_:)`` always uses the main loop.
    ///
    /// Threads: any.
    public func async(
        inModes names: [Mode] = [.common], isolation: MainActor = .shared, _ body: @escaping @MainActor () -> Void
    ) {
        async(inModes: names, ofMainActor(body, for: "block").blockOnce)
    }

    /// Calls a closure of the main actor once and wakes the loop, as ``performOnThread(inModes:_:)`` does. Write the
    /// closure as `{ @MainActor in ... }`. The closure is also released on the main actor.
    ///
    /// The loop must be the main loop, or a loop of virtual time on the main actor. Otherwise the process ends with a
    /// message.
    ///
    /// - Throws: ``LoopEndedError`` if the loop's thread has ended. Closures that are queued when the thread ends are
    ///   dropped.
    ///
    /// Threads: any.
    public func performOnThread(
        inModes names: [Mode] = [.common], isolation: MainActor = .shared, _ body: @escaping @MainActor () -> Void
    ) throws(LoopEndedError) {
        try performOnThread(inModes: names, ofMainActor(body, for: "perform").blockOnce)
    }

    private func ofMainActor(_ body: @escaping @MainActor () -> Void, for item: StaticString) -> Confined {
        let confined = Confined(onMainActor: body)
        if !Fork.isChild { confined.home.require(self, for: item) }
        return confined
    }

    /// Enqueues a block of the main actor on the main loop and wakes the loop, as ``async(inModes:_:)`` does. The block
    /// is also released on the main actor.
    ///
    /// Threads: any. If the list of modes is empty, the block is never called. The corresponding Core Foundation
    /// functions are `CFRunLoopPerformBlock` and `CFRunLoopWakeUp` of the main run loop.
    public static func asyncOnMain(inModes names: [Mode] = [.common], _ body: @escaping @MainActor () -> Void) {
        let confined = Confined(onMainActor: body)
        main.async(inModes: names, confined.blockOnce)
    }
}
