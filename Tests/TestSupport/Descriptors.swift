// SPDX-License-Identifier: Apache-2.0
// Descriptors to wait for. They are closed when their object is released.

import Glibc

/// A non-blocking pipe.
public final class Pipe: Sendable {
    public let readEnd: Int32
    public let writeEnd: Int32

    public init() {
        (readEnd, writeEnd) = System.pipe()
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    public func send(_ text: String = "x") {
        precondition(write(writeEnd, text, text.utf8.count) == text.utf8.count, "write failed with \(errno)")
    }

    /// Reads and returns the content of the pipe.
    @discardableResult public func drain() -> String {
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(readEnd, &buffer, buffer.count)
            guard count > 0 else { return text }
            text += String(decoding: buffer.prefix(count), as: UTF8.self)
        }
    }

    /// Writes until nothing more fits.
    public func fill() {
        let block = [UInt8](repeating: 0, count: 4096)
        while write(writeEnd, block, block.count) > 0 {}
    }
}

/// A non-blocking eventfd.
public final class EventDescriptor: Sendable {
    public let descriptor: Int32

    public init() {
        descriptor = System.eventDescriptor()
    }

    deinit { close(descriptor) }

    public func makeReady() {
        var one: UInt64 = 1
        precondition(write(descriptor, &one, 8) == 8, "write failed with \(errno)")
    }

    /// Reads the counter. Returns 0 if the eventfd was not ready.
    @discardableResult public func consume() -> UInt64 {
        var count: UInt64 = 0
        return read(descriptor, &count, 8) == 8 ? count : 0
    }
}

/// The two ends of a non-blocking local stream socket.
public final class SocketPair: Sendable {
    public let one: Int32
    public let other: Int32

    public init() {
        (one, other) = SocketPair.open()
    }

    /// Opens both ends. The caller must close them.
    static func open() -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        precondition(socketpair(AF_UNIX, kind, 0, &ends) == 0, "socketpair failed with \(errno)")
        return (ends[0], ends[1])
    }

    deinit {
        close(one)
        close(other)
    }
}

/// How many descriptors this process has open.
public func openDescriptorCount() -> Int {
    guard let directory = opendir("/proc/self/fd") else { return -1 }
    defer { closedir(directory) }
    var count = 0
    while readdir(directory) != nil { count += 1 }
    return count - 3  // ".", ".." and the directory itself
}

private let highNumbers = Counter()

/// A copy of a descriptor with a number so high that nothing else in this process gets it when it is closed.
public func copyWithHighNumber(_ descriptor: Int32) -> Int32 {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    // Two calls never get the same number.
    let offset = Int32(highNumbers.increment() % 128)
    let number = fcntl(descriptor, F_DUPFD_CLOEXEC, Int32(min(limit.rlim_cur, 65_536)) - 160 + offset)
    precondition(number >= 0, "fcntl failed with \(errno)")
    return number
}

/// A number whose file can be replaced. It is so high that nothing else in the process gets it.
public final class Number: Sendable {
    public let value: Int32
    private let isOpen = Shared(true)

    public init(of descriptor: Int32) { value = copyWithHighNumber(descriptor) }
    deinit { if isOpen.value { Glibc.close(value) } }

    public func become(_ descriptor: Int32) { precondition(dup2(descriptor, value) == value) }

    /// Makes the number refer to a file that `epoll(7)` refuses.
    public func become(fileAt path: String) {
        let file = open(path, O_RDONLY)
        precondition(file >= 0, "\(path) cannot be opened")
        become(file)
        Glibc.close(file)
    }

    public func close() {
        isOpen.value = false
        Glibc.close(value)
    }
}
