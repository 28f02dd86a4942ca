// SPDX-License-Identifier: Apache-2.0
// The recursion depth of a message port's handler.

public import GRunLoop

/// Counts the calls of a handler that have not returned. Threads: any.
final class HandlerDepth: @unchecked Sendable {
    private let lock = Lock.take()
    @exclusivity(unchecked) private var state = State()

    /// Guarded by the lock.
    private struct State {
        var most = 16
        var count = 0
        /// The number of the loop on whose thread the calls run; 0 if the thread has no loop. Two loops never have the
        /// same number.
        var loop: UInt64 = 0
        /// Incremented when ``forget(unlessOn:)`` resets the count, so that calls from before the reset do not
        /// decrement the new count when they return.
        var round = 0
    }

    deinit { Lock.giveBack(lock) }

    var most: Int {
        get { lock.withLock { state.most } }
        set { lock.withLock { state.most = max(1, newValue) } }
    }

    /// True if the count is at the maximum, so that the handler must not be called before a call returns.
    var isReached: Bool { lock.withLock { state.count >= state.most } }

    /// Counts a call that begins. Returns the round for ``leave(_:)``, and whether the maximum is now reached.
    func enter(on loop: GRunLoop?) -> (round: Int, isLast: Bool) {
        lock.withLock {
            state.count += 1
            state.loop = loop?.number ?? 0
            return (state.round, state.count >= state.most)
        }
    }

    /// Subtracts a call that has returned, if it belongs to the present round. Returns whether the depth was at the
    /// maximum before.
    func leave(_ round: Int) -> Bool {
        lock.withLock {
            guard round == state.round else { return false }
            defer { state.count -= 1 }
            return state.count >= state.most
        }
    }

    /// Resets the count, unless the counted calls run on `loop` and the thread of `loop` has not ended. Returns whether
    /// it has reset the count.
    func forget(unlessOn loop: GRunLoop) -> Bool {
        lock.withLock {
            guard state.count > 0, loop.isDead || state.loop != loop.number else { return false }
            state.count = 0
            state.round += 1
            return true
        }
    }
}

extension GRunLoop.MessagePort {
    /// The maximum recursion depth of the handler. The default is 16. A value less than 1 counts as 1. In a forked
    /// child the value is 0.
    ///
    /// If the handler runs the loop in one of the port's modes, the port calls the handler recursively for the next
    /// message. ``GRunLoop/RemoteMessagePort/request(_:_:descriptors:sendTimeout:receiveTimeout:replyMode:)`` also runs
    /// the loop. Without a limit, a fast sender could exhaust the thread's stack. At the maximum depth the port handles
    /// no message until a call returns. Meanwhile the messages wait, and do not keep the loop from sleeping.
    ///
    /// With a maximum of 1 the handler is never called recursively. If the handler then waits for a message to its own
    /// port, the wait ends only at its timeout. A new maximum takes effect immediately. If a port that is in no mode is
    /// added to another loop, the port's depth starts again from 0.
    ///
    /// Threads: any. There is no corresponding Core Foundation function: `CFMessagePort` has no limit.
    public var maximumHandlerDepth: Int {
        get { Fork.isChild ? 0 : depth.most }
        set {
            guard !Fork.refuses("MessagePort.maximumHandlerDepth") else { return }
            depth.most = newValue
            watchUnlessTooDeep()
        }
    }

    /// Calls the handler. At the maximum depth the port's source waits for no condition, so that no loop calls the
    /// handler again.
    func call(_ handler: (Message) -> Void, _ message: Message) {
        let (round, isLast) = depth.enter(on: ThreadLoops.peek)
        if isLast { watchUnlessTooDeep() }
        handler(message)
        if depth.leave(round) { watchUnlessTooDeep() }
    }

    /// Resets the depth if the port is in no mode, unless calls of the handler on `loop` have not returned yet. Called
    /// before the port is added to `loop`.
    func forgetFormerHandlers(unlessOn loop: GRunLoop) {
        if source?.isNowhere ?? true, depth.forget(unlessOn: loop) { watchUnlessTooDeep() }
    }

    /// Makes the source wait for a message, or for no condition while the depth is at its maximum.
    func watchUnlessTooDeep() {
        // Another thread may change the limit or the depth meanwhile, so the loop repeats until the source's conditions
        // are right.
        while true {
            let isReached = depth.isReached
            source?.change(to: isReached ? [] : .readable)
            if depth.isReached == isReached { return }
        }
    }
}
