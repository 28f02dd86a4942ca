// SPDX-License-Identifier: Apache-2.0
// Where the names of message ports are in a test.

import Glibc
import Synchronization

/// A directory that goes when the process ends, and XDG_RUNTIME_DIR while it is there.
public enum RuntimeDirectory {
    /// The path, from the first call on.
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
        // A forked child may exit, too.
        guard owner == getpid() else { return }
        removeAll(path)
    }

    /// A directory with what is in it.
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

    /// A name that no other port has.
    public static func newName(_ what: String = "port") -> String {
        _ = (path, owner)
        return "org.example.\(what).\(getpid()).\(names.add(1, ordering: .relaxed).newValue)"
    }
}
