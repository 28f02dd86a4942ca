// SPDX-License-Identifier: Apache-2.0
// The ambient mode: the mode in which a host serves the loop.

extension GRunLoop {
    /// The mode in which a host serves the loop: the one that ``push(ambientMode:)`` named last, or ``Mode/default`` at
    /// first.
    ///
    /// Threads: any. There is no corresponding Core Foundation function.
    public var ambientMode: Mode {
        Fork.refuses("ambientMode") ? .default : lock.withLock { host.ambientMode.name }
    }

    /// Makes the host that drives this loop serve it in another mode, from the next pass on. The host is GTK, GIO, or
    /// any code that iterates the home context.
    ///
    /// For example, a drag pushes ``Mode/tracking``. Items of the default mode wait meanwhile. The mode becomes one of
    /// the common modes, so common items, the main queue and GTK itself go on.
    ///
    /// It has no effect on runs without a host, neither on those under way nor on later ones: a run has its own mode.
    ///
    /// - Parameter name: the mode. ``Mode/common`` cannot be pushed: that is logged, and nothing is pushed.
    /// - Returns: the token that ends the mode, by ``PushedMode/pop()``.
    /// - Throws: what ``addCommonMode(_:)`` throws; then nothing is pushed.
    ///
    /// Threads: the loop's own; on another thread the process ends with a message. There is no corresponding Core
    /// Foundation function: there the host itself runs the loop in another mode.
    public func push(ambientMode name: Mode) throws(SystemError) -> PushedMode {
        let token = PushedMode(name, of: self)
        guard !refuses("push(ambientMode:)"), requireOwnThread("push(ambientMode:)") else { return token }
        guard name != .common else {
            Log.misuse(
                "push(ambientMode:)", ".common stands for all common modes and cannot be current; name one of them")
            return token
        }
        try addCommonMode(name)
        lock.withLock {
            host.push(token, modeLocked(name))
            // Blocks and signals that wait for this mode need a pass now.
            pendingPasses.add(.work)
        }
        return token
    }

    /// Calls `body` while another ambient mode is pushed: see ``push(ambientMode:)``. Use it if `body` runs a loop of
    /// the host.
    ///
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws. Also what ``push(ambientMode:)`` throws; in that case `body` was not called.
    ///
    /// Threads: the loop's own; on another thread the process ends with a message.
    public func withAmbientMode<Result, Failure: Error>(
        _ name: Mode, _ body: () throws(Failure) -> Result
    ) throws -> Result {
        let token = try push(ambientMode: name)
        defer { token.pop() }
        return try body()
    }

    /// Returns the pushed mode of that id; nil if it is not pushed any more.
    func pushedAmbientMode(_ id: UInt32) -> PushedMode? {
        lock.withLock { host.pushed.last { $0.token.id == id }?.token }
    }
}
