// SPDX-License-Identifier: Apache-2.0
// The current mode, with and without a host.

extension GRunLoop {
    /// The mode of the innermost run or, in a callback of a host, the ambient mode. Nil outside of runs and host
    /// callbacks.
    ///
    /// Threads: any. Another thread cannot see that a callback of the host is under way. Another thread gets the mode
    /// of the loop's innermost run or of the pass that a host is driving, or nil. The corresponding Core Foundation
    /// function is `CFRunLoopCopyCurrentMode`.
    public var currentMode: Mode? {
        guard !Fork.refuses("currentMode") else { return nil }
        // If a callout of the run runs a foreign loop, the stack also has the foreign loop's dispatches. In this case,
        // the ambient mode is current.
        let depth = isCurrent ? Contexts.depth : 0
        return lock.withLock {
            if let frame, depth <= max(frame.depth, ownDispatchDepth) { return frame.mode.name }
            return depth > 0 ? host.ambientMode.name : nil
        }
    }
}
