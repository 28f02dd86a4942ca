// SPDX-License-Identifier: Apache-2.0
// The perform family with closures that belong to an actor: see Isolated.swift.

extension GRunLoop {
    /// The same as ``perform(after:inModes:target:key:_:)``, with a closure that belongs to the actor that the caller
    /// is on, and is called and let go there.
    ///
    /// That actor is `isolation`: `self` in an actor, `#isolation` anywhere. `target` is any object of its, let
    /// go there.
    ///
    /// Threads: the loop's own, on which the actor must live: with another actor it ends the process, with a message.
    @discardableResult public func perform(
        after delay: Duration, inModes names: [Mode] = [.default], target: AnyObject? = nil,
        key: (any Hashable & Sendable)? = nil,
        isolation: isolated any Actor, _ body: @escaping () -> Void
    ) -> DelayedPerform {
        let confined = Confined(.block { withExtendedLifetime(target, body) }, of: isolation)
        if !Fork.isChild { confined.home.require(self, for: "perform") }
        return perform(after: delay, names, cancelledBy: .init(target, key), heldBy: confined, confined.block)
    }

    /// The same as ``perform(after:inModes:target:key:_:)`` of the main loop, with a closure that belongs to the main
    /// actor: `{ @MainActor in ... }`.
    ///
    /// Threads: the main one, or wherever the main actor is in virtual time; on another loop it ends the process, with
    /// a message.
    @discardableResult public func perform(
        after delay: Duration, inModes names: [Mode] = [.default], target: (any AnyObject & Sendable)? = nil,
        key: (any Hashable & Sendable)? = nil,
        isolation: MainActor = .shared, _ body: @escaping @MainActor () -> Void
    ) -> DelayedPerform {
        let confined = Confined(onMainActor: .block(unsafeBitCast(body, to: ConfinedClosure.Block.self)))
        if !Fork.isChild { confined.home.require(self, for: "perform") }
        return perform(after: delay, inModes: names, target: target, key: key, confined.block)
    }

    /// The same as ``perform(order:inModes:target:key:_:)``, with a closure that belongs to the actor that the caller
    /// is on, and is called and let go there.
    ///
    /// That actor is `isolation`: `self` in an actor, `#isolation` anywhere. `target` is any object of its, let
    /// go there.
    ///
    /// Threads: the loop's own, on which the actor must live: with another actor it ends the process, with a message.
    public func perform(
        order: Int, inModes names: [Mode], target: AnyObject? = nil, key: (any Hashable & Sendable)? = nil,
        isolation: isolated any Actor, _ body: @escaping () -> Void
    ) {
        let confined = Confined(.block { withExtendedLifetime(target, body) }, of: isolation)
        if !Fork.isChild { confined.home.require(self, for: "perform") }
        perform(order: order, names, cancelledBy: .init(target, key), heldBy: confined, confined.block)
    }

    /// The same as ``perform(order:inModes:target:key:_:)`` of the main loop, with a closure that belongs to the main
    /// actor: `{ @MainActor in ... }`.
    ///
    /// Threads: the main one, or wherever the main actor is in virtual time; on another loop it ends the process, with
    /// a message.
    public func perform(
        order: Int, inModes names: [Mode], target: (any AnyObject & Sendable)? = nil,
        key: (any Hashable & Sendable)? = nil, isolation: MainActor = .shared, _ body: @escaping @MainActor () -> Void
    ) {
        let confined = Confined(onMainActor: .block(unsafeBitCast(body, to: ConfinedClosure.Block.self)))
        if !Fork.isChild { confined.home.require(self, for: "perform") }
        perform(order: order, inModes: names, target: target, key: key, confined.block)
    }

    /// The same as ``perform(inModes:_:)`` of the main loop, with a block that belongs to the main actor:
    /// `{ @MainActor in ... }`.
    ///
    /// It is released on the main actor, too.
    ///
    /// Threads: any. On another loop than the main one it ends the process, with a message.
    public func perform(
        inModes names: [Mode] = [.default], isolation: MainActor = .shared, _ body: @escaping @MainActor () -> Void
    ) {
        perform(inModes: names, ofMainActor(body, for: "block").blockOnce)
    }

    /// The same as ``async(inModes:_:)`` of the main loop, with a block that belongs to the main actor:
    /// `{ @MainActor in ... }`.
    ///
    /// It is released on the main actor, too. ``asyncOnMain(inModes:_:)`` needs no loop.
    ///
    /// Threads: any. On another loop than the main one it ends the process, with a message.
    public func async(
        inModes names: [Mode] = [.common], isolation: MainActor = .shared, _ body: @escaping @MainActor () -> Void
    ) {
        async(inModes: names, ofMainActor(body, for: "block").blockOnce)
    }

    /// The same as ``performOnThread(inModes:_:)`` of the main loop, with a closure that belongs to the main actor:
    /// `{ @MainActor in ... }`.
    ///
    /// It is released on the main actor, too.
    ///
    /// - Throws: ``LoopEndedError`` when the main thread has ended. A closure that is queued when it ends is dropped.
    ///
    /// Threads: any. On another loop than the main one it ends the process, with a message.
    public func performOnThread(
        inModes names: [Mode] = [.common], isolation: MainActor = .shared, _ body: @escaping @MainActor () -> Void
    ) throws(LoopEndedError) {
        try performOnThread(inModes: names, ofMainActor(body, for: "perform").blockOnce)
    }

    private func ofMainActor(_ body: @escaping @MainActor () -> Void, for item: StaticString) -> Confined {
        let confined = Confined(onMainActor: .block(unsafeBitCast(body, to: ConfinedClosure.Block.self)))
        if !Fork.isChild { confined.home.require(self, for: item) }
        return confined
    }

    /// Enqueues a block of the main actor on the main loop, and wakes it: ``async(inModes:_:)`` of ``main``.
    ///
    /// It is let go on the main actor, too.
    ///
    /// Threads: any. An empty list of modes means never. The corresponding Core Foundation functions are
    /// `CFRunLoopPerformBlock` and `CFRunLoopWakeUp` of the main run loop.
    public static func asyncOnMain(inModes names: [Mode] = [.common], _ body: @escaping @MainActor () -> Void) {
        let confined = Confined(onMainActor: .block(unsafeBitCast(body, to: ConfinedClosure.Block.self)))
        main.async(inModes: names, confined.blockOnce)
    }
}
