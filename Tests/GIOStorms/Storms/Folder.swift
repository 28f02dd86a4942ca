// SPDX-License-Identifier: Apache-2.0
// A temporary folder.

import GRunLoopGIO
import Glibc

/// A folder for files that the storms use.
struct Folder: Sendable {
    let path: String

    /// Makes a folder in `TMPDIR`, or in `/tmp`.
    init() throws {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        guard let name = strdup("\(parent)/grun-storms-XXXXXX") else { throw Finding("no memory") }
        defer { free(name) }
        guard mkdtemp(name) != nil else { throw Finding("no folder in \(parent)") }
        path = String(cString: name)
    }

    /// Makes a folder in a folder.
    func folder(_ name: String) throws -> Folder {
        guard mkdir("\(path)/\(name)", 0o700) == 0 else { throw Finding("no folder \(name)") }
        return Folder(path: "\(path)/\(name)")
    }

    private init(path: String) { self.path = path }

    func file(_ name: String) throws -> GIO.File {
        let file = try GIO.File(path: "\(path)/\(name)")
        Census.add(file.pointer)
        return file
    }

    /// Makes a file, or appends bytes to it.
    func append(_ count: Int, to name: String) {
        let descriptor = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        _ = write(descriptor, [UInt8](repeating: 1, count: count), count)
        close(descriptor)
    }

    func delete(_ name: String) { unlink("\(path)/\(name)") }

    /// Deletes the folder, and all that is in it.
    func delete() {
        for name in names where unlink("\(path)/\(name)") != 0 { Folder(path: "\(path)/\(name)").delete() }
        rmdir(path)
    }

    /// The names in the folder.
    var names: [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            // Copying the name would also copy the bytes behind it, which have no value.
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(cString: $0.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: CChar.self))
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
