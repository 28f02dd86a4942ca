// SPDX-License-Identifier: Apache-2.0
// Why a run returned.

extension GRunLoop {
    /// Why a run returned. The raw values are Core Foundation's (`CFRunLoopRunResult`).
    public enum RunResult: Int32, Hashable, Sendable, CustomStringConvertible {
        /// Nothing is left to wait for: no source, port, timer, delayed perform, block, idle work or added context, and
        /// no main queue to serve. Also returned if the mode does not exist or cannot be run. `kCFRunLoopRunFinished`.
        case finished = 1
        /// ``GRunLoop/stop()`` was called on this run. `kCFRunLoopRunStopped`.
        case stopped = 2
        /// The time limit has passed. `kCFRunLoopRunTimedOut`.
        case timedOut = 3
        /// A source was handled, and the run was asked to return after that. `kCFRunLoopRunHandledSource`.
        case handledSource = 4

        /// The result's name.
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
