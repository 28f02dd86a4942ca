// SPDX-License-Identifier: Apache-2.0
// Closures that receive from a channel, and the modes in which they receive.

extension GRunLoop.Channel {
    /// Calls a closure with each element, on a loop's thread, in the order in which the elements were sent.
    ///
    /// A channel has one receiver, which is never replaced. A second receiver is ignored, and a message is logged. The
    /// channel retains the closure until the channel ends. The closure may send elements, add the channel to modes,
    /// remove it from modes, close it, and run the loop. If the loop has ended, the channel is invalidated immediately.
    ///
    /// - Parameters:
    ///   - loop: the loop whose thread receives.
    ///   - names: the modes in which the loop delivers. If the list is empty, nothing is delivered until the channel is
    ///     added to a mode.
    ///   - body: called with each element.
    ///
    /// Threads: any. The corresponding Core Foundation functions are `CFRunLoopSourceCreate` and `CFRunLoopAddSource`.
    @inlinable public func receive(
        on loop: GRunLoop, inModes names: [GRunLoop.Mode] = [.common],
        _ body: @escaping @Sendable (sending Element) -> Void
    ) {
        let core = core
        core.receive(on: loop, inModes: names) { Self.deliver(core, body) }
    }

    /// Calls a closure of the caller's actor with each element. The closure is called and released on this actor, and
    /// need not be `@Sendable`. The actor must live on `loop`, or `loop` must be a loop of virtual time on the actor's
    /// thread. Otherwise the process ends with a message.
    ///
    /// Threads: the actor's thread. Everything else is as in ``receive(on:inModes:_:)``.
    @inlinable public func receive(
        on loop: GRunLoop, inModes names: [GRunLoop.Mode] = [.common], isolation: isolated any Actor,
        _ body: @escaping (sending Element) -> Void
    ) {
        let core = core
        core.receive(on: loop, inModes: names, isolation: isolation) { Self.deliver(core, body) }
    }

    /// Calls a closure of the main actor with each element. Write the closure as `{ @MainActor element in ... }`. The
    /// process ends with a message if `loop` is neither the main loop nor a loop of virtual time on the main actor.
    ///
    /// Threads: any. Everything else is as in ``receive(on:inModes:_:)``.
    @inlinable public func receive(
        on loop: GRunLoop, inModes names: [GRunLoop.Mode] = [.common], isolation: MainActor = .shared,
        _ body: @escaping @MainActor (sending Element) -> Void
    ) {
        let core = core
        core.receive(on: loop, inModes: names, onMainActor: { @MainActor in Self.deliver(core, body) })
    }

    /// Calls a closure on a loop's thread with many elements at a time: one batch in each pass.
    ///
    /// A batch contains the elements that wait when the channel has its turn, at most 32 KiB of them. Further passes
    /// deliver the rest, and other ready work runs between these passes. The elements are released when the closure
    /// returns. Elements that are sent while the closure runs, and elements that a nested run delivers, are in other
    /// batches.
    ///
    /// - Parameters:
    ///   - loop: the loop whose thread receives.
    ///   - names: the modes in which the loop delivers.
    ///   - body: called with at least one element.
    ///
    /// Threads: any. Everything else is as in ``receive(on:inModes:_:)``.
    @inlinable public func receiveBatches(
        on loop: GRunLoop, inModes names: [GRunLoop.Mode] = [.common],
        _ body: @escaping @Sendable (borrowing Span<Element>) -> Void
    ) {
        let core = core
        core.receive(on: loop, inModes: names) { Self.deliverBatch(core, body) }
    }

    /// Calls a closure of the caller's actor with batches of elements. The closure is called and released on this
    /// actor, and need not be `@Sendable`. The actor must live on `loop`, or `loop` must be a loop of virtual time on
    /// the actor's thread. Otherwise the process ends with a message.
    ///
    /// Threads: the actor's thread. Everything else is as in ``receiveBatches(on:inModes:_:)``.
    @inlinable public func receiveBatches(
        on loop: GRunLoop, inModes names: [GRunLoop.Mode] = [.common], isolation: isolated any Actor,
        _ body: @escaping (borrowing Span<Element>) -> Void
    ) {
        let core = core
        core.receive(on: loop, inModes: names, isolation: isolation) { Self.deliverBatch(core, body) }
    }

