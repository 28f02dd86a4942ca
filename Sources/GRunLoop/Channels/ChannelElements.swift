// SPDX-License-Identifier: Apache-2.0
// What comes through a channel, for await.

import Synchronization

extension GRunLoop.Channel {
    /// What comes through the channel, for `for await`. In the modes given, the loop wakes the task that awaits; the
    /// task takes all elements that are there, and goes on without being suspended until it has had them.
    ///
    /// On the loop's own executor it lets whatever else is ready have its turn after ``GRunLoop/timeSlice``.
    ///
    /// A channel has one receiver, for good: a second iterator, or one beside a closure, ends at once, with a message.
    /// Cancelling the task or letting go of the iterator closes the channel. The sequence ends once the channel is
    /// finished and all is delivered, when it is closed, and with the loop's thread.
    ///
    /// - Parameters:
    ///   - loop: whose passes bring the elements. Best with a task that lives there: an actor's with its executor, or
    ///     one that prefers it.
    ///   - names: the modes in which it does. With an empty list nothing comes until the channel is added to one.
    ///
    /// Threads: any. There is no corresponding Core Foundation function; Swift's is `AsyncStream`.
    public func elements(on loop: GRunLoop, inModes names: [GRunLoop.Mode] = [.common]) -> Elements {
        Elements(core, loop, names)
    }

    /// What comes through a channel, for `for await`: see ``elements(on:inModes:)``. Threads: any.
    public struct Elements: AsyncSequence, Sendable {
        private let core: ChannelCore
        private let loop: GRunLoop
        private let names: [GRunLoop.Mode]

        init(_ core: ChannelCore, _ loop: GRunLoop, _ names: [GRunLoop.Mode]) {
            self.core = core
            self.loop = loop
            self.names = names
        }

        /// Makes the receiver, which the iterator holds. Threads: any.
        public func makeAsyncIterator() -> Iterator { Iterator(ChannelReader(core, loop, names)) }

        /// The receiver of a channel. Letting go of it closes the channel.
        ///
        /// For one task at a time: two that await one iterator stop the program, with a message.
        public struct Iterator: AsyncIteratorProtocol {
            @usableFromInline let reader: ChannelReader

            init(_ reader: ChannelReader) { self.reader = reader }

            /// Waits for the next element.
            ///
            /// - Returns: the element; nil when there will be none.
            ///
            /// Threads: any, one task at a time.
            @inlinable nonisolated(nonsending) public mutating func next() async -> Element? {
                await next(isolation: #isolation)
            }

            /// The same, for `for await`. Threads: any, one task at a time.
            @inlinable public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
                while true {
                    if let element = reader.next() {
                        return element.assumingMemoryBound(to: Element.self).move()
                    }
                    guard await reader.refill(isolation: actor) else { return nil }
                }
            }
        }
    }
}

/// The receiver of a channel that is a task. It belongs to one task at a time.
@usableFromInline final class ChannelReader: Sendable {
    private let core: ChannelCore
    private let loop: GRunLoop
    private let mailbox: Mailbox<Void>
    /// False if the channel had a receiver already.
    private let isReceiver: Bool

    init(_ core: ChannelCore, _ loop: GRunLoop, _ names: [GRunLoop.Mode]) {
        self.core = core
        self.loop = loop
        let mailbox = Mailbox<Void>(of: loop) { _, _ in }
        self.mailbox = mailbox
        guard !Fork.refuses("Channel.elements") else {
            isReceiver = false
            return
        }
        let source = core.makeSource { mailbox.send(()) }
        isReceiver = core.bind(to: loop, inModes: names, source, waking: mailbox, "Channel.elements")
        if isReceiver { mailbox.open(for: core) } else { source.invalidate() }
    }

    deinit {
        guard isReceiver, !Fork.isChild else { return }
        core.leaveTask()
        core.close()
        // The channel does not know of it if it was closed before there was a receiver.
        mailbox.close(.done)
    }

    /// The address of the next element, to be moved out; nil if ``refill(isolation:)`` has to look.
    @usableFromInline func next() -> UnsafeMutableRawPointer? {
        guard isReceiver, core.own.hasRest, !core.hasNews.load(ordering: .relaxed), !Task.isCancelled,
            !isOthersTurn
        else { return nil }
        core.own.hasTaken = true
        return core.takeNext()
    }

    /// Asked after each element, as any receiver does, and not before the first one. Off the loop's thread no slice
    /// counts. In virtual time none does either: there it must not depend on a real clock when the next pass comes.
    private var isOthersTurn: Bool {
        guard core.own.hasTaken, loop.isCurrent, loop.virtualTime == nil, let frame = loop.innermost else {
            return false
        }
        return frame._withUnsafeGuaranteedRef { $0.run.scheduler.usesUpSlice(core.own.slice, after: .source) }
    }

    /// Whether there may be an element now; false at the end.
    @usableFromInline func refill(isolation: isolated (any Actor)?) async -> Bool {
        guard isReceiver, !Fork.isChild else { return false }
        if Task.isCancelled {
            core.leaveTask()
            core.close()
            return false
        }
        if core.own.hasRest {
            if core.takeNews() { return false }
            // The slice is spent: a job of its own, after whatever else is ready.
            if isOthersTurn {
                await Task.yield()
                core.own.hasTaken = false
            }
            return true
        }
        guard core.asksLoop(), await mailbox.next(isolation: isolation) != nil else {
            core.leaveTask()
            core.close()
            return false
        }
        return core.takeForTask()
    }
}

extension ChannelCore: Invalidatable {
    /// The task is gone.
    func invalidate() { close() }
}

extension ChannelCore {
    /// A task has had its batch. Returns false if nothing more can come.
    func asksLoop() -> Bool {
        lock.lock()
        guarded.busy = 0
        giveBackUsedLocked()
        guard guarded.state == .open || guarded.state == .finishing && !guarded.sent.isEmpty else {
            lock.unlock()
            return false
        }
        guarded.isScheduled = !guarded.sent.isEmpty
        let told = guarded.isScheduled ? guarded.source : nil
        lock.unlock()
        if let told { Self.tell(told) }
        return true
    }

    /// The loop has had its turn. False if the channel was closed.
    func takeForTask() -> Bool {
        lock.lock()
        guard guarded.state != .closed else {
            lock.unlock()
            return false
        }
        guarded.busy = 1
        guarded.isScheduled = true
        let admitted = takeBatchLocked()
        lock.unlock()
        own.hasTaken = false
        for sender in admitted { sender.resume(.enqueued) }
        if let loop = guarded.loop { own.slice = loop.lock.withLock { loop.sliceLength } }
        return true
    }

    /// Whether the channel was closed: then the rest of the batch is given up here.
    func takeNews() -> Bool {
        hasNews.store(false, ordering: .relaxed)
        guard lock.withLock({ guarded.state == .closed }) else { return false }
        leaveTask()
        close()
        return true
    }

    /// The task has no batch any more: what is left of it is for ``close()``.
    func leaveTask() { lock.withLock { guarded.busy = 0 } }
}
