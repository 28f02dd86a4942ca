// SPDX-License-Identifier: Apache-2.0
// Descriptor sources whose conditions change. A removed condition is not reported any more, even if the loop had found
// it. An added condition is reported if it holds.

import GRunLoop
import Glibc
import Synchronization
import TestSupport

/// A source, and the conditions that it may report now.
final class Interest: Sendable {
    typealias Conditions = GRunLoop.DescriptorSource.Conditions

    let ticket: Ticket
    private let source: Shared<GRunLoop.DescriptorSource?>
    private let allowed: Atomic<UInt32>
    private let told = (readable: Counted(), writable: Counted())

    /// - Parameter handler: gets the reported conditions after they were checked.
    init(
        producer: Int, _ consumer: Consumer, _ descriptor: Int32, _ conditions: Conditions, holding held: any Sendable,
        _ handler: @escaping @Sendable (Conditions) -> Void
    ) {
        ticket = Ticket(.descriptor, producer: producer, consumer: consumer)
        allowed = Atomic(conditions.rawValue)
        source = Shared(nil)
        let token = ticket.token
        source.value = GRunLoop.DescriptorSource(descriptor: descriptor, conditions: conditions) {
            [weak self] _, found in
            withExtendedLifetime((token, held)) { self?.note(found) }
            handler(found)
        }
    }

    private func note(_ found: Conditions) {
        ticket.enter(owedSince: nanoseconds())
        let wrong = found.subtracting(Conditions(rawValue: allowed.load(ordering: .acquiring)))
        if found.isEmpty || !wrong.isEmpty {
            Findings.add("reported \(found), and \(wrong) after its removal: \(ticket.name)")
        }
        if found.contains(.readable) { told.readable.add() }
        if found.contains(.writable) { told.writable.add() }
    }

    var writableCalls: Int { told.writable.value }

    func add(_ mode: GRunLoop.Mode) {
        guard let source = source.value else { return }
        do { try ticket.consumer.loop.add(source, forMode: mode) } catch {
            Findings.add("refused: \(ticket.name): \(error)")
        }
    }

    func remove(_ mode: GRunLoop.Mode) {
        if let source = source.value { ticket.consumer.loop.remove(source, forMode: mode) }
    }

    /// On the loop's own thread the change takes effect immediately.
    func changeHere(to conditions: Conditions) {
        allowed.store(conditions.rawValue, ordering: .releasing)
        source.value?.conditions = conditions
    }

    /// On another thread, a call that had begun may still report the old conditions.
    func change(to conditions: Conditions) {
        allowed.bitwiseOr(conditions.rawValue, ordering: .acquiringAndReleasing)
        source.value?.conditions = conditions
        if source.value?.conditions != conditions { Findings.add("not changed to \(conditions): \(ticket.name)") }
        ticket.consumer.barrier()
        allowed.store(conditions.rawValue, ordering: .releasing)
    }

    /// A source without conditions is not called after a barrier.
    func expectSilence() {
        let calls = ticket.calls
        ticket.consumer.barrier()
        if ticket.calls != calls { Findings.add("called while it waits for nothing: \(ticket.name)") }
    }

    func end() {
        source.value?.invalidate()
        ticket.seal()
        source.value = nil
    }
}

extension Producer {
    /// This thread changes the conditions of a source. Its socket is always writable, and has data to read at times.
    func changeConditions() {
        holding { consumer in
            let (sockets, stream) = (SocketPair(), Stream())
            let name = "a socket of producer \(number) on \(consumer.name)"
            let reads: @Sendable (Interest.Conditions) -> Void = { found in
                if found.contains(.readable) { stream.read(sockets.one, name) }
            }
            let interest = Interest(producer: number, consumer, sockets.one, .readable, holding: sockets, reads)
            // A second source of the descriptor, whose own conditions stay, or nil.
            let other =
                dice.chance(30)
                ? Interest(
                    producer: number, consumer, sockets.one, .writable, holding: sockets, { _ in }) : nil
            let modes: [GRunLoop.Mode] = dice.chance(30) ? [.default, .soak] : [mode]
            for mode in modes { interest.add(mode) }
            if let other {
                other.add(modes[0])
                other.change(to: [])
            }
            var written = 0
            for _ in 0..<dice.number(2...6) {
                let wanted = dice.pick([[], .readable, .writable, [.readable, .writable]] as [Interest.Conditions])
                let count = dice.number(0...40)
                if count > 0, dice.chance(50) { stream.write(sockets.other, count) }
                let isOut = dice.chance(10)
                if isOut { for mode in modes { interest.remove(mode) } }
                interest.change(to: wanted)
                if isOut { for mode in modes { interest.add(mode) } }
                let calls = interest.writableCalls
                written = stream.sent
                if wanted.contains(.readable) {
                    waitFor("\(stream.received) of \(written) bytes read, \(interest.ticket.name)", on: consumer) {
                        stream.received == written
                    }
                } else if wanted.isEmpty {
                    interest.expectSilence()
                }
                if wanted.contains(.writable) {
                    waitFor("that it can be written, \(interest.ticket.name)", on: consumer) {
                        interest.writableCalls > calls
                    }
                    // The socket is always writable, so the loop would serve nothing else.
                    interest.change(to: wanted.subtracting(.writable))
                }
                if let other, dice.chance(50) {
                    let calls = other.writableCalls
                    other.change(to: .writable)
                    waitFor("that it can be written, \(other.ticket.name)", on: consumer) {
                        other.writableCalls > calls
                    }
                    other.change(to: [])
                }
            }
            interest.change(to: .readable)
            stream.write(sockets.other, 1)
            waitFor("the last byte, \(interest.ticket.name)", on: consumer) { stream.received == stream.sent }
            interest.end()
            other?.end()
        }
    }

