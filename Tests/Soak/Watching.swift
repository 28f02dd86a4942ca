// SPDX-License-Identifier: Apache-2.0
// Descriptors: each written event is read once. A source is not called for events after its removal, nor for a reused
// number.

import GRunLoop
import Glibc
import TestSupport

/// An eventfd and its source, which is called if and only if the eventfd was written to.
final class Well: Sendable {
    let ticket: Ticket
    let source: GRunLoop.DescriptorSource
    let event: EventDescriptor
    private let written = Counted()
    private let ledger: Ledger

    private final class Ledger: Sendable {
        let amount = Counted()
        let since = Counted()
    }

    /// - Parameter number: a copy of the descriptor to watch in its place.
    init(producer: Int, _ consumer: Consumer, number: Int32? = nil, of event: EventDescriptor = EventDescriptor()) {
        let (ticket, ledger) = (Ticket(.descriptor, producer: producer, consumer: consumer), Ledger())
        let token = ticket.token
        (self.ticket, self.ledger, self.event) = (ticket, ledger, event)
        source = GRunLoop.DescriptorSource(descriptor: number ?? event.descriptor) { _, conditions in
            withExtendedLifetime(token) { _ = ticket.enter(owedSince: Int64(ledger.since.value)) }
            let count = event.consume()
            if count == 0 { Findings.add("delivered twice: nothing was left to read (\(conditions)), \(ticket.name)") }
            for _ in 0..<count { ledger.amount.add() }
        }
    }

    func add(to consumer: Consumer, _ mode: GRunLoop.Mode) {
        do {
            try consumer.loop.add(source, forMode: mode)
        } catch {
            Findings.add("refused: \(ticket.name): \(error)")
        }
    }

    func write() {
        ledger.since.store(Int(nanoseconds()))
        written.add()
        event.makeReady()
    }

    var isSettled: Bool { ledger.amount.value == written.value }

    func settle() {
        waitFor("\(ticket.name): \(ledger.amount.value) of \(written.value) events read", on: ticket.consumer) {
            isSettled
        }
    }

    /// Writes an event for which no source may be called.
    func writeInVain() {
        event.makeReady()
        ticket.consumer.barrier()
        if event.consume() != 1 { Findings.add("an event was read after the removal of \(ticket.name)") }
    }
}

extension Producer {
    func watchEvents() {
        let consumer = hold()
        let mode = mode
        let wells = (0..<dice.number(1...3)).map { _ in Well(producer: number, consumer) }
        for well in wells {
            well.add(to: consumer, mode)
            for _ in 0..<dice.number(1...4) { well.write() }
        }
        let removes = dice.chance(50)
        later {
            for well in wells {
                well.settle()
                if removes { consumer.loop.remove(well.source, forMode: mode) } else { well.source.invalidate() }
                well.ticket.seal()
                well.writeInVain()
            }
            consumer.release()
        }
    }

    /// Watches a copy of a descriptor, and closes the copy's number after the removal.
    func watchCopy() {
        holding { consumer in
            let event = EventDescriptor()
            let copy = dup(event.descriptor)
            let well = Well(producer: number, consumer, number: copy, of: event)
            well.add(to: consumer, mode)
            for _ in 0..<dice.number(1...4) { well.write() }
            well.settle()
            well.source.invalidate()
            close(copy)
            well.ticket.seal()
            well.writeInVain()
        }
    }

    /// Two sources of one socket: one reads, the other waits for the socket to be writable, which it always is. The
    /// second source may come first, and may stay until everything was read.
    func watchTwice() {
        holding { consumer in
            let sockets = SocketPair()
            let stream = Stream()
            let (reads, writes) = (
                Ticket(.descriptor, producer: number, consumer: consumer),
                Ticket(.descriptor, producer: number, consumer: consumer)
            )
            let (readToken, writeToken) = (reads.token, writes.token)
            let total = dice.number(1...200)
            let calls = dice.number(1...4)
            let stays = dice.chance(50)
            let start = nanoseconds()
            let reader = GRunLoop.DescriptorSource(descriptor: sockets.one) { _, conditions in
                withExtendedLifetime((readToken, sockets)) { _ = reads.enter(owedSince: stream.since) }
                if !conditions.contains(.readable) {
                    Findings.add("got \(conditions) instead of readable: \(reads.name)")
                }
                stream.read(sockets.one, reads.name)
            }
            let writer = GRunLoop.DescriptorSource(descriptor: sockets.one, conditions: .writable) {
                source, conditions in
                if !conditions.contains(.writable) {
                    Findings.add("got \(conditions) instead of writable: \(writes.name)")
                }
                guard withExtendedLifetime(writeToken, { writes.enter(owedSince: start) }) >= calls else { return }
                if stays, stream.received < total { return }
                source.invalidate()
                writes.wasRemovedForGood()
            }
            let mode = mode
            for source in stays ? [writer, reader] : [reader, writer] { try? consumer.loop.add(source, forMode: mode) }
            stream.write(sockets.other, total)
            waitFor("\(reads.name): \(stream.received) of \(total) bytes", on: consumer) { stream.received == total }
            waitFor("\(writes.name): \(writes.calls) of \(calls) calls", on: consumer) { writes.calls >= calls }
            reader.invalidate()
            writer.invalidate()
            reads.seal()
            writes.seal()
        }
    }

