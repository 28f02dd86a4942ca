// SPDX-License-Identifier: Apache-2.0
// One change of a file, and a bounded list of changes.

import CGRunGIO

extension GIO {
    /// A change of a watched file, or of a file in a watched folder: see ``File/changes``. The corresponding GLib type
    /// is `GFileMonitorEvent`.
    public struct FileChange: Hashable, Sendable {
        /// The kind of a change.
        public enum Kind: Hashable, Sendable {
            /// The content changed. For each file, GIO reports this change at most once in 800 ms.
            case changed
            /// Probably the last change of the content in a series.
            case changesDone
            /// The file was deleted.
            case deleted
            /// The file was created.
            case created
            /// The permissions or other attributes changed.
            case attributesChanged
            /// The file system will soon be unmounted.
            case willUnmount
            /// The file system was unmounted.
            case unmounted
            /// The file was renamed in the watched folder. ``GIO/FileChange/otherFile`` has the new name.
            case renamed
            /// The file was moved into the watched folder. ``GIO/FileChange/otherFile`` has the old name, if it is
            /// known.
            case movedIn
            /// The file was moved out of the watched folder. ``GIO/FileChange/otherFile`` has the new name, if it is
            /// known.
            case movedOut
        }

        /// The kind of the change.
        public let kind: Kind
        /// The file.
        public let file: File
        /// The other name of a file that was renamed or moved; nil if there is none.
        public let otherFile: File?
        /// How many older changes were dropped before this change, because the task was slow and the buffer was full.
        public internal(set) var droppedBefore = 0
    }

    /// The changes that the task has not taken yet: the latest changes, and the number of dropped changes.
    final class FileChangeBatch: @unchecked Sendable {
        private var changes: [FileChange]
        private var dropped = 0
        private let limit: Int

        init(_ change: FileChange, limit: Int) {
            changes = [change]
            self.limit = limit
        }

        /// Adds later changes. Drops the oldest changes only when there are twice as many as the limit allows, so that
        /// few changes are moved in memory.
        func append(_ later: FileChangeBatch) {
            changes += later.changes
            if changes.count / 2 >= limit { dropOldest() }
        }

        private func dropOldest() {
            let excess = max(0, changes.count - limit)
            changes.removeFirst(excess)
            dropped += excess
        }

        /// Returns the latest changes, at most as many as the limit allows. The first change contains the number of
        /// dropped changes.
        func limited() -> [FileChange] {
            dropOldest()
            changes[0].droppedBefore = dropped
            return changes
        }
    }
}

extension GIO.FileChange.Kind {
    /// Returns nil for an event that GIO does not send with the library's flags.
    init?(_ event: GFileMonitorEvent) {
        switch event {
        case G_FILE_MONITOR_EVENT_CHANGED: self = .changed
        case G_FILE_MONITOR_EVENT_CHANGES_DONE_HINT: self = .changesDone
        case G_FILE_MONITOR_EVENT_DELETED: self = .deleted
        case G_FILE_MONITOR_EVENT_CREATED: self = .created
        case G_FILE_MONITOR_EVENT_ATTRIBUTE_CHANGED: self = .attributesChanged
        case G_FILE_MONITOR_EVENT_PRE_UNMOUNT: self = .willUnmount
        case G_FILE_MONITOR_EVENT_UNMOUNTED: self = .unmounted
        case G_FILE_MONITOR_EVENT_RENAMED: self = .renamed
        case G_FILE_MONITOR_EVENT_MOVED_IN: self = .movedIn
        case G_FILE_MONITOR_EVENT_MOVED_OUT: self = .movedOut
        default: return nil
        }
    }
}
