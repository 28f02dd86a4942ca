// SPDX-License-Identifier: Apache-2.0
// A packet that has come to a message port or from one, and the descriptors that came with it.

import CGRun

/// Descriptors that came with a message: closed with it, unless somebody takes them.
final class ReceivedDescriptors: @unchecked Sendable {
    private let lock = Lock.take()
    private var descriptors: [Int32]

    init(_ descriptors: [Int32]) { self.descriptors = descriptors }

    deinit {
        for descriptor in descriptors { cgrun_close(descriptor) }
        Lock.giveBack(lock)
    }

    var count: Int { lock.withLock { descriptors.count } }

    func take() -> [Int32] {
        lock.withLock {
            let taken = descriptors
            descriptors = []
            return taken
        }
    }
}

/// A message that has come.
struct IncomingPacket {
    let kind: PacketKind
    let id: Int32
    let conversation: UInt32
    let data: GRunLoop.MessageData
    let descriptors: ReceivedDescriptors?
}
