// SPDX-License-Identifier: Apache-2.0
// Lets one task at a time use a stream.

import CGRunGIO
import Synchronization

/// Refuses a second operation on a stream. GIO also refuses a second operation, but not reliably if the operations
/// begin on different threads.
struct StreamGate: ~Copyable, Sendable {
    private let isBusy = Atomic(false)

    /// Begins an operation, or throws an error if one is under way. Call ``leave()`` at the end of the operation.
    func enter() throws(GLibError) {
        guard !isBusy.exchange(true, ordering: .acquiring) else {
            throw GLibError(.pending, "another task uses the stream")
        }
    }

    func leave() { isBusy.store(false, ordering: .releasing) }

    static var negativeCount: GLibError { GLibError(.invalidArgument, "the number of bytes is negative") }
}

/// Memory that GIO reads from or writes to.
final class StreamMemory: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer

    init(count: Int) { bytes = .allocate(byteCount: count, alignment: 16) }

    convenience init(_ array: [UInt8]) {
        self.init(count: array.count)
        bytes.copyBytes(from: array)
    }

    deinit { bytes.deallocate() }
}
