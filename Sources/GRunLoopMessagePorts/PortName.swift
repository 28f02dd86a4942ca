// SPDX-License-Identifier: Apache-2.0
// The names of message ports: files in a directory of the user.
//
// A port owns a name while it holds the lock on the name's lock file, and this file is still in the directory. Only the
// owner removes and binds the socket file. When the owner releases the name, the owner also removes the lock file. So
// another port can take the name of a killed owner, but not the name of an owner that is just starting.

import CGRun
import CGRunMessagePorts
import GRunLoop
import Glibc
import Synchronization

/// A name that a port can have, and the name of its socket file.
struct PortName: Sendable {
    static let longest = 128

    let text: String
    /// The name of the socket file. The file name is a hash of `text`, because `text` may contain a slash or be too
    /// long for a socket address.
    let file: [CChar]

    init(_ text: String) throws(GRunLoop.MessagePortError) {
        guard !text.isEmpty, text.utf8.count <= Self.longest, !text.utf8.contains(0) else { throw .invalidName(text) }
        self.text = text
        var file = [CChar](repeating: 0, count: Int(CGRUN_PORT_FILE))
        cgrun_port_file(text, &file)
        self.file = file
    }

    /// Connects a socket to the port of this name. Returns false if the port's queue of connections is full.
    func connect(_ socket: MessageSocket) throws(GRunLoop.MessagePortError) -> Bool {
        let directory = try PortDirectory.open(makes: false, for: self)
        guard !cgrun_port_connect(socket.descriptor, directory.descriptor, file) else { return true }
        let error = errno
        switch error {
        case ENOENT where !PortDirectory.isReachable: throw .system(errno: ENOENT, path: PortDirectory.way)
        case EAGAIN: return false
        // Another thread has connected the socket first.
        case EISCONN: return true
        case ENOENT, ECONNREFUSED, ENOTSOCK, EPROTOTYPE: throw .notFound(text)
        // EPERM and EACCES mean that the port belongs to another user, or that a sandbox forbids connect(2) for every
        // file.
        case EPERM, EACCES:
            throw socket.hasPeer || directory.isForeign(file)
                ? .notPermitted(text) : .forbidden(call: "connect(2)", errno: error)
        case ENOSYS: throw .forbidden(call: "connect(2)", errno: error)
        default: throw .init(errno: error, path: directory.path)
        }
    }
}

/// An open descriptor of the directory that holds the names.
private struct PortDirectory: ~Copyable {
    /// The folder in /proc that leads to the directory in socket addresses, because the directory's path may be too
    /// long for an address.
    static let way = CGRUN_DESCRIPTOR_FILES
    static var isReachable: Bool { access(way, F_OK) == 0 }

    let path: String
    let descriptor: Int32

    static func open(makes: Bool, for name: PortName) throws(GRunLoop.MessagePortError) -> PortDirectory {
        guard let bytes = cgrun_environment("XDG_RUNTIME_DIR"), bytes.pointee == CChar(UInt8(ascii: "/")) else {
            throw .noRuntimeDirectory
        }
        // `runtime` and `path` are for error messages only. The directory is opened by `bytes`, because a path need not
        // be UTF-8.
        let runtime = String(cString: bytes)
        let path = runtime + "/grun-ports"
        // If this process cannot distinguish users, a file or a peer of another user may seem to belong to this user.
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

    func isForeign(_ file: [CChar]) -> Bool {
        var status = stat()
        return fstatat(descriptor, file, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_uid != geteuid()
    }
}

/// The ownership of a name, and the socket that listens under the name. The ownership ends when ``release()`` is
/// called, or when this object is released. Threads: any.
final class PortClaim: @unchecked Sendable {
    let name: PortName
    /// This descriptor is closed when this object is released, and not by ``release()``, because other threads may
    /// still use the descriptor.
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

    /// Accepts the next peer. If no peer can be accepted, returns nil and sets errno.
    func accept() -> MessageSocket? { MessageSocket(cgrun_port_accept(listener)) }

    /// Removes the socket's file, so that no new peer finds the port. Peers that have connected already can still be
    /// accepted.
    func hide() { cgrun_port_hide(directory, name.file, lockFile) }

    /// Releases the name, and closes the connections that were not accepted yet. Another port can take the name
    /// immediately.
    func release() {
        guard !isReleased.exchange(true, ordering: .relaxed) else { return }
        hide()
        // Accept and close the waiting peers first, which removes their packets. Otherwise closing the listener would
        // close the descriptors in these packets while fork() is blocked, and a sender can make such a close slow.
        while accept() != nil {}
        // A child that is being spawned may have a copy of the listener. Then closing the listener would not disconnect
        // the peers in its queue.
        cgrun_packet_shut(listener)
        cgrun_port_unlock(directory, name.file, lockFile)
        cgrun_kept_close(directory)
    }
}
