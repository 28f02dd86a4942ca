// SPDX-License-Identifier: Apache-2.0
// The elements of a channel as an asynchronous sequence, for `for await`.

import Synchronization

extension GRunLoop.Channel {
    /// Returns the channel's elements as an asynchronous sequence, for `for await`. In the given modes, the loop wakes
    /// the awaiting task. The task takes all elements that wait, and is not suspended again until it has used them.
    ///
    /// On the loop's own executor, the task lets other ready work have its turn after ``GRunLoop/timeSlice``.
    ///
    /// A channel has one receiver, which is never replaced. If there is a receiver already, a new iterator ends
    /// immediately and logs a message. Cancelling the task or releasing the iterator invalidates the channel. The
    /// sequence ends when the channel is invalidated, when it is closed and its elements are delivered, and when the
    /// loop's thread ends.
    ///
    /// - Parameters:
    ///   - loop: the loop whose passes deliver the elements. Use it with a task that runs on the loop: a task of an
    ///     actor that has the loop's executor, or a task that prefers that executor.
    ///   - names: the modes in which the loop delivers. With an empty list, nothing is delivered until the channel is
    ///     added to a mode.
    ///
    /// Threads: any. There is no corresponding Core Foundation function; the corresponding Swift type is `AsyncStream`.
    public func elements(on loop: GRunLoop, inModes names: [GRunLoop.Mode] = [.common]) -> Elements {
        Elements(core, loop, names)
    }

    /// The asynchronous sequence of a channel's elements: see ``elements(on:inModes:)``. Threads: any.
    public struct Elements: AsyncSequence, Sendable {
        private let core: ChannelCore
        private let loop: GRunLoop
        private let names: [GRunLoop.Mode]

        init(_ core: ChannelCore, _ loop: GRunLoop, _ names: [GRunLoop.Mode]) {
            self.core = core
            self.loop = loop
            self.names = names
        }

        /// Makes the channel's receiver, which the returned iterator holds. Threads: any.
        public func makeAsyncIterator() -> Iterator { Iterator(ChannelReader(core, loop, names)) }

        /// An iterator that is the receiver of a channel. Releasing the iterator invalidates the channel. At the top
        /// level of a program, the iterator of a `for await` is never released: put the loop into a function.
        ///
        /// Only one task at a time can use it. If two tasks await one iterator, the program stops with a message.
        public struct Iterator: AsyncIteratorProtocol {
            @usableFromInline let reader: ChannelReader

            init(_ reader: ChannelReader) { self.reader = reader }

            /// Waits for the next element.
            ///
            /// - Returns: the element; nil if there will be no more.
            ///
            /// Threads: any, one task at a time.
            @inlinable nonisolated(nonsending) public mutating func next() async -> Element? {
                await next(isolation: #isolation)
            }

            /// Waits for the next element; `for await` calls this function. Threads: any, one task at a time.
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

/// The receiver of a channel, if a task receives. One task at a time uses it.
@usableFromInline final class ChannelReader: Sendable {
    private let core: ChannelCore
    private let loop: GRunLoop
    private let mailbox: Mailbox<Void>
    /// False if the channel had a receiver already, and in a forked child.
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
        core.endTaskBatch()
        core.invalidate()
        // A channel that was invalidated before it had a receiver does not know the mailbox, and has not closed it.
        mailbox.close(.done)
    }

    /// Returns the address of the next element, to be moved out. Returns nil if ``refill(isolation:)`` has to be called
    /// first.
    @usableFromInline func next() -> UnsafeMutableRawPointer? {
        guard isReceiver, core.own.hasRest, !core.mustRecheck.load(ordering: .relaxed), !Task.isCancelled,
            !isOthersTurn
        else { return nil }
        core.own.hasTaken = true
        return core.takeNext()
    }

    /// Whether the time slice is used up, and other work has its turn. Checked after each element, but not before the
    /// first one of a turn. Off the loop's thread there is no slice. In virtual time there is none either, because the
    /// next pass must not depend on a real clock.
    private var isOthersTurn: Bool {
        guard core.own.hasTaken, loop.isCurrent, loop.virtualTime == nil, let frame = loop.innermost else {
            return false
        }
        return frame._withUnsafeGuaranteedRef { $0.run.scheduler.usesUpSlice(core.own.slice, after: .source) }
    }

    /// Waits until there may be an element. Returns false when there will be no more.
    @usableFromInline func refill(isolation: isolated (any Actor)?) async -> Bool {
        guard isReceiver, !Fork.isChild else { return false }
        if Task.isCancelled {
            core.endTaskBatch()
            core.invalidate()
            return false
        }
        if core.own.hasRest {
            if core.takeRecheck() { return false }
            // The slice is used up. The task goes on in another job, after the other ready work.
            if isOthersTurn {
                await Task.yield()
                core.own.hasTaken = false
            }
            return true
        }
        guard core.requestNextBatch(), await mailbox.next(isolation: isolation) != nil else {
            core.endTaskBatch()
            core.invalidate()
            return false
        }
        return core.takeForTask()
    }
}

/// The channel is invalidated when the mailbox of the receiving task is closed.
extension ChannelCore: Invalidatable {}

extension ChannelCore {
    /// Called when a task has used up its batch. Tells the loop if elements wait. Returns false if no more can come.
    func requestNextBatch() -> Bool {
        lock.lock()
        guarded.busy = 0
        giveBackUsedLocked()
        guard guarded.state == .open || guarded.state == .closing && !guarded.sent.isEmpty else {
            lock.unlock()
            return false
        }
        guarded.isScheduled = !guarded.sent.isEmpty
        let told = guarded.isScheduled ? guarded.source : nil
        lock.unlock()
        if let told { Self.tell(told) }
        return true
    }

    /// Takes the next batch for the task, after the loop's pass has woken it. Returns false if the channel is invalid.
    func takeForTask() -> Bool {
        lock.lock()
        guard guarded.state != .invalid else {
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

    /// Clears `mustRecheck`. Returns whether the channel is invalid; if it is, the rest of the batch is passed to
    /// `undelivered`.
    func takeRecheck() -> Bool {
        mustRecheck.store(false, ordering: .relaxed)
        guard lock.withLock({ guarded.state == .invalid }) else { return false }
        endTaskBatch()
        invalidate()
        return true
    }

    /// Ends the task's use of its batch, so that ``invalidate()`` takes the rest.
    func endTaskBatch() { lock.withLock { guarded.busy = 0 } }
}
