// SPDX-License-Identifier: Apache-2.0
// Message ports: how much a peer can make a port hold, and what happens at shortages.

import CGRun
import Glibc
import TestSupport
import Testing

@testable import GRunLoop
@testable import GRunLoopMessagePorts

private typealias Port = GRunLoop.MessagePort
private typealias Data = GRunLoop.MessageData

private let mebibyte = 1 << 20

/// A port that replies to bare peers. The id of each message is the number of bytes of its reply.
private final class Replier: Sendable {
    let port: Port
    let thread = LoopThread.running()
    /// Whether each reply was accepted for sending.
    let results = Shared<[Bool]>([])

    init() throws {
        let results = results
        port = try Port(RuntimeDirectory.newName()) { message in
            let data = Data([UInt8](repeating: 7, count: Int(message.id)))
            let isSent = try? message.reply?.send(data)
            results.update { $0.append(isSent == true) }
        }
        try thread.loop.add(port, forMode: .default)
    }

    func connect() throws -> MessageSocket {
        let socket = try #require(MessageSocket())
        #expect(try PortName(port.name ?? "").connect(socket))
        return socket
    }

    func finish() {
        port.invalidate()
        thread.finish()
    }
}

extension MessageSocket {
    /// Sends requests for replies of `size` bytes.
    fileprivate func ask(_ size: Int, _ count: Int = 1) throws {
        for number in 0..<count {
            let packet = try OutgoingPacket(.request, id: Int32(size), conversation: UInt32(number), [], [])
            while true {
                guard case .full = send(packet) else { break }
                usleep(1000)
            }
        }
    }

    /// Takes the replies that have arrived, and returns their sizes.
    fileprivate func take() -> [Int] {
        var sizes: [Int] = []
        while case .packet(let packet) = receive(), case .data(let data) = packet.open() { sizes.append(data.count) }
        return sizes
    }
}

@Suite("Message ports: limits and shortages") struct MessagePortLimitTests {
    // MARK: Unread replies

    @Test("a process that reads no reply gets 16 MiB of memory, however many connections it has; other replies wait")
    func untaken() async throws {
        let replier = try Replier()
        let sockets = try (0..<3).map { _ in try replier.connect() }
        for socket in sockets { try socket.ask(mebibyte, 8) }
        #expect(await eventually { replier.results.value.count == 24 })
        #expect(replier.results.value.allSatisfy { $0 })
        #expect(replier.port.untakenBytes == 24 * mebibyte)
        // No thread sends any more.
        replier.thread.finish()
        #expect(sockets.flatMap { $0.take() }.count == 16)
        replier.port.invalidate()
        #expect(replier.port.untakenBytes == 0)
    }

    @Test("replies that wait until memory is taken arrive as it is taken, in order on each connection")
    func takenLate() async throws {
        let replier = try Replier()
        let sockets = try (0..<3).map { _ in try replier.connect() }
        for socket in sockets { for size in 0..<10 { try socket.ask(mebibyte + size) } }
        #expect(await eventually { replier.results.value.count == 30 })
        var sizes: [[Int]] = [[], [], []]
        #expect(
            await eventually {
                for (index, socket) in sockets.enumerated() { sizes[index] += socket.take() }
                return sizes.joined().count == 30
            })
        for sizes in sizes { #expect(sizes == (0..<10).map { mebibyte + $0 }) }
        // The port ends here, and notices that the memory was taken.
        replier.finish()
        #expect(replier.port.untakenBytes == 0)
    }

