// SPDX-License-Identifier: Apache-2.0
// The elements of a channel as an asynchronous sequence, for `for await`.

import Synchronization

extension GRunLoop.Channel {
    /// Returns the channel's elements as an asynchronous sequence, for `for await`. When elements wait, a run of the
    /// loop in one of the given modes wakes the awaiting task. The task takes all elements that wait, and is not
    /// suspended again until it has used them.
    ///
    /// If the task runs on the loop's own executor and uses elements for longer than ``GRunLoop/timeSlice``, the task
    /// yields to other ready work.
    ///
    /// A channel has one receiver, which is never replaced. If the channel has a receiver already, a new iterator logs
    /// a message and has no elements. Cancelling the awaiting task or releasing the iterator invalidates the channel
    /// and ends the sequence. The sequence also ends when a closed channel has delivered its elements, and when the
    /// loop's thread ends.
    ///
    /// - Parameters:
    ///   - loop: the loop whose passes deliver the elements. The task should run on this loop: as a task of an actor
    ///     with the loop's executor, or as a task that prefers that executor.
    ///   - names: the modes in which the loop delivers. If the list is empty, nothing is delivered until the channel is
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

        /// Makes an iterator, which becomes the channel's receiver. Threads: any.
        public func makeAsyncIterator() -> Iterator { Iterator(ChannelReader(core, loop, names)) }

        /// The receiver of a channel, for `for await`. Releasing the iterator invalidates the channel. Write the `for
        /// await` in a function, because at the top level of a program Swift never releases the iterator.
        ///
        /// Only one task at a time can use an iterator. If two tasks await the same iterator, the program stops with a
        /// message.
        public struct Iterator: AsyncIteratorProtocol {
            @usableFromInline let reader: ChannelReader

            init(_ reader: ChannelReader) { self.reader = reader }

            /// Waits for the next element.
            ///
            /// - Returns: the element; nil if there will be no more elements.
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

/// The receiver of a channel, if a task receives. Only one task at a time uses the reader.
@usableFromInline final class ChannelReader: Sendable {
    private let core: ChannelCore
    private let loop: GRunLoop
    private let mailbox: Mailbox<Void>
    /// False if the channel already had another receiver, and in a forked child.
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
        // A channel that was invalid before it got this receiver does not close the mailbox. So close the mailbox here.
        mailbox.close(.done)
    }

    /// Returns the address of the next element, which the caller moves out; nil if the caller must call
    /// ``refill(isolation:)`` first.
    @usableFromInline func next() -> UnsafeMutableRawPointer? {
        guard isReceiver, core.own.hasRest, !core.mustRecheck.load(ordering: .relaxed), !Task.isCancelled,
            !isOthersTurn
        else { return nil }
        core.own.hasTaken = true
        return core.takeNext()
    }

    /// True if the time slice is used up, so that the task must yield to other work. Always false before the first
    /// element of a turn, and on threads other than the loop's thread. Also false in virtual time, because the next
    /// pass must not depend on a real clock.
    private var isOthersTurn: Bool {
        guard core.own.hasTaken, loop.isCurrent, !loop.isInVirtualTime, let frame = loop.innermost else {
            return false
        }
        return frame._withUnsafeGuaranteedRef { $0.run.scheduler.usesUpSlice(core.own.slice, after: .source) }
    }

    /// Waits until there may be an element. Returns false if there will be no more elements.
    @usableFromInline func refill(isolation: isolated (any Actor)?) async -> Bool {
        guard isReceiver, !Fork.isChild else { return false }
        if Task.isCancelled {
            core.endTaskBatch()
            core.invalidate()
            return false
        }
        if core.own.hasRest {
            if core.takeRecheck() { return false }
            // If the slice is used up, the task continues in a later job, after the other ready work.
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

/// Closing the mailbox of the receiving task invalidates the channel.
extension ChannelCore: Invalidatable {}

extension ChannelCore {
    /// Ends a used-up batch, and signals the source if elements wait. Returns false if there will be no more elements.
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

    /// Takes the task's next batch. Returns false if the channel is invalid.
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

    /// Clears `mustRecheck`. If the channel is invalid, passes the rest of the batch to the channel's closure
    /// `undelivered`, and returns true.
    func takeRecheck() -> Bool {
        mustRecheck.store(false, ordering: .relaxed)
        guard lock.withLock({ guarded.state == .invalid }) else { return false }
        endTaskBatch()
        invalidate()
        return true
    }

    /// Ends the task's use of its batch, so that ``invalidate()`` takes the rest of the batch.
    func endTaskBatch() { lock.withLock { guarded.busy = 0 } }
}
