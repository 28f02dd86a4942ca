// SPDX-License-Identifier: Apache-2.0
// The names of message ports: files in a directory of the user's.
//
// A name is owned by the port that holds the lock on its lock file, as long as that file has its name. Only the owner
// unlinks and binds the socket beside it, and unlinks the lock file when it gives the name up. So the name of an owner
// that was killed can be taken, and that of one that is just starting cannot.

import CGRun
import Glibc
import Synchronization

/// A name that a port can have, and the file that stands for it.
struct PortName: Sendable {
    static let longest = 128

    let text: String
    /// A hash: a name may have a slash, and more bytes than a file's name.
    let file: [CChar]

    init(_ text: String) throws(GRunLoop.MessagePortError) {
        guard !text.isEmpty, text.utf8.count <= Self.longest, !text.utf8.contains(0) else { throw .invalidName(text) }
        self.text = text
        var file = [CChar](repeating: 0, count: Int(CGRUN_PORT_FILE))
        cgrun_port_file(text, &file)
        self.file = file
    }

    /// Connects a socket. False if too many wait to be let in.
    func connect(_ socket: MessageSocket) throws(GRunLoop.MessagePortError) -> Bool {
        let directory = try PortDirectory.open(makes: false, for: self)
        guard !cgrun_port_connect(socket.descriptor, directory.descriptor, file) else { return true }
        let error = errno
        switch error {
        case ENOENT where !PortDirectory.isReachable: throw .system(errno: ENOENT, path: PortDirectory.way)
        case EAGAIN: return false
        // Another thread was quicker.
        case EISCONN: return true
        case ENOENT, ECONNREFUSED, ENOTSOCK, EPROTOTYPE: throw .notFound(text)
        // A sandbox returns the same numbers for any file.
        case EPERM, EACCES:
            throw socket.hasPeer || directory.isForeign(file)
                ? .notPermitted(text) : .forbidden(call: "connect(2)", errno: error)
        case ENOSYS: throw .forbidden(call: "connect(2)", errno: error)
        default: throw .init(errno: error, path: directory.path)
        }
    }
}

/// The directory of the names, as it is now.
private struct PortDirectory: ~Copyable {
    /// By which sockets in it are named: its path may be longer than an address can be.
    static let way = CGRUN_DESCRIPTOR_FILES
    static var isReachable: Bool { access(way, F_OK) == 0 }

    let path: String
    let descriptor: Int32

    static func open(makes: Bool, for name: PortName) throws(GRunLoop.MessagePortError) -> PortDirectory {
        guard let bytes = cgrun_environment("XDG_RUNTIME_DIR"), bytes.pointee == CChar(UInt8(ascii: "/")) else {
            throw .noRuntimeDirectory
        }
        // For messages. A path need not be UTF-8.
        let runtime = String(cString: bytes)
        let path = runtime + "/grun-ports"
        // Otherwise a file or a peer that looks like this user's may be another user's.
        switch cgrun_are_users_known() {
        case 1: break
        case 0: throw .unknownUsers
        default: throw .limitReached(errno: errno)
        }
        let outer = Glibc.open(bytes, O_DIRECTORY | O_CLOEXEC)
        guard outer >= 0 else { throw .init(errno: errno, path: runtime) }
        defer { close(outer) }
        guard cgrun_port_directory_is_safe(outer) else { throw .unsafeDirectory(path: runtime) }
        let descriptor = cgrun_port_directory_open(outer, "grun-ports", makes)
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT where !makes: throw .notFound(name.text)
            case ENOTDIR, ELOOP: throw .unsafeDirectory(path: path)
            case let error: throw .init(errno: error, path: path)
            }
        }
        let directory = PortDirectory(path: path, descriptor: descriptor)
        guard cgrun_port_directory_is_safe(descriptor) else { throw .unsafeDirectory(path: path) }
        return directory
    }

    deinit { close(descriptor) }

    /// Whether a file is another user's.
    func isForeign(_ file: [CChar]) -> Bool {
        var status = stat()
        return fstatat(descriptor, file, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_uid != geteuid()
    }
}

/// A name that is ours, and the socket that listens by it, until ``release()`` or until this goes. Threads: any.
final class PortClaim: @unchecked Sendable {
    let name: PortName
    /// Closed with the object: others may wait for it until then.
    let listener: Int32
    private let lockFile: Int32
    private let directory: Int32
    private let isReleased = Atomic(false)

    init(_ name: PortName) throws(GRunLoop.MessagePortError) {
        let directory = try PortDirectory.open(makes: true, for: name)
        lockFile = cgrun_port_lock(directory.descriptor, name.file)
        guard lockFile >= 0 else {
            throw errno == EWOULDBLOCK ? .taken(name.text) : .init(errno: errno, path: directory.path)
        }
        listener = cgrun_port_listen(directory.descriptor, name.file)
        guard listener >= 0 else {
            let error = errno
            cgrun_port_unlock(directory.descriptor, name.file, lockFile)
            let isReachable = error != ENOENT || PortDirectory.isReachable
            throw .init(errno: error, path: isReachable ? directory.path : PortDirectory.way)
        }
        self.directory = cgrun_port_directory(directory.descriptor)
        guard self.directory >= 0 else {
            let error = errno
            cgrun_port_unlock(directory.descriptor, name.file, lockFile)
            cgrun_kept_close(listener)
            throw .init(errno: error, path: directory.path)
        }
        self.name = name
    }

    deinit {
        guard !Fork.isChild else { return }
        release()
        cgrun_kept_close(listener)
    }

    /// The next peer's socket. Nil and errno if there is none.
    func accept() -> MessageSocket? { MessageSocket(cgrun_port_accept(listener)) }

    /// Nobody finds it any more. Who has is still to be let in.
    func hide() { cgrun_port_hide(directory, name.file, lockFile) }

    /// Gives the name up: it can be taken at once, and who is not let in yet is turned away.
    func release() {
        guard !isReleased.exchange(true, ordering: .relaxed) else { return }
        hide()
        // Each of them is closed with its packets before the listener is.
        while accept() != nil {}
        // A child that is being spawned may have a copy of the socket, so closing it would not be enough.
        cgrun_packet_shut(listener)
        cgrun_port_unlock(directory, name.file, lockFile)
        cgrun_kept_close(directory)
    }
}