    /// Calls a closure of the main actor with batches of elements. Write the closure as `{ @MainActor elements in ...
    /// }`. The process ends with a message if `loop` is neither the main loop nor a loop of virtual time on the main
    /// actor.
    ///
    /// Threads: any. Everything else is as in ``receiveBatches(on:inModes:_:)``.
    @inlinable public func receiveBatches(
        on loop: GRunLoop, inModes names: [GRunLoop.Mode] = [.common], isolation: MainActor = .shared,
        _ body: @escaping @MainActor (borrowing Span<Element>) -> Void
    ) {
        let core = core
        core.receive(on: loop, inModes: names, onMainActor: { @MainActor in Self.deliverBatch(core, body) })
    }

    @inlinable static func deliver(_ core: ChannelCore, _ body: (sending Element) -> Void) {
        core.deliver {
            body(take($0))
        }
    }

    /// Moves an element out of the channel's memory. The channel keeps no copy of the element, so the result is
    /// `sending`.
    @inlinable static func take(_ slot: UnsafeMutableRawPointer) -> sending Element {
        nonisolated(unsafe) let element = slot.assumingMemoryBound(to: Element.self).move()
        return element
    }

    @inlinable static func deliverBatch(_ core: ChannelCore, _ body: (borrowing Span<Element>) -> Void) {
        core.deliverBatch { first, count in
            let elements = first.assumingMemoryBound(to: Element.self)
            body(UnsafeBufferPointer(start: elements, count: count).span)
            elements.deinitialize(count: count)
        }
    }
}

extension ChannelCore {
    @usableFromInline func receive(
        on loop: GRunLoop, inModes names: [GRunLoop.Mode], _ perform: @escaping @Sendable () -> Void
    ) {
        guard !Fork.refuses("Channel.receive") else { return }
        receive(on: loop, inModes: names, makeSource(perform))
    }

    @usableFromInline func receive(
        on loop: GRunLoop, inModes names: [GRunLoop.Mode], isolation: isolated any Actor,
        _ perform: @escaping () -> Void
    ) {
        guard !Fork.refuses("Channel.receive") else { return }
        receive(
            on: loop, inModes: names,
            GRunLoop.Source(cancel: noteLeft, isolation: isolation, perform: perform))
    }

    @usableFromInline func receive(
        on loop: GRunLoop, inModes names: [GRunLoop.Mode], onMainActor perform: @escaping @MainActor () -> Void
    ) {
        guard !Fork.refuses("Channel.receive") else { return }
        receive(
            on: loop, inModes: names,
            GRunLoop.Source(cancel: noteLeft, perform: perform))
    }

    private func receive(on loop: GRunLoop, inModes names: [GRunLoop.Mode], _ source: GRunLoop.Source) {
        if !bind(to: loop, inModes: names, source, waking: nil, "Channel.receive") { source.invalidate() }
    }
}

extension GRunLoop.Channel: GRunLoop.Item {
    /// Adds the channel to another mode of its loop, removes it from a mode, or returns whether it is in a mode: see
    /// ``GRunLoop/Item/carryOut(_:of:forMode:)``.
    ///
    /// If the channel has no receiver yet, or if the loop is not the receiving loop, the call is ignored and a message
    /// is logged. After a removal, the loop delivers nothing more in that mode, not even the rest of the current batch.
    /// But a receiving task keeps the elements that it has taken already. All other elements wait until the channel is
    /// added to a mode again.
    ///
    /// Threads: any. The corresponding Core Foundation functions are `CFRunLoopAddSource`, `CFRunLoopRemoveSource` and
    /// `CFRunLoopContainsSource`.
    @discardableResult public func carryOut(
        _ operation: GRunLoop.MembershipOperation, of loop: GRunLoop, forMode name: GRunLoop.Mode
    ) -> Bool {
        switch operation {
        case .add: core.add(to: loop, forMode: name)
        case .remove: core.remove(from: loop, forMode: name)
        case .contains: return core.isIn(loop, forMode: name)
        }
        return false
    }
}
