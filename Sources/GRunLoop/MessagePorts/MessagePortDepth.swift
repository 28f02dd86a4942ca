// SPDX-License-Identifier: Apache-2.0
// How deep a message port's handler is called within itself.

/// Counts the calls of a handler that have not returned. Threads: any.
final class HandlerDepth: @unchecked Sendable {
    private let lock = Lock.take()
    @exclusivity(unchecked) private var state = State()

    /// Guarded by the lock.
    private struct State {
        var most = 16
        var count = 0
        /// The loop of the calls, as long as there are any.
        var loop: GRunLoop?
        /// Changes when the calls so far do not count any more.
        var round = 0
    }

    deinit { Lock.giveBack(lock) }

    var most: Int {
        get { lock.withLock { state.most } }
        set { lock.withLock { state.most = max(1, newValue) } }
    }

    /// Whether the handler must not be called again before a call has returned.
    var isReached: Bool { lock.withLock { state.count >= state.most } }

    /// A call begins.
    func enter(on loop: GRunLoop?) -> (round: Int, isLast: Bool) {
        lock.withLock {
            state.count += 1
            state.loop = loop
            return (state.round, state.count >= state.most)
        }
    }

    /// A call of that round has returned. Returns whether it was the last one that was allowed.
    func leave(_ round: Int) -> Bool {
        lock.withLock {
            guard round == state.round else { return false }
            defer { state.count -= 1 }
            // The loop that calls also holds itself, so this is never its last reference.
            if state.count == 1 { state.loop = nil }
            return state.count >= state.most
        }
    }

    /// Forgets calls that are on another loop, or whose thread has ended. Returns whether there were any.
    func forget(unlessOn loop: GRunLoop) -> Bool {
        // The former loop is released outside the lock: this may be its last reference.
        let (wereAny, _) = lock.withLock { () -> (Bool, GRunLoop?) in
            guard state.count > 0, loop.isDead || state.loop !== loop else { return (false, nil) }
            defer { state.loop = nil }
            state.count = 0
            state.round += 1
            return (true, state.loop)
        }
        return wereAny
    }
}

extension GRunLoop.MessagePort {
    /// The maximum recursion depth of the handler: 16 unless it is set. Less than 1 counts as 1. 0 in a forked child.
    ///
    /// If the handler runs the loop in one of the port's modes, the port calls it recursively for the next message.
    /// ``GRunLoop/RemoteMessagePort/request(_:_:descriptors:sendTimeout:receiveTimeout:replyMode:)`` also runs it.
    /// Without a limit, a fast sender could exhaust the thread's stack. At the maximum depth the port is not served
    /// until a call returns. Its messages wait, and the loop sleeps.
    ///
    /// With 1 the handler is never called recursively. If the handler then waits for a message to its own port, it
    /// waits until its timeout. A new value takes effect immediately. The depth is 0 again when the port is added to a
    /// loop while it is in no mode.
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

    /// Calls the handler. While it is as deep in itself as it may be, the port is not ready.
    func call(_ handler: (Message) -> Void, _ message: Message) {
        let (round, isLast) = depth.enter(on: ThreadLoops.peek)
        if isLast { watchUnlessTooDeep() }
        handler(message)
        if depth.leave(round) { watchUnlessTooDeep() }
    }

    /// Before the port is added to a loop.
    func forgetFormerHandlers(unlessOn loop: GRunLoop) {
        if isNowhere, depth.forget(unlessOn: loop) { watchUnlessTooDeep() }
    }

    private func watchUnlessTooDeep() {
        // Another thread may change the limit meanwhile, so this repeats until depth and conditions agree.
        while true {
            let isReached = depth.isReached
            change(to: isReached ? [] : .readable)
            if depth.isReached == isReached { return }
        }
    }
}
