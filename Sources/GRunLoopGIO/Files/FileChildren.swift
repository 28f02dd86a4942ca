// SPDX-License-Identifier: Apache-2.0
// The files in a folder, as an asynchronous sequence.

import CGRunGIO

extension GIO.File {
    /// Returns the files in this folder, in no particular order, without the files in subfolders.
    ///
    /// ```swift
    /// for try await info in folder.children() where info.type == .regular {
    ///     print(info.displayName, info.size)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - attributes: the attributes to read. The name is always read, because it is in each element's
    ///     ``GIO/FileInfo/file``. Reading `standard::content-type` opens each file.
    ///   - followsLinks: if true, the facts of a symbolic link describe its target.
    ///
    /// Threads: any. The corresponding GLib function is `g_file_enumerate_children_async`.
    public func children(_ attributes: String = Children.usual, followsLinks: Bool = true) -> Children {
        Children(folder: self, attributes: attributes, followsLinks: followsLinks)
    }

    /// The files in a folder, for `for try await`: see ``children(_:followsLinks:)``.
    ///
    /// An iterator opens the folder when the task asks for the first element. The iterator reads 100 files at a time,
    /// and reads further files only when the task asks for them. Releasing the iterator closes the folder. Threads:
    /// any.
    public struct Children: AsyncSequence, Sendable {
        /// The attributes that the properties of ``GIO/FileInfo`` need, except the content type and the entity tag. The
        /// content type is derived from the name. Threads: any.
        public static let usual = """
            standard::name,standard::display-name,standard::type,standard::size,standard::is-hidden,\
            standard::is-symlink,standard::symlink-target,standard::fast-content-type,time::modified,\
            time::modified-usec,unix::mode
            """

        let folder: GIO.File
        let attributes: String
        let followsLinks: Bool

        /// Makes an iterator, which begins at the first file. Threads: any.
        public func makeAsyncIterator() -> Iterator { Iterator(self) }

        /// Reads the files of a folder. Only one task at a time may use an iterator.
        public struct Iterator: AsyncIteratorProtocol {
            private let children: Children
            private var enumerator: GRef<UnsafeMutablePointer<GFileEnumerator>>?
            /// The files that were read, in reverse order: the next file is last.
            private var batch: [GIO.FileInfo] = []
            private var hasEnded = false

            init(_ children: Children) { self.children = children }

            /// Returns the next file; nil after the last file, and after an error.
            ///
            /// - Throws: a ``GLibError``, such as ``GIO/ErrorCode/notDirectory``; the errors of
            ///   ``GIO/call(cancellable:keeping:isolation:_:finish:)``.
            ///
            /// Threads: a thread that runs a loop. The corresponding GLib function is
            /// `g_file_enumerator_next_files_async`.
            nonisolated(nonsending) public mutating func next() async throws -> GIO.FileInfo? {
                try await next(isolation: #isolation)
            }

            /// Returns the next file, as ``next()`` does; called by `for try await`.
            ///
            /// - Throws: the errors of ``next()``.
            ///
            /// Threads: a thread that runs a loop.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> GIO.FileInfo? {
                if batch.isEmpty, !hasEnded {
                    // An error or a cancellation ends the sequence.
                    hasEnded = true
                    let opened: GRef<UnsafeMutablePointer<GFileEnumerator>>
                    if let enumerator { opened = enumerator } else { opened = try await open(isolation: actor) }
                    batch = try await read(opened, isolation: actor)
                    hasEnded = batch.isEmpty
                    enumerator = hasEnded ? nil : opened
                    if hasEnded { try await close(opened, isolation: actor) }
                }
                return batch.popLast()
            }

            private func open(
                isolation: isolated (any Actor)?
            ) async throws -> GRef<UnsafeMutablePointer<GFileEnumerator>> {
                let attributes = try withoutNUL("\(G_FILE_ATTRIBUTE_STANDARD_NAME),\(children.attributes)")
                let (folder, flags) = (children.folder.pointer, GIO.File.query(children.followsLinks))
                let enumerator = try await GIO.call(isolation: isolation) {
                    g_file_enumerate_children_async(folder, attributes, flags, 0, $0, $1, $2)
                } finish: { _, result, error in
                    GRef(full: g_file_enumerate_children_finish(folder, result, error))
                }
                return try enumerator.orFailure()
            }

            private func read(
                _ enumerator: GRef<UnsafeMutablePointer<GFileEnumerator>>, isolation: isolated (any Actor)?
            ) async throws -> [GIO.FileInfo] {
                try await GIO.call(isolation: isolation) {
                    g_file_enumerator_next_files_async(enumerator.pointer, 100, 0, $0, $1, $2)
                } finish: { _, result, error in
                    let list = g_file_enumerator_next_files_finish(enumerator.pointer, result, error)
                    defer { g_list_free(list) }
                    var (infos, each) = ([GIO.FileInfo](), list)
                    while let link = each {
                        let info = OpaquePointer(link.pointee.data)
                        if let info, let file = g_file_enumerator_get_child(enumerator.pointer, info) {
                            infos.append(GIO.FileInfo(full: info, of: GIO.File(full: file)))
                        }
                        each = link.pointee.next
                    }
                    return infos.reversed()
                }
            }

            private func close(
                _ enumerator: GRef<UnsafeMutablePointer<GFileEnumerator>>, isolation: isolated (any Actor)?
            ) async throws {
                try await GIO.call(isolation: isolation) {
                    g_file_enumerator_close_async(enumerator.pointer, 0, $0, $1, $2)
                } finish: { _, result, error in
                    _ = g_file_enumerator_close_finish(enumerator.pointer, result, error)
                }
            }
        }
    }
}
