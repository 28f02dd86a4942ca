// SPDX-License-Identifier: Apache-2.0
// A file's name and place, without any input or output.

import CGRunGIO

extension GIO {
    /// The name and place of a file or a folder. The file need not exist.
    ///
    /// ```swift
    /// let notes = try GIO.File(path: "/home/me/notes.txt")
    /// let text = try await notes.text()
    /// for try await line in try await notes.read().lines { print(line) }
    /// ```
    ///
    /// The properties of a `File` perform no input and output. The `async` functions perform input and output, and need
    /// a thread that runs a loop: see ``GIO/call(cancellable:keeping:isolation:_:finish:)``. Cancelling the task
    /// cancels these functions.
    ///
    /// Threads: any, because a `GFile` never changes. The corresponding GLib type is `GFile`.
    public final class File: Sendable {
        /// The object, for functions of C. The pointer is valid as long as the `File`. Threads: any.
        public nonisolated(unsafe) let pointer: OpaquePointer

        /// Takes over a reference to a `GFile`, as from a function of C that returns *transfer full*. Threads: any.
        public init(full pointer: OpaquePointer) { self.pointer = pointer }

        /// Adds a reference to a `GFile`, as from a function of C that returns *transfer none*. Threads: any.
        public convenience init(retaining pointer: OpaquePointer) {
            g_object_ref(UnsafeMutableRawPointer(pointer))
            self.init(full: pointer)
        }

        /// Makes the file of a path. A relative path is relative to the current folder of the process.
        ///
        /// - Throws: ``GIO/ErrorCode/invalidArgument`` if the path contains a NUL.
        ///
        /// Threads: any. The corresponding GLib function is `g_file_new_for_path`.
        public convenience init(path: String) throws(GLibError) {
            self.init(full: g_file_new_for_path(try withoutNUL(path)))
        }

        /// Makes the file of a path that need not be UTF-8, without a NUL at its end.
        ///
        /// - Throws: ``GIO/ErrorCode/invalidArgument`` if the path contains a NUL.
        ///
        /// Threads: any. The corresponding GLib function is `g_file_new_for_path`.
        public convenience init(pathBytes: [UInt8]) throws(GLibError) {
            self.init(full: try withCString(of: pathBytes) { g_file_new_for_path($0) })
        }

        /// Makes the file of a URI, such as `file:///tmp/a%20b`. If no service such as gvfs supports the URI's scheme,
        /// the asynchronous functions of the file throw ``GIO/ErrorCode/notSupported``.
        ///
        /// - Throws: ``GIO/ErrorCode/invalidArgument`` if the URI contains a NUL.
        ///
        /// Threads: any. The corresponding GLib function is `g_file_new_for_uri`.
        public convenience init(uri: String) throws(GLibError) {
            self.init(full: g_file_new_for_uri(try withoutNUL(uri)))
        }

        /// Makes the file of an argument of the command line, which is a path or a URI.
        ///
        /// - Throws: ``GIO/ErrorCode/invalidArgument`` if the argument contains a NUL.
        ///
        /// Threads: any. The corresponding GLib function is `g_file_new_for_commandline_arg`.
        public convenience init(commandLineArgument: String) throws(GLibError) {
            self.init(full: g_file_new_for_commandline_arg(try withoutNUL(commandLineArgument)))
        }

        deinit { g_object_unref(UnsafeMutableRawPointer(pointer)) }

        /// The file with a path that is relative to this folder, such as `notes.txt` or `a/b`.
        ///
        /// - Throws: ``GIO/ErrorCode/invalidArgument`` if the path contains a NUL.
        ///
        /// Threads: any. The corresponding GLib function is `g_file_resolve_relative_path`.
        public func child(_ path: String) throws(GLibError) -> File {
            File(full: g_file_resolve_relative_path(pointer, try withoutNUL(path)))
        }

        /// The file with a relative path that need not be UTF-8, without a NUL at its end.
        ///
        /// - Throws: ``GIO/ErrorCode/invalidArgument`` if the path contains a NUL.
        ///
        /// Threads: any. The corresponding GLib function is `g_file_resolve_relative_path`.
        public func child(pathBytes: [UInt8]) throws(GLibError) -> File {
            File(full: try withCString(of: pathBytes) { g_file_resolve_relative_path(pointer, $0) })
        }

        /// The folder of the file; nil for the root. Threads: any. The corresponding GLib function is
        /// `g_file_get_parent`.
        public var parent: File? { g_file_get_parent(pointer).map { File(full: $0) } }

        /// The local path; nil if the file has no local path, or if the path is not UTF-8. See ``pathBytes``. Threads:
        /// any. The corresponding GLib function is `g_file_get_path`.
        public var path: String? { pathBytes.flatMap { String(validating: $0, as: UTF8.self) } }

        /// The bytes of the local path, without a NUL at the end; nil if the file has no local path. Threads: any. The
        /// corresponding GLib function is `g_file_get_path`.
        public var pathBytes: [UInt8]? { takeBytes(g_file_get_path(pointer)) }

        /// The URI of the file. Threads: any. The corresponding GLib function is `g_file_get_uri`.
        public var uri: String { takeText(g_file_get_uri(pointer)) ?? "" }

        /// The last part of the path; empty if the file has no path. Bytes that are not UTF-8 become U+FFFD, so do not
        /// use the result to make a path. Threads: any. The corresponding GLib function is `g_file_get_basename`.
        public var basename: String { takeText(g_file_get_basename(pointer)) ?? "" }

        /// The path or the URI as a text for people. Threads: any. The corresponding GLib function is
        /// `g_file_get_parse_name`.
        public var displayName: String { takeText(g_file_get_parse_name(pointer)) ?? "" }
    }
}

extension GIO.File: Hashable, CustomStringConvertible {
    /// Returns whether both files have the same name and place. Two names of one file, such as a link and its target,
    /// are not equal. The corresponding GLib function is `g_file_equal`.
    public static func == (one: GIO.File, other: GIO.File) -> Bool { g_file_equal(one.pointer, other.pointer) != 0 }

    /// Adds the hash of the name and place. The corresponding GLib function is `g_file_hash`.
    public func hash(into hasher: inout Hasher) { hasher.combine(g_file_hash(UnsafeRawPointer(pointer))) }

    /// The display name. Threads: any.
    public var description: String { displayName }
}
