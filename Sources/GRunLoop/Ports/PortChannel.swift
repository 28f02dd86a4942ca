// SPDX-License-Identifier: Apache-2.0
// The waiting messages of a port: a channel whose messages are taken one by one.

final class PortChannel: PortMessageQueue {
    private let core: ChannelCore

    /// Threads can share this value, because it never changes and its closures capture nothing.
    nonisolated(unsafe) private static let type = ChannelElementType(
        size: MemoryLayout<GRunLoop.PortMessage>.stride, alignment: MemoryLayout<GRunLoop.PortMessage>.alignment,
        move: { from, to, count in
            to.moveInitializeMemory(
                as: GRunLoop.PortMessage.self, from: from.assumingMemoryBound(to: GRunLoop.PortMessage.self),
                count: count)
        },
        giveUp: { first, count in
            first.assumingMemoryBound(to: GRunLoop.PortMessage.self).deinitialize(count: count)
        })

    init(capacity: Int) {
        core = ChannelCore(capacity: capacity, Self.type)
    }

    func takeNext(_ taken: inout PortTaken) -> Bool {
        withUnsafeTemporaryAllocation(of: GRunLoop.PortMessage.self, capacity: 1) { memory in
            guard let slot = memory.baseAddress else { return false }
            let (isTaken, isLeft, hasAdmitted) = core.takeOne(to: UnsafeMutableRawPointer(slot))
            if isTaken { taken.message = slot.move() }
            taken.hasAdmitted = hasAdmitted
            return isLeft
        }
    }

    func resumeSenders() { core.resumeSenders() }

    func close() -> [GRunLoop.PortMessage] {
        var rest: [GRunLoop.PortMessage] = []
        core.invalidate { first, count in
            let messages = first.assumingMemoryBound(to: GRunLoop.PortMessage.self)
            for index in 0..<count { rest.append((messages + index).move()) }
        }
        return rest
    }

    var capacity: Int { core.capacity }
    var count: Int { core.waiting }

    func begin() -> PortSlot {
        switch core.begin() {
        case .at(let slot): .at(slot.assumingMemoryBound(to: GRunLoop.PortMessage.self))
        case .full: .full
        case .closed: .closed
        }
    }

    func commit() -> Bool { core.commitAnswering() }

    func send(_ message: consuming GRunLoop.PortMessage, until limit: Nanoseconds) -> Bool {
        let memory = UnsafeMutablePointer<GRunLoop.PortMessage>.allocate(capacity: 1)
        memory.initialize(to: message)
        return end(of: memory, core.wait(toSend: UnsafeMutableRawPointer(memory), until: limit))
    }

    nonisolated(nonsending) func wait(toSend message: consuming GRunLoop.PortMessage) async -> Bool {
        let memory = UnsafeMutablePointer<GRunLoop.PortMessage>.allocate(capacity: 1)
        memory.initialize(to: message)
        return end(of: memory, await core.wait(toSend: UnsafeMutableRawPointer(memory)))
    }

    /// Frees the memory of a message. If the message was not sent, also releases the message. Returns whether the
    /// message was sent.
    private func end(of memory: UnsafeMutablePointer<GRunLoop.PortMessage>, _ result: GRunLoop.SendResult) -> Bool {
        if result != .enqueued { memory.deinitialize(count: 1) }
        memory.deallocate()
        return result == .enqueued
    }
}
