// SPDX-License-Identifier: Apache-2.0
// What the current mode is, whoever drives.

extension GRunLoop {
    /// The mode of the innermost run; where a host drives, the ambient mode in every callback of it; nil outside both.
    ///
    /// Threads: any. Another thread is told the mode of what the loop's own code is doing: it cannot see that a host's
    /// callback is under way. The corresponding Core Foundation function is `CFRunLoopCopyCurrentMode`.
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
