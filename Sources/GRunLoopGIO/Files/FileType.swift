// SPDX-License-Identifier: Apache-2.0
// The kind of a file.

extension GIO {
    /// The kind of a file. The corresponding GLib type is `GFileType`.
    public enum FileType: UInt32, Sendable {
        /// The kind is not known.
        case unknown
        /// A regular file, which has content.
        case regular
        /// A folder.
        case directory
        /// A symbolic link, if the facts describe the link and not its target.
        case symbolicLink
        /// A socket, a FIFO or a device.
        case special
        /// A link of a network file system.
        case shortcut
        /// A place that can be mounted.
        case mountable
    }
}