    /// Reads to the end of the stream, where the source removes itself. Another source gets the hang-up as well,
    /// although it was added earlier and waits for a condition that never holds.
    func watchUntilHangUp() {
        let isShared = dice.chance(50)
        holding { consumer in
            let pipe = OneWay()
            let stream = Stream()
            let ticket = Ticket(.descriptor, producer: number, consumer: consumer)
            let token = ticket.token
            let (ended, told) = (Counted(), Counted())
            let waiter = GRunLoop.DescriptorSource(descriptor: pipe.readEnd, conditions: .writable) {
                source, conditions in
                if conditions != .hangUp { Findings.add("got \(conditions) instead of hanging up: \(ticket.name)") }
                source.invalidate()
                told.add()
            }
            if isShared { try? consumer.loop.add(waiter, forMode: .common) } else { told.add() }
            let mode = isShared ? .common : mode
            let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { source, _ in
                withExtendedLifetime(token) { _ = ticket.enter(owedSince: stream.since) }
                guard stream.read(pipe.readEnd, ticket.name), told.value > 0 else { return }
                source.invalidate()
                ticket.wasRemovedForGood()
                ended.add()
            }
            try? consumer.loop.add(source, forMode: mode)
            var total = 0
            for _ in 0..<dice.number(0...3) {
                let count = dice.number(1...100)
                stream.write(pipe.writeEnd, count)
                total += count
            }
            stream.touch()
            pipe.closeWriteEnd()
            waitFor("the end of the stream, \(ticket.name)", on: consumer) { ended.value > 0 }
            if stream.received != total { Findings.add("\(stream.received) of \(total) bytes read: \(ticket.name)") }
            ticket.seal()
        }
    }

    /// Misuse that must not harm other sources: the watched number is closed first, and then reused.
    func closeWhileWatched() {
        holding { consumer in
            let event = EventDescriptor()
            // The number is so high that no other thread gets it.
            let number = copyWithHighNumber(event.descriptor)
            let well = Well(producer: self.number, consumer, number: number, of: event)
            // The source is not a common item, because no mode could become common while the number is closed.
            let mode = GRunLoop.Mode.default
            well.add(to: consumer, mode)
            well.write()
            well.settle()
            close(number)
            let removesBefore = dice.chance(50)
            if removesBefore {
                well.source.invalidate()
                well.ticket.seal()
                well.writeInVain()
            }
            let next = EventDescriptor()
            guard dup2(next.descriptor, number) == number else { return Findings.add("dup2 failed with \(errno)") }
            let second = Well(producer: self.number, consumer, number: number, of: next)
            second.add(to: consumer, mode)
            for _ in 0..<dice.number(1...3) { second.write() }
            second.settle()
            if !removesBefore {
                well.source.invalidate()
                well.ticket.seal()
            }
            second.write()
            second.settle()
            second.source.invalidate()
            second.ticket.seal()
            second.writeInVain()
            close(number)
        }
    }

    /// Adds and removes descriptors in quick succession, so that each number is soon reused.
    func reuseNumber() {
        holding { consumer in
            for _ in 0..<dice.number(2...5) {
                let well = Well(producer: number, consumer)
                well.add(to: consumer, mode)
                well.write()
                if dice.chance(50) { well.settle() }
                // The event may be read or not. The closure retains the descriptor until its last use.
                well.source.invalidate()
                well.ticket.wasRemoved()
            }
        }
    }

    /// Watches a descriptor in one loop, and then in another one.
    func moveBetweenLoops() {
        guard let worker = workers.pick(dice.number(0...100)), worker.hold() else { return }
        let (first, second) = dice.chance(50) ? (main, worker) : (worker, main)
        let well = Well(producer: number, first)
        let mode = mode
        well.add(to: first, mode)
        well.write()
        well.settle()
        first.loop.remove(well.source, forMode: mode)
        first.barrier()
        let other = Well(producer: number, second, of: well.event)
        other.add(to: second, mode)
        other.write()
        other.settle()
        other.source.invalidate()
        other.ticket.seal()
        well.source.invalidate()
        well.ticket.wasRemovedForGood()
        worker.release()
    }
}

/// A numbered stream of bytes from one end to the other.
final class Stream: Sendable {
    private let written = Counted()
    private let taken = Counted()
    private let date = Counted()

    var sent: Int { written.value }
    var received: Int { taken.value }
    var since: Int64 { Int64(date.value) }
    func touch() { date.store(Int(nanoseconds())) }

    func write(_ descriptor: Int32, _ count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: written.value + $0) }
        written.store(written.value + count)
        touch()
        if Glibc.write(descriptor, bytes, count) != count { Findings.add("write failed with \(errno)") }
    }

    /// Returns true at the end of the stream.
    @discardableResult func read(_ descriptor: Int32, _ name: String) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        guard count > 0 else {
            if count < 0 { Findings.add("delivered twice: nothing was left to read, \(name)") }
            return count == 0
        }
        for byte in buffer.prefix(count) where byte != UInt8(truncatingIfNeeded: taken.add() - 1) {
            Findings.add("bytes out of order: \(name)")
        }
        return false
    }
}

/// A pipe whose write end is closed before its read end.
private final class OneWay: Sendable {
    private let ends = Shared<(Int32, Int32)>((-1, -1))

    init() {
        var pair: [Int32] = [-1, -1]
        precondition(pipe(&pair) == 0, "pipe failed with \(errno)")
        for end in pair { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        ends.value = (pair[0], pair[1])
    }

    var readEnd: Int32 { ends.value.0 }
    var writeEnd: Int32 { ends.value.1 }

    func closeWriteEnd() {
        close(writeEnd)
        ends.update { $0.1 = -1 }
    }

    deinit { close(readEnd) }
}
