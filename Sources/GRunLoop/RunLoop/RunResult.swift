// SPDX-License-Identifier: Apache-2.0
// Why a run returned.

extension GRunLoop {
    /// Why a run returned. The raw values are Core Foundation's (`CFRunLoopRunResult`).
    public enum RunResult: Int32, Hashable, Sendable, CustomStringConvertible {
        /// The mode has no source, no timer, no block and no added context left, or it never existed.
        case finished = 1
        /// ``GRunLoop/stop()`` was called on this run.
        case stopped = 2
        /// The time given has passed.
        case timedOut = 3
        /// A source was handled, and the run was asked to return after that.
        case handledSource = 4

        public var description: String {
            switch self {
            case .finished: "finished"
            case .stopped: "stopped"
            case .timedOut: "timedOut"
            case .handledSource: "handledSource"
            }
        }
    }
}
