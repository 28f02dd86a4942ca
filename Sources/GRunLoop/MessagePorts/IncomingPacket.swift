// SPDX-License-Identifier: Apache-2.0
// A packet that has come to a message port or from one, and the descriptors that came with it.

import CGRun
import Glibc

/// Descriptors that came with a message: closed with it, unless somebody takes them.
final class ReceivedDescriptors: @unchecked Sendable {
    private let lock = Lock.take()
    private var descriptors: [Int32]
    private let allowance: MessageAllowance?

    init(_ descriptors: [Int32], countedBy allowance: MessageAllowance?) {
        self.descriptors = descriptors
        self.allowance = allowance
        allowance?.add(MessageHolding(descriptors: descriptors.count))
    }

    deinit {
        for descriptor in descriptors { cgrun_close(descriptor) }
        allowance?.remove(MessageHolding(descriptors: descriptors.count))
        Lock.giveBack(lock)
    }

    var count: Int { lock.withLock { descriptors.count } }

    /// -1 if there is none.
    var first: Int32 { lock.withLock { descriptors.first ?? -1 } }

    func take() -> [Int32] {
        let taken = lock.withLock {
            let taken = descriptors
            descriptors = []
            return taken
        }
        allowance?.remove(MessageHolding(descriptors: taken.count))
        return taken
    }
}

/// A message that has come. Its memory is mapped once it is known that somebody waits for the message.
struct IncomingPacket {
    enum Body {
        case bytes([UInt8])
        case memory(ReceivedDescriptors, size: Int)
    }

    enum Opened {
        case data(GRunLoop.MessageData)
        /// The memory is not as a port sends it.
        case unsound
        /// No mapping is left.
        case lost(errno: Int32)
    }

    let kind: PacketKind
    let id: Int32
    let conversation: UInt32
    let body: Body
    let descriptors: ReceivedDescriptors?
    let allowance: MessageAllowance?

    var isInMemory: Bool {
        if case .memory = body { true } else { false }
    }

    /// Whether it holds more of this process than bytes.
    var isCounted: Bool { isInMemory || descriptors != nil }

    func open() -> Opened {
        switch body {
        case .bytes(let bytes): return .data(GRunLoop.MessageData(bytes))
        case .memory(let descriptor, let size):
            if let memory = MappedMemory(descriptor, size, countedBy: allowance) {
                return .data(GRunLoop.MessageData(memory))
            }
            let error = errno
            return error == EBADMSG ? .unsound : .lost(errno: error)
        }
    }
}
