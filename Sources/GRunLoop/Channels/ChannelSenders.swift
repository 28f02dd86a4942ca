// SPDX-License-Identifier: Apache-2.0
// The tasks and threads that wait for room in a channel, in the order in which they began to wait.

/// A waiting task or thread, and its element. Guarded by the channel's lock.
@usableFromInline final class ChannelSender: @unchecked Sendable {
    /// The address of the element; nil once the channel has accepted the element.
    private var element: UnsafeMutableRawPointer?
    private var waiter: Waiter?
    /// The result for a waiting thread. It is set before the thread's semaphore is signalled.
    fileprivate private(set) var result = GRunLoop.SendResult.full

    fileprivate var next: ChannelSender?
    /// Not retained, because two neighbours that retain each other would be a reference cycle.
    fileprivate unowned(unsafe) var previous: ChannelSender?
    fileprivate var isListed = false

    init(_ element: UnsafeMutableRawPointer) { self.element = element }

    /// Moves the element into the channel, to `slot`. Call this function with the lock held.
    func move(to slot: UnsafeMutableRawPointer, _ type: ChannelElementType) {
        guard let element = element.take() else { return }
        type.move(element, slot, 1)
    }

    fileprivate enum Waiter {
        case task(Suspension<GRunLoop.SendResult>)
        case thread(Semaphore)
    }

    /// Ends the wait with a result. Call this function once, without the lock.
    func resume(_ result: GRunLoop.SendResult, isCancelled: Bool = false) {
        switch waiter.take() {
        case .task(let suspension): suspension.resume(result, isCancelled: isCancelled)
        case .thread(let semaphore):
            self.result = result
            semaphore.signal()
        case nil: break
        }
    }

    fileprivate func wait(_ waiter: Waiter) { self.waiter = waiter }
}

/// The waiting senders, in a linked list, because a cancelled sender can leave the list from its middle. Guarded by the
/// channel's lock.
struct ChannelSenders {
    private var first: ChannelSender?
    private unowned(unsafe) var last: ChannelSender?

    var isEmpty: Bool { first == nil }

    mutating func append(_ sender: ChannelSender) {
        sender.isListed = true
        sender.previous = last
        if let last { last.next = sender } else { first = sender }
        last = sender
        checkInvariants()
    }

    mutating func removeFirst() -> ChannelSender? {
        guard let sender = first else { return nil }
        remove(sender)
        return sender
    }

    mutating func remove(_ sender: ChannelSender) {
        sender.isListed = false
        let next = sender.next.take()
        next?.previous = sender.previous
        if next == nil { last = sender.previous }
        if let previous = sender.previous { previous.next = next } else { first = next }
        sender.previous = nil
        checkInvariants()
    }

    @inline(__always) private func checkInvariants() {
        #if DEBUG
            invariant((first == nil) == (last == nil), "a list has both ends or none")
            var (before, at) = (nil as ChannelSender?, first)
            for _ in 0..<Invariant.few {
                guard let sender = at else { break }
                invariant(sender.isListed && sender.previous === before, "a sender refers to the previous one")
                (before, at) = (sender, sender.next)
            }
            invariant(at != nil || last === before, "the list knows its last sender")
        #endif
    }

    mutating func removeAll() -> [ChannelSender] {
        var all: [ChannelSender] = []
        while let sender = removeFirst() { all.append(sender) }
        return all
    }
}

extension ChannelCore {
    /// Suspends the task until the channel has accepted the element at the address `element`, or has ended. If the
    /// channel accepts the element, the element is moved out of this memory. A cancelled task does not wait.
    nonisolated(nonsending) func wait(toSend element: UnsafeMutableRawPointer) async -> GRunLoop.SendResult {
        let (sender, suspension) = (ChannelSender(element), Suspension<GRunLoop.SendResult>())
        enqueue(sender, .task(suspension))
        // If the result is known already, the task continues without being suspended.
        if let result = suspension.known { return result }
        return await wait(for: suspension, of: sender, isolation: #isolation)
    }

    private func wait(
        for suspension: Suspension<GRunLoop.SendResult>, of sender: ChannelSender, isolation: isolated (any Actor)?
    ) async -> GRunLoop.SendResult {
        await withTaskCancellationHandler {
            // This capture keeps the closure on the caller's executor.
            _ = isolation
            return await suspension.value()
        } onCancel: {
            cancel(sender)
        }
    }

    /// Blocks the thread until the channel has accepted the element at the address `element` or has ended, but at most
    /// until `end`. If the channel accepts the element, the element is moved out of this memory.
    func wait(toSend element: UnsafeMutableRawPointer, until end: Nanoseconds) -> GRunLoop.SendResult {
        let (sender, semaphore) = (ChannelSender(element), Semaphore())
        enqueue(sender, .thread(semaphore))
        // Only the thread that removes the sender from the list resumes the sender. If `cancel` does not find the
        // sender in the list, another thread has removed it and will resume it.
        if !semaphore.wait(until: end) {
            cancel(sender)
            _ = semaphore.wait(until: .never)
        }
        return sender.result
    }

    private func enqueue(_ sender: ChannelSender, _ waiter: ChannelSender.Waiter) {
        lock.lock()
        sender.wait(waiter)
        guard guarded.state == .open else {
            lock.unlock()
            return sender.resume(.closed)
        }
        guarded.senders.append(sender)
        // The receiver may have made room since the sender found the channel full.
        let admitted = admitSendersLocked()
        let told = admitted.isEmpty || guarded.isScheduled ? nil : guarded.source
        if !admitted.isEmpty { guarded.isScheduled = true }
        lock.unlock()
        if let told { Self.tell(told) }
        for sender in admitted { sender.resume(.enqueued) }
    }

    /// If a sender still waits, ends its wait with ``GRunLoop/SendResult/full``. Call this function only after
    /// ``enqueue(_:_:)``. Threads: any.
    private func cancel(_ sender: ChannelSender) {
        let wasListed = lock.withLock { () -> Bool in
            guard sender.isListed else { return false }
            guarded.senders.remove(sender)
            return true
        }
        if wasListed { sender.resume(.full, isCancelled: true) }
    }
}
