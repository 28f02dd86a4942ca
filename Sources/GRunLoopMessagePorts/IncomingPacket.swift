// SPDX-License-Identifier: Apache-2.0
// A received packet, and the descriptors that came with it.

import CGRun
import GRunLoop
import Glibc

/// The descriptors of a received message. Descriptors that the program does not take are closed when this object is
/// released.
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

    /// The first descriptor that was not taken; -1 if none is left.
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

/// A received packet. ``open()`` maps the packet's memory, so it is not called for a reply for which no caller waits.
struct IncomingPacket {
    enum Body {
        case bytes([UInt8])
        case memory(ReceivedDescriptors, size: Int)
    }

    enum Opened {
        case data(GRunLoop.MessageData)
        /// The memory is not sealed or has another size. No port sends such memory.
        case unsound
        /// The memory cannot be mapped, for example because the process has too many mappings.
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

    /// Whether the packet holds resources that an allowance counts: memory of the sender, or descriptors.
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
