// SPDX-License-Identifier: Apache-2.0
// The directory of message port names for tests.

import Glibc
import Synchronization

/// A temporary directory as XDG_RUNTIME_DIR. It is removed when the process ends.
public enum RuntimeDirectory {
    /// The path. The first use creates the directory.
    public static let path: String = {
        var template = Array("/tmp/grun-test-XXXXXX".utf8CString)
        precondition(mkdtemp(&template) != nil, "mkdtemp failed with \(errno)")
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        setenv("XDG_RUNTIME_DIR", path, 1)
        atexit { RuntimeDirectory.remove() }
        return path
    }()

    private static let owner = getpid()

    private static func remove() {
        // A forked child may exit as well, and must not remove the directory.
        guard owner == getpid() else { return }
        removeAll(path)
    }

    /// Removes a directory with its content.
    public static func removeAll(_ path: String) {
        guard let directory = opendir(path) else {
            unlink(path)
            return
        }
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name != ".", name != ".." else { continue }
            let type = Int32(entry.pointee.d_type)
            if type == Int32(DT_DIR) { removeAll(path + "/" + name) } else { unlink(path + "/" + name) }
        }
        closedir(directory)
        rmdir(path)
    }

    private static let names = Atomic(0)

    /// Returns a name that no other port has.
    public static func newName(_ what: String = "port") -> String {
        _ = (path, owner)
        return "org.example.\(what).\(getpid()).\(names.add(1, ordering: .relaxed).newValue)"
    }
}
