// SPDX-License-Identifier: Apache-2.0
// The mode in which a host is served.

extension GRunLoop {
    /// The mode in which a host is served: what ``push(ambientMode:)`` named last, ``Mode/default`` at first.
    ///
    /// Threads: any. There is no corresponding Core Foundation function.
    public var ambientMode: Mode {
        Fork.refuses("ambientMode") ? .default : lock.withLock { host.ambientMode.name }
    }

    /// Has the host that drives this loop (GTK, GIO, any iteration of the home context) serve it in another mode, from
    /// the next pass on.
    ///
    /// A drag pushes ``Mode/tracking``. Items of the default mode wait meanwhile. Those of the common modes go on, as
    /// do the main queue and GTK itself, because the mode becomes one of the common modes.
    ///
    /// It changes no run of ours that is under way, and none that begins later: a run has its own mode.
    ///
    /// - Parameter name: the mode. ``Mode/common`` is none: that is logged, and nothing is pushed.
    /// - Returns: what ends it, by ``PushedMode/pop()``.
    /// - Throws: what ``addCommonMode(_:)`` throws; then nothing is pushed.
    ///
    /// Threads: the loop's own; from another one it is logged, and nothing is pushed. There is no corresponding Core
    /// Foundation function: there it is the host that runs the loop in another mode.
    public func push(ambientMode name: Mode) throws(DescriptorError) -> PushedMode {
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
            owed.owe(.work)
        }
        return token
    }

    /// Calls `body` with another ambient mode: see ``push(ambientMode:)``. It is of use where `body` runs a loop of the
    /// host's.
    ///
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws, and what ``push(ambientMode:)`` throws; then `body` was not called.
    ///
    /// Threads: the loop's own; from another one it is logged, and `body` is called without another mode.
    public func withAmbientMode<Result, Failure: Error>(
        _ name: Mode, _ body: () throws(Failure) -> Result
    ) throws -> Result {
        let token = try push(ambientMode: name)
        defer { token.pop() }
        return try body()
    }

    /// The pushed mode of that id, if it is still pushed.
    func pushedAmbientMode(_ id: UInt32) -> PushedMode? {
        lock.withLock { host.pushed.last { $0.token.id == id }?.token }
    }
}
