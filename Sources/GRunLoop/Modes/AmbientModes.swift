// SPDX-License-Identifier: Apache-2.0
// The ambient mode, in which a host serves the loop.

extension GRunLoop {
    /// The mode in which a host serves the loop. It is the mode that ``push(ambientMode:)`` pushed last, or
    /// ``Mode/default`` if none is pushed.
    ///
    /// Threads: any. There is no corresponding Core Foundation function.
    public var ambientMode: Mode {
        Fork.refuses("ambientMode") ? .default : lock.withLock { host.ambientMode.name }
    }

    /// Makes the host serve this loop in another mode, from the next pass on. The host is GTK, GIO, or any code that
    /// iterates the loop's home context.
    ///
    /// For example, push ``Mode/tracking`` during a drag, so that items of the default mode wait. The pushed mode
    /// becomes a common mode, so common items, the main queue and GTK itself are still served.
    ///
    /// The push does not affect a run without a host, because such a run has its own mode.
    ///
    /// - Parameter name: the mode. ``Mode/common`` cannot be pushed: the call is logged, and pushes nothing.
    /// - Returns: a token. Its ``PushedMode/pop()`` removes the mode again.
    /// - Throws: the error of ``addCommonMode(_:)``. In that case, no mode is pushed.
    ///
    /// Threads: the loop's own thread; on another thread the process ends with a message. There is no corresponding
    /// Core Foundation function, because on Darwin the host itself runs the loop in another mode.
    public func push(ambientMode name: Mode) throws(SystemError) -> PushedMode {
        var unpushed: PushedMode { PushedMode(name, of: self, id: 0) }
        guard !refuses("push(ambientMode:)"), requireOwnThread("push(ambientMode:)") else { return unpushed }
        guard name != .common else {
            Log.misuse(
                "push(ambientMode:)",
                ".common stands for all common modes and cannot be current; pass one of these modes")
            return unpushed
        }
        try addCommonMode(name)
        return lock.withLock {
            let token = PushedMode(name, of: self, id: host.unusedID())
            host.push(token, modeLocked(name))
            // Blocks and signalled sources that already wait in this mode need a pass.
            pendingPasses.add(.work)
            return token
        }
    }

    /// Pushes an ambient mode while `body` runs: see ``push(ambientMode:)``. Use this method if `body` runs a loop of
    /// the host, such as the loop of a dialog.
    ///
    /// - Returns: the value of `body`.
    /// - Throws: the errors of `body` and of ``push(ambientMode:)``. If the push fails, `body` is not called.
    ///
    /// Threads: the loop's own thread; on another thread the process ends with a message.
    public func withAmbientMode<Result, Failure: Error>(
        _ name: Mode, _ body: () throws(Failure) -> Result
    ) throws -> Result {
        let token = try push(ambientMode: name)
        defer { token.pop() }
        return try body()
    }

    /// Returns the token with this `id`; nil if its mode is no longer pushed.
    func pushedAmbientMode(_ id: UInt32) -> PushedMode? {
        lock.withLock { host.pushed.last { $0.token.id == id }?.token }
    }
}
