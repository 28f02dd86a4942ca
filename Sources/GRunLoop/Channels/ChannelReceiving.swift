// SPDX-License-Identifier: Apache-2.0
// Who receives from a channel, and in which modes.

extension GRunLoop.Channel {
    /// Has the closure called with each element, on a loop's thread, in the order in which they came.
    ///
    /// A channel has one receiver, for good: a second is ignored, with a message. It keeps the closure until it ends.
    /// The closure may send, add, remove and close the channel, and run the loop. Of a loop that has ended the channel
    /// is closed at once.
    ///
    /// - Parameters:
    ///   - loop: whose thread receives.
    ///   - names: the modes in which it does. With an empty list nothing comes until the channel is added to one.
    ///   - body: gets each element.
    ///
    /// Threads: any. The corresponding Core Foundation functions are `CFRunLoopSourceCreate` and `CFRunLoopAddSource`.
    @inlinable public func receive(
        on loop: GRunLoop, inModes names: [GRunLoop.Mode] = [.common],
        _ body: @escaping @Sendable (sending Element) -> Void
    ) {
        let core = core
        core.receive(on: loop, inModes: names) { Self.deliver(core, body) }
    }

    /// The same with a closure that belongs to the actor that the caller is on, which must live on `loop`: otherwise
    /// the process ends, with a message. It is called and let go there, and need not be `@Sendable`.
    ///
    /// Threads: the actor's. Otherwise it is ``receive(on:inModes:_:)``.
    @inlinable public func receive(
        on loop: GRunLoop, inModes names: [GRunLoop.Mode] = [.common], isolation: isolated any Actor,
        _ body: @escaping (sending Element) -> Void
    ) {
        let core = core
        core.receive(on: loop, inModes: names, isolation: isolation) { Self.deliver(core, body) }
    }

    /// The same with a closure that belongs to the main actor: one that is written as `{ @MainActor element in ... }`.
    /// On another loop than the main one the process ends, with a message.
    ///
    /// Threads: any. Otherwise it is ``receive(on:inModes:_:)``.
    @inlinable public func receive(
        on loop: GRunLoop, inModes names: [GRunLoop.Mode] = [.common], isolation: MainActor = .shared,
        _ body: @escaping @MainActor (sending Element) -> Void
    ) {
        let core = core
        core.receive(on: loop, inModes: names, onMainActor: { @MainActor in Self.deliver(core, body) })
    }

    /// Has the closure called with the elements that are there, on a loop's thread: one batch a pass.
    ///
    /// A batch is all that was there when its turn came, up to 32 KiB of elements; what is beyond comes in further
    /// passes, between which whatever else is ready has its turn. The elements are let go when the closure returns.
    /// What comes meanwhile, and what a nested run delivers, are batches of their own.
    ///
    /// - Parameters:
    ///   - loop: whose thread receives.
    ///   - names: the modes in which it does.
    ///   - body: gets the elements, at least one.
    ///
    /// Threads: any. Otherwise it is ``receive(on:inModes:_:)``.
    @inlinable public func receiveBatches(
        on loop: GRunLoop, inModes names: [GRunLoop.Mode] = [.common],
        _ body: @escaping @Sendable (borrowing Span<Element>) -> Void
    ) {
        let core = core
        core.receive(on: loop, inModes: names) { Self.deliverBatch(core, body) }
    }

    /// The same with a closure that belongs to the actor that the caller is on, which must live on `loop`: otherwise
    /// the process ends, with a message. It is called and let go there, and need not be `@Sendable`.
    ///
    /// Threads: the actor's. Otherwise it is ``receiveBatches(on:inModes:_:)``.
    @inlinable public func receiveBatches(
        on loop: GRunLoop, inModes names: [GRunLoop.Mode] = [.common], isolation: isolated any Actor,
        _ body: @escaping (borrowing Span<Element>) -> Void
    ) {
        let core = core
        core.receive(on: loop, inModes: names, isolation: isolation) { Self.deliverBatch(core, body) }
    }

    /// The same with a closure that belongs to the main actor: one that is written as `{ @MainActor elements in ... }`.
    /// On another loop than the main one the process ends, with a message.
    ///
    /// Threads: any. Otherwise it is ``receiveBatches(on:inModes:_:)``.
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

    /// Moved out, and the caller's alone: what is passed on keeps no second reference.
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

extension GRunLoop {
    /// Adds a channel to another mode of the loop that receives from it, or to all common modes. One that is there
    /// already, or was closed, is left alone. Another loop, or a channel without a receiver, is a misuse.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopAddSource`.
    public func add<Element>(_ channel: Channel<Element>, forMode name: Mode) {
        channel.core.add(to: self, forMode: name)
    }

    /// Removes a channel from a mode, or from all common modes: nothing is delivered there any more, not even the rest
    /// of what is being delivered; a task goes on with what it has taken. The elements wait until it is added again.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveSource`.
    public func remove<Element>(_ channel: Channel<Element>, forMode name: Mode) {
        channel.core.remove(from: self, forMode: name)
    }

    /// Whether the channel is in the mode; for ``Mode/common``, whether it was added to the common modes as such.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsSource`.
    public func contains<Element>(_ channel: Channel<Element>, forMode name: Mode) -> Bool {
        channel.core.isIn(self, forMode: name)
    }
}