    /// Several sources are ready at the same time. The first one that is called removes the conditions of all others,
    /// even if they were already fetched. They get their conditions back one by one, on this thread or on the loop's.
    func silenceOthers() {
        let count = dice.number(2...6)
        let wakesThere = dice.chance(50)
        holding { consumer in
            let crowd = Crowd(count)
            let events = (0..<count).map { _ in EventDescriptor() }
            for index in 0..<count {
                let event = events[index]
                crowd.members.update {
                    $0.append(
                        Interest(producer: number, consumer, event.descriptor, .readable, holding: event) { _ in
                            if event.consume() == 0 {
                                Findings.add("delivered twice: nothing was left to read, \(consumer.name)")
                            }
                            crowd.call(index, wakesNext: wakesThere)
                        })
                }
            }
            let (members, mode) = (crowd.members.value, mode)
            for event in events { event.makeReady() }
            // All sources are added together on the loop's thread. By then all of them are ready.
            visit(consumer, place, "a crowd") { _ in for member in members { member.add(mode) } }
            waitFor("the first of a crowd, \(members[0].ticket.name)", on: consumer) { crowd.calls > 0 }
            if !wakesThere {
                for index in 0..<count where members[index].ticket.calls == 0 {
                    members[index].expectSilence()
                    members[index].change(to: .readable)
                    waitFor("the condition that was added again, \(members[index].ticket.name)", on: consumer) {
                        members[index].ticket.calls == 1
                    }
                }
            }
            waitFor("\(crowd.calls) of \(count) calls, \(members[0].ticket.name)", on: consumer) {
                crowd.calls == count
            }
            for member in members { member.end() }
            crowd.members.value = []
        }
    }

    private final class Crowd: Sendable {
        let members = Shared<[Interest]>([])
        private let count: Int
        private let called = Counted()
        var calls: Int { called.value }

        init(_ count: Int) { self.count = count }

        /// Called on the loop's thread.
        func call(_ index: Int, wakesNext: Bool) {
            let all = members.value
            let isFirst = called.value == 0
            if isFirst { for (other, member) in all.enumerated() where other != index { member.changeHere(to: []) } }
            if wakesNext, let next = all.indices.first(where: { $0 != index && all[$0].ticket.calls == 0 }) {
                all[next].changeHere(to: .readable)
            }
            called.add()
        }
    }

    /// A server that echoes what it reads, and waits for room only while it has data to send. This thread writes
    /// without reading, and then reads.
    func echo() {
        holding { consumer in
            let sockets = SocketPair()
            for end in [sockets.one, sockets.other] {
                var size: Int32 = 2048
                setsockopt(end, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
            }
            let server = EchoServer(sockets.one)
            let interest = Interest(producer: number, consumer, sockets.one, .readable, holding: sockets) { found in
                server.serve(found)
            }
            server.interest.value = interest
            interest.add(mode)
            let total = dice.number(1...40) * 1000
            var (sent, received) = (0, 0)
            var buffer = [UInt8](repeating: 0, count: 1000)
            waitFor("\(received) of \(total) bytes sent back, \(interest.ticket.name)", on: consumer) {
                // Fills the socket before anything is read.
                while sent < total {
                    let bytes = (sent..<min(sent + 1000, total)).map { UInt8(truncatingIfNeeded: $0 * 7) }
                    let count = write(sockets.other, bytes, bytes.count)
                    if count <= 0 { break }
                    sent += count
                }
                let count = read(sockets.other, &buffer, buffer.count)
                for byte in buffer.prefix(max(0, count)) {
                    if byte != UInt8(truncatingIfNeeded: received * 7) {
                        Findings.add("byte \(received) is wrong: \(interest.ticket.name)")
                    }
                    received += 1
                }
                return received == total
            }
            interest.end()
            server.interest.value = nil
        }
    }

    private final class EchoServer: Sendable {
        let interest = Shared<Interest?>(nil)
        private let descriptor: Int32
        private let waiting = Shared<[UInt8]>([])

        init(_ descriptor: Int32) { self.descriptor = descriptor }

        /// Called on the loop's thread.
        func serve(_ found: Interest.Conditions) {
            var bytes = waiting.value
            if found.contains(.readable) {
                var buffer = [UInt8](repeating: 0, count: 700)
                let count = read(descriptor, &buffer, buffer.count)
                bytes += buffer.prefix(max(0, count))
            }
            if !bytes.isEmpty {
                let count = write(descriptor, bytes, bytes.count)
                bytes.removeFirst(max(0, count))
            }
            waiting.value = bytes
            interest.value?.changeHere(to: bytes.isEmpty ? .readable : .writable)
        }
    }
}
