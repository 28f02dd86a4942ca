// SPDX-License-Identifier: Apache-2.0
// Facts about a file, at the time when they were read.

import CGRunGIO

extension GIO {
    /// Facts about a file, at the time when they were read.
    ///
    /// If an attribute was not read, its property has the default value that the property's comment names. See
    /// ``attribute(_:)`` for attributes without a property.
    ///
    /// Threads: any. The corresponding GLib type is `GFileInfo`.
    public final class FileInfo: Sendable {
        /// The object, for functions of C. The pointer is valid as long as the `FileInfo`. Do not change the object,
        /// because other threads may read it.
        public nonisolated(unsafe) let pointer: OpaquePointer
        /// The file that the facts describe. For an element of ``File/children(_:followsLinks:)``, it is the file in
        /// the folder.
        public let file: File

        /// Takes over a reference, as from a function of C that returns *transfer full*.
        public init(full pointer: OpaquePointer, of file: File) {
            (self.pointer, self.file) = (pointer, file)
        }

        deinit { g_object_unref(UnsafeMutableRawPointer(pointer)) }

        /// The kind of the file; `unknown` if it was not read.
        public var type: FileType {
            FileType(rawValue: g_file_info_get_attribute_uint32(pointer, G_FILE_ATTRIBUTE_STANDARD_TYPE)) ?? .unknown
        }

        /// The size in bytes; zero if it was not read.
        public var size: Int {
            Int(clamping: g_file_info_get_attribute_uint64(pointer, G_FILE_ATTRIBUTE_STANDARD_SIZE))
        }

        /// The name in the folder; empty if it was not read. Bytes that are not UTF-8 become U+FFFD, so open ``file``
        /// instead of a path with this name.
        public var name: String { text(G_FILE_ATTRIBUTE_STANDARD_NAME, g_file_info_get_attribute_byte_string) ?? "" }

        /// The bytes of the name, without a NUL at the end; nil if they were not read.
        public var nameBytes: [UInt8]? {
            g_file_info_get_attribute_byte_string(pointer, G_FILE_ATTRIBUTE_STANDARD_NAME).map { bytes(of: $0) }
        }

        /// The name for people; empty if it was not read.
        public var displayName: String { string(G_FILE_ATTRIBUTE_STANDARD_DISPLAY_NAME) ?? "" }

        /// Whether file managers hide the file; false if the attribute was not read.
        public var isHidden: Bool { boolean(G_FILE_ATTRIBUTE_STANDARD_IS_HIDDEN) }

        /// Whether the file is a symbolic link, even if the other facts describe the link's target. False if the
        /// attribute was not read.
        public var isSymbolicLink: Bool { boolean(G_FILE_ATTRIBUTE_STANDARD_IS_SYMLINK) }

        /// The text of the symbolic link; nil if the file is not a link, or if the attribute was not read. Bytes that
        /// are not UTF-8 become U+FFFD. To get the bytes, use ``attribute(_:)``.
        public var symbolicLinkTarget: String? {
            text(G_FILE_ATTRIBUTE_STANDARD_SYMLINK_TARGET, g_file_info_get_attribute_byte_string)
        }

        /// The content type, such as `text/plain`; nil if it was not read. The type is derived from the content of the
        /// file if `standard::content-type` was read, otherwise from the name.
        public var contentType: String? {
            string(G_FILE_ATTRIBUTE_STANDARD_CONTENT_TYPE) ?? string(G_FILE_ATTRIBUTE_STANDARD_FAST_CONTENT_TYPE)
        }

        /// The time of the last change of the content, since 1970-01-01 00:00 UTC; nil if it was not read.
        public var modificationTime: Duration? {
            guard has(G_FILE_ATTRIBUTE_TIME_MODIFIED) else { return nil }
            let seconds = g_file_info_get_attribute_uint64(pointer, G_FILE_ATTRIBUTE_TIME_MODIFIED)
            let micros = g_file_info_get_attribute_uint32(pointer, G_FILE_ATTRIBUTE_TIME_MODIFIED_USEC)
            // As a `time_t`, a time before 1970 is a negative number.
            return .seconds(Int(bitPattern: seconds)) + .microseconds(micros)
        }

        /// The permissions and the type as in `stat`'s `st_mode`; nil if they were not read.
        public var unixMode: UInt32? {
            guard has(G_FILE_ATTRIBUTE_UNIX_MODE) else { return nil }
            return g_file_info_get_attribute_uint32(pointer, G_FILE_ATTRIBUTE_UNIX_MODE)
        }

        /// The entity tag, which changes with each change of the content; nil if it was not read.
        public var etag: String? { string(G_FILE_ATTRIBUTE_ETAG_VALUE) }

        private func has(_ name: String) -> Bool { g_file_info_has_attribute(pointer, name) != 0 }
        private func boolean(_ name: String) -> Bool { g_file_info_get_attribute_boolean(pointer, name) != 0 }
        private func string(_ name: String) -> String? { text(name, g_file_info_get_attribute_string) }

        private func text(
            _ name: String, _ get: (OpaquePointer?, UnsafePointer<CChar>?) -> UnsafePointer<CChar>?
        ) -> String? {
            get(pointer, name).map { String(cString: $0) }
        }
    }
}
