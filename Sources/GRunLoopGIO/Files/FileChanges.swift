// SPDX-License-Identifier: Apache-2.0
// The changes of a file or a folder, as an asynchronous sequence.

import CGRunGIO
import GRunLoop

extension GIO.File {
    /// The changes of this file, or of the files in this folder. The buffer holds 1,024 changes: see
    /// ``changes(bufferingLatest:)``. Threads: any.
    public var changes: Changes { changes(bufferingLatest: 1024) }

    /// Returns the changes of this file, or of the files in this folder, but not the changes in subfolders.
    ///
    /// ```swift
    /// for try await change in folder.changes {
    ///     print(change.kind, change.file)
    /// }
    /// ```
    ///
    /// An iterator begins to watch when it is made. The sequence ends only when the task is cancelled, the iterator is
    /// released, or the loop ends.
    ///
    /// - Parameter count: the largest number of changes that can wait for a slow task. If there are more, the oldest
    ///   changes are dropped. ``GIO/FileChange/droppedBefore`` of the next element is the number of dropped changes.
    ///   Zero and negative numbers count as 1.
    ///
    /// Threads: any. The corresponding GLib function is `g_file_monitor`, with `G_FILE_MONITOR_WATCH_MOVES`.
    public func changes(bufferingLatest count: Int) -> Changes { Changes(file: self, limit: max(1, count)) }

    /// The changes of a file, for `for try await`: see ``changes(bufferingLatest:)``.
    public struct Changes: AsyncSequence, Sendable {
        let file: GIO.File
        let limit: Int

        /// Makes an iterator, which begins to watch immediately. If the watch cannot begin, the iterator's first call
        /// throws the error.
        ///
        /// Threads: a thread that runs a loop.
        public func makeAsyncIterator() -> Iterator { Iterator(of: file, limit: limit) }

        /// Receives the changes of a file. Releasing the iterator, or cancelling the task, ends the watch. If two tasks
        /// await one iterator, the process ends with a message.
        public struct Iterator: AsyncIteratorProtocol {
            private var watch: Result<FileWatch, any Error>?
            /// The changes that were taken from the watch.
            private var batch: [GIO.FileChange] = []
            private var position = 0

            init(of file: GIO.File, limit: Int) {
                watch = Result { try FileWatch(file, limit: limit) }
            }

            /// Waits for the next change; nil after the task was cancelled, and after an error.
            ///
            /// - Throws: the ``GLibError`` of `g_file_monitor`; ``GIO/WrongThreadError`` if no loop runs on the thread
            ///   that made the iterator; `GRunLoop.LoopEndedError` if this loop ends.
            ///
            /// Threads: any. The corresponding GLib signal is `GFileMonitor::changed`.
            nonisolated(nonsending) public mutating func next() async throws -> GIO.FileChange? {
                try await next(isolation: #isolation)
            }

            /// Waits for the next change, as ``next()`` does; called by `for try await`.
            ///
            /// - Throws: the errors of ``next()``.
            ///
            /// Threads: any.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> GIO.FileChange? {
                if position == batch.count {
                    (batch, position) = ([], 0)
                    guard let current = watch else { return nil }
                    watch = nil
                    guard let taken = try await current.get().next(isolation: actor) else { return nil }
                    (watch, batch, position) = (current, taken, 0)
                }
                position += 1
                return batch[position - 1]
            }
        }
    }
}
