// SPDX-License-Identifier: Apache-2.0
// The current mode, with and without a host.

extension GRunLoop {
    /// The mode of the innermost run. In a callback of a host it is the ambient mode; outside both it is nil.
    ///
    /// Threads: any. Another thread gets the mode of what the loop's own code is doing, because it cannot see that a
    /// host's callback is under way. The corresponding Core Foundation function is `CFRunLoopCopyCurrentMode`.
    public var currentMode: Mode? {
        guard !Fork.refuses("currentMode") else { return nil }
        // A foreign loop inside a callout of a run has more dispatches on the stack than the run itself.
        let depth = isCurrent ? Contexts.depth : 0
        return lock.withLock {
            if let frame, depth <= max(frame.depth, ownDispatchDepth) { return frame.mode.name }
            return depth > 0 ? host.ambientMode.name : nil
        }
    }
}
