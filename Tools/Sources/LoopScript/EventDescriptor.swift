// SPDX-License-Identifier: Apache-2.0
// An eventfd, which is what a version-1 source of a script waits for on either loop.

import Glibc

/// A non-blocking eventfd. It is closed explicitly, because its owner may be released before the loop.
public struct EventDescriptor: Sendable {
    public let descriptor: Int32

    /// Glibc's module map does not cover <sys/eventfd.h>.
    private static let make = dlsym(nil, "eventfd").map {
        unsafeBitCast($0, to: (@convention(c) (UInt32, Int32) -> Int32).self)
    }

    public init() {
        descriptor = EventDescriptor.make?(0, O_CLOEXEC | O_NONBLOCK) ?? -1
        if descriptor < 0 { fatalError("eventfd failed with \(errno)") }
    }

    public func makeReady() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }

    /// Consumes the readiness, as CF does before it performs a version-1 source.
    public func consume() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
    }

    public func closeDescriptor() { close(descriptor) }
}
