// SPDX-License-Identifier: Apache-2.0
// The memory of a channel, and the list of threads that wait for room.

import Glibc

@testable import GRunLoop

/// Elements are bytes that repeat the element's number, so that an element that was moved twice or torn is seen.
final class ChannelPiecesModel: Model {
    static let name = "ChannelPieces"

    private let capacity: Int
    private let size: Int
    private let type: ChannelElementType
    private var sent = ChannelSent()
    private var spare = ChannelSpare()
    private var waiting: [UInt8] = []
    private var last: UInt8 = 0
    private let taken: UnsafeMutableRawPointer
    /// The bytes of a slot whose element was moved out.
    private static let moved: UInt8 = 0xEE

    init(_ random: inout Random) {
        capacity = [1, 2, 3, 16, 17, 50, 500, .max][random.below(8)]
        size = [1, 4, 8, 24, 4096, 20_000][random.below(6)]
        Journal.note("capacity \(capacity), elements of \(size) bytes")
        taken = .allocate(byteCount: size, alignment: 16)
        type = ChannelElementType(
            size: size, alignment: size % 8 == 0 ? 8 : 1,
            move: { [size] from, to, count in
                to.copyMemory(from: from, byteCount: count * size)
                memset(from, Int32(Self.moved), count * size)
            },
            giveUp: { _, _ in })
    }

    func step(_ random: inout Random) throws {
        let most = size > 1000 ? 12 : 200
        let count = 1 + random.below(random.once(in: 16) ? most : 6)
        switch random.below(10) {
        case 0...4: try send(count)
        case 5...8: for _ in 0..<count { try takeFirst() }
        default: try takeAll(&random)
        }
        try expect(sent.count, is: waiting.count, "elements that were sent and not taken")
        try expect(sent.isEmpty, is: waiting.isEmpty, "whether the channel is empty")
        try expect(sent.count <= capacity && sent.room <= capacity - sent.count, "more room than the channel has")
    }

    func finish() throws {
        while !waiting.isEmpty { try takeFirst() }
        var pieces = sent.takeAll(type)
        while let piece = pieces.removeFirst() { piece.free() }
        spare.end()
        try expect(spare.pieces.count, is: 0, "spare pieces at the end")
        taken.deallocate()
    }

    private func send(_ count: Int) throws {
        Journal.note("send \(count)")
        for _ in 0..<count {
            if sent.room == 0 {
                // Makes room in the same way as the channel's core.
                guard sent.count < capacity else { return }
                if !sent.reopen(upTo: capacity, type) {
                    if sent.hasOnePiece, let larger = spare.takeLarger(upTo: capacity, type) {
                        sent.move(to: larger, upTo: capacity, type)
                    } else {
                        sent.append(spare.take(upTo: capacity, type), upTo: capacity, type)
                    }
                }
            }
            guard sent.room > 0, let slot = sent.slot else { throw Mismatch(text: "a channel finds no room") }
            last = (last + 1) % Self.moved
            memset(slot, Int32(last), size)
            sent.commit(type)
            waiting.append(last)
        }
    }

    private func takeFirst() throws {
        Journal.note("take the first")
        memset(taken, 0xDD, size)
        if let used = sent.takeFirst(to: taken, upTo: capacity, type) { spare.giveBack(used) }
        if !waiting.isEmpty { try expectElement(at: taken, waiting.removeFirst()) }
    }

    private func takeAll(_ random: inout Random) throws {
        // If elements were taken one by one, the channel continues so until it is empty.
        guard sent.taken == 0 else { return }
        Journal.note("take all")
        var pieces = sent.takeAll(type)
        spare.noteBatch(of: pieces.count, type)
        while let piece = pieces.removeFirst() {
            for index in 0..<piece.count {
                guard !waiting.isEmpty else { throw Mismatch(text: "a piece holds too much") }
                try expectElement(at: piece.elements(type) + index * size, waiting.removeFirst())
            }
            if random.once(in: 2) { spare.giveBack(piece) } else { piece.free() }
        }
        try expect(waiting.count, is: 0, "elements that no piece holds")
    }

    private func expectElement(at place: UnsafeMutableRawPointer, _ number: UInt8) throws {
        let bytes = UnsafeRawBufferPointer(start: place, count: size)
        try expect(bytes.allSatisfy { $0 == number }, "an element is torn, or another one, at \(number)")
    }
}

final class ChannelSendersModel: Model {
    static let name = "ChannelSenders"

    private var list = ChannelSenders()
    private var waiting: [ChannelSender] = []
    private weak var former: ChannelSender?
    private let element = UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8)

    init(_ random: inout Random) {}

    deinit { element.deallocate() }

    func step(_ random: inout Random) throws {
        switch random.below(10) {
        case 0...4:
            Journal.note("append, behind \(waiting.count)")
            let sender = ChannelSender(element)
            list.append(sender)
            waiting.append(sender)
        case 5, 6:
            Journal.note("remove the first of \(waiting.count)")
            let removed = list.removeFirst()
            try expect(removed === waiting.first, "the first sender")
            if !waiting.isEmpty { former = waiting.removeFirst() }
        case 7, 8:
            guard !waiting.isEmpty else { return }
            let index = random.below(waiting.count)
            Journal.note("remove number \(index) of \(waiting.count)")
            list.remove(waiting[index])
            former = waiting.remove(at: index)
        default:
            guard random.once(in: 5) else { return }
            Journal.note("remove all")
            try expectOrder(list.removeAll())
            waiting = []
        }
        try expect(former == nil, "a sender that has left is still held")
        try expect(list.isEmpty, is: waiting.isEmpty, "whether the list is empty")
    }

    func finish() throws {
        try expectOrder(list.removeAll())
        try expect(list.isEmpty, "a sender is left")
    }

    private func expectOrder(_ found: [ChannelSender]) throws {
        try expect(found.count, is: waiting.count, "senders in the list")
        try expect(zip(found, waiting).allSatisfy { $0 === $1 }, "the order of the senders")
    }
}