    @Test("memory that was taken on one connection no longer counts on another one, with and without waiting replies")
    func takenElsewhere() async throws {
        let replier = try Replier()
        let (first, second) = (try replier.connect(), try replier.connect())
        func fill() async throws {
            let count = replier.results.value.count + 16
            try first.ask(mebibyte, 16)
            #expect(await eventually { replier.results.value.count == count })
        }
        func take(from socket: MessageSocket, _ count: Int) async {
            var sizes: [Int] = []
            #expect(
                await eventually {
                    sizes += socket.take()
                    return sizes.count == count
                })
        }
        try await fill()
        await take(from: first, 16)
        try second.ask(mebibyte)
        await take(from: second, 1)
        try await fill()
        try second.ask(mebibyte)
        #expect(await eventually { replier.results.value.count == 34 })
        await take(from: first, 16)
        await take(from: second, 1)
        replier.finish()
    }

    @Test("a reply of more than 16 MiB is sent if no other reply is on its way, and the next reply after it")
    func larger() async throws {
        let replier = try Replier()
        let socket = try replier.connect()
        try socket.ask(20 * mebibyte, 2)
        try socket.ask(10)
        #expect(await eventually { replier.results.value == [true, true, true] })
        var sizes: [Int] = []
        #expect(
            await eventually {
                sizes += socket.take()
                return sizes.count == 3
            })
        #expect(sizes == [20 * mebibyte, 20 * mebibyte, 10])
        replier.finish()
    }

    @Test("a peer that reads no replies is disconnected when 64 MiB wait for its process; its requests are dropped")
    func waiting() async throws {
        let replier = try Replier()
        let (deaf, quiet) = (try replier.connect(), try replier.connect())
        try deaf.ask(4 * mebibyte, 30)
        // 4 replies were sent, and 16 wait.
        #expect(await eventually { replier.results.value.count == 21 })
        try quiet.ask(1000)
        var sizes: [Int] = []
        #expect(
            await eventually {
                sizes += quiet.take()
                return sizes == [1000]
            })
        #expect(replier.results.value == Array(repeating: true, count: 20) + [false, true])
        replier.finish()
    }

    @Test("memory counts until it is taken, even after its connection has ended; so does the connection's descriptor")
    func lingers() async throws {
        let replier = try Replier()
        do {
            let (socket, next) = (try replier.connect(), try replier.connect())
            try socket.ask(mebibyte)
            #expect(await eventually { replier.results.value == [true] })
            // No port accepts this packet.
            _ = socket.send(try OutgoingPacket(.reply, id: 1, conversation: 1, [], []))
            #expect(await eventually { !socket.isConnected })
            // The port has handled that disconnection.
            try next.ask(10)
            #expect(await eventually { next.take() == [10] })
            #expect(replier.port.connectionCount == 2 && replier.port.untakenBytes == mebibyte)
        }
        #expect(await eventually { replier.port.connectionCount == 0 })
        #expect(replier.port.untakenBytes == 0)
        replier.finish()
    }

    @Test("unread replies are limited to 16 MiB for each process and 256 MiB in all, and then to one reply for each")
    func processes() {
        let untaken = UntakenReplies()
        for process in 1...17 as ClosedRange<pid_t> { untaken.count(1, of: process) }
        for process in 1...15 as ClosedRange<pid_t> {
            for _ in 0..<4 { #expect(untaken.admit(4 * mebibyte, to: process) == .admitted) }
            #expect(untaken.admit(1, to: process) == .refused)
        }
        #expect(untaken.admit(12 * mebibyte, to: 16) == .admitted)
        #expect(untaken.admit(4 * mebibyte, to: 17) == .admitted)
        #expect(untaken.total == 256 * mebibyte)
        #expect(untaken.admit(1, to: 16) == .refusedByAll && untaken.admit(1, to: 17) == .refusedByAll)
        untaken.count(1, of: 18)
        #expect(untaken.admit(UntakenReplies.cost(.max), to: 18) == .admitted)
        let reply = UntakenReplies.Waiting(cost: 1, descriptors: 0)
        #expect(untaken.admit(reply, for: 18) && !untaken.admit(reply, for: 18))
        untaken.remove(4 * mebibyte, of: 1)
        untaken.remove(16 * mebibyte, of: 18)
        #expect(untaken.admit(reply, for: 18) && untaken.admit(1, to: 17) == .admitted)
    }

    @Test("for each process 1,024 replies, 64 MiB or 64 descriptors can wait, over all its connections")
    func waitingOfAProcess() {
        let untaken = UntakenReplies()
        func count(_ reply: UntakenReplies.Waiting) -> Int {
            untaken.count(1, of: 1)
            defer { untaken.count(-1, of: 1) }
            var count = 0
            while count < 2000, untaken.admit(reply, for: 1) { count += 1 }
            for _ in 0..<count { untaken.remove(reply, for: 1) }
            return count
        }
        #expect(count(.init(cost: 1, descriptors: 0)) == 1024)
        #expect(count(.init(cost: mebibyte, descriptors: 0)) == 64)
        #expect(count(.init(cost: 1, descriptors: 16)) == 4)
        #expect(untaken.total == 0)
    }

    // MARK: Descriptors

    @Test("300 clients whose replies are kept are served with 100 descriptors, and no descriptor remains")
    func visits() async {
        #expect(await outcome(ofChild: "ports-visits").output == ["300 visits", "none is left"])
    }

    // MARK: Shortages

    @Test("a message with too many descriptors in flight waits, without spinning, until other descriptors are taken")
    func inFlight() async {
        #expect(
            await outcome(ofChild: "ports-in-flight").output == [
                "tried once: ETOOMANYREFS", "for 20 ms: ETOOMANYREFS, waited", "for 30 s: sent, few passes",
                "received: all, with 16 descriptors each",
            ])
    }

    @Test("a large message waits if there is no descriptor for its memory")
    func memoryLater() async {
        #expect(
            await outcome(ofChild: "ports-memory-later").output == [
                "tried once: EMFILE", "for 30 s: sent", "received: [1]",
            ])
    }

    @Test("replies without a descriptor for memory wait, hold none, and arrive; an impossible reply is reported")
    func repliesLater() async {
        #expect(
            await outcome(ofChild: "ports-replies-later").output == [
                "50 are on their way, with 0 descriptors", "50 came", "a file that is too large: unanswered",
                "the one behind it came",
            ])
    }
}
