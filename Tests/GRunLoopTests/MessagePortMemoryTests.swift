// SPDX-License-Identifier: Apache-2.0
// Message ports: the memory of messages, and how much of a process a sender's messages may occupy.

import CGRun
import CGRunMessagePorts
import Glibc
import TestSupport
import Testing

@testable import GRunLoop
@testable import GRunLoopMessagePorts

private typealias Port = GRunLoop.MessagePort
private typealias Remote = GRunLoop.RemoteMessagePort

/// The number of page faults of this thread.
private func faultCount() -> Int {
    var usage = rusage()
    // 1 is RUSAGE_THREAD.
    getrusage(.init(1), &usage)
    return usage.ru_minflt
}

private func blockCount(_ file: Int32) -> Int {
    var status = stat()
    fstat(file, &status)
    return status.st_blocks
}

private func threadTime() -> Nanoseconds {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Nanoseconds(time.tv_sec) * 1_000_000_000 + Nanoseconds(time.tv_nsec)
}

private func map(_ memory: Int32, _ size: Int) -> MappedMemory? {
    MappedMemory(ReceivedDescriptors([dup(memory)], countedBy: nil), size)
}

@Suite("Message ports: memory") struct MessagePortMemoryTests {
    @Test("memory is mapped only if no process can shrink it, make it longer or write to it")
    func seals() {
        for seals: Int32 in 0..<16 {
            let memory = SealableMemory.make([1, 2, 3], size: 3, seals: seals)
            defer { close(memory) }
            let isSound = seals & SealableMemory.needed == SealableMemory.needed
            #expect((map(memory, 3) != nil) == isSound)
            #expect(map(memory, 2) == nil && map(memory, 4) == nil)
        }
    }

    @Test("memory with a hole reads as zeros, and its reader allocates no page")
    func holes() throws {
        for size in [1 << 18, 4 << 20] {
            for isWhole in [true, false] {
                let memory = SealableMemory.make()
                defer { close(memory) }
                let ones = [UInt8](repeating: 1, count: isWhole ? size : 4096)
                #expect(ftruncate(memory, size) == 0 && write(memory, ones, ones.count) == ones.count)
                // The file has at least as many blocks as its length needs.
                #expect(SealableMemory.allocateBehind(memory, size))
                #expect(SealableMemory.seal(memory, SealableMemory.needed))
                let blocks = blockCount(memory)
                let data = GRunLoop.MessageData(try #require(map(memory, size)))
                #expect(data[0] == (isWhole ? 1 : 0) && data[size - 1] == (isWhole ? 1 : 0))
                let expected = [UInt8](repeating: isWhole ? 1 : 0, count: size)
                #expect(data.withUnsafeBytes { $0.baseAddress.map { memcmp($0, expected, size) } } == 0)
                #expect(blockCount(memory) == blocks)
            }
        }
    }

    @Test("receiving and releasing 64 MiB maps no page; the first read closes the descriptor")
    func mapsWhatIsRead() throws {
        let size = 64 << 20
        let memory = SealableMemory.make()
        defer { close(memory) }
        let piece = [UInt8](repeating: 7, count: 1 << 20)
        for _ in 0..<64 { #expect(write(memory, piece, piece.count) == piece.count) }
        #expect(SealableMemory.seal(memory, SealableMemory.needed))
        let before = faultCount()
        for _ in 0..<100 { #expect(map(memory, size)?.count == size) }
        // The objects alone cause these faults. A page for each 64 KiB would be 100,000 faults.
        #expect(faultCount() - before < 1000)
        var descriptor: ReceivedDescriptors? = ReceivedDescriptors([dup(memory)], countedBy: nil)
        weak let held = descriptor
        let data = try GRunLoop.MessageData(#require(descriptor.flatMap { MappedMemory($0, size) }))
        descriptor = nil
        #expect(data.count == size && held != nil)
        // C gets the same memory through the keeper, without a copy.
        #expect(data.keeper is MappedMemory)
        #expect(data[size - 1] == 7 && held == nil)
    }

    @Test("large memory that arrives repeatedly is examined once, also beside memory with holes")
    func looksUpOnce() throws {
        let size = 64 << 20
        func make(isWhole: Bool) -> Int32 {
            let memory = SealableMemory.make()
            let piece = [UInt8](repeating: 7, count: 1 << 20)
            for _ in 0..<(isWhole ? 64 : 63) { #expect(write(memory, piece, piece.count) == piece.count) }
            #expect(ftruncate(memory, size) == 0 && SealableMemory.seal(memory, SealableMemory.needed))
            return memory
        }
        /// The processor time of `times` first reads.
        func read(_ memory: Int32, _ expected: UInt8, times: Int) throws -> Nanoseconds {
            let start = threadTime()
            for _ in 0..<times {
                let mapped = try #require(map(memory, size))
                #expect(mapped.bytes[size / 2] == expected)
            }
            return threadTime() - start
        }
        let (whole, holed) = (make(isWhole: true), make(isWhole: false))
        defer { for memory in [whole, holed] { close(memory) } }
        for (memory, expected) in [(whole, 7), (holed, 0)] as [(Int32, UInt8)] {
            let first = try read(memory, expected, times: 1)
            #expect(try read(memory, expected, times: 40) < 24 * first)
        }
        // The result for one memory is not used for the other.
        #expect(try read(whole, 7, times: 1) > 0)
    }

    @Test("the memory of a reply that nobody waits for is not examined, and the connection continues")
    func lateMemory() async throws {
        let name = RuntimeDirectory.newName("late")
        let (claim, isOver) = (try PortClaim(PortName(name)), Flag())
        let server = startThread {
            guard let peer = try? BarePeer(of: claim), let first = try? peer.receive(), let second = try? peer.receive()
            else {
                Issue.record("no request came")
                return
            }
            // Examining this memory would end the connection, because the memory is not sealed.
            let memory = SealableMemory.make([1], size: 1 << 20, seals: 0)
            defer { close(memory) }
            peer.send(.reply, conversation: first.conversation, memory: memory, size: 1 << 20)
            peer.send(.reply, conversation: second.conversation, [2])
            _ = isOver.wait()
        }
        try await onFreshThread { _ in
            defer { isOver.set() }
            let remote = try Remote.lookUp(name)
            let limit = Duration.seconds(30)
            #expect(throws: GRunLoop.MessageRequestError.receiveTimeout) {
                try remote.request(1, sendTimeout: limit, receiveTimeout: .milliseconds(5))
            }
            let reply = try remote.request(2, sendTimeout: limit, receiveTimeout: limit)
            #expect(Array(reply.data) == [2] && remote.isValid)
        }
        join(server)
    }

    // MARK: Limits of messages

    /// A port on a fresh thread's loop that keeps the messages with the number 1, and a peer that sends them.
    private func withHog(
        _ packet: OutgoingPacket, _ body: @escaping @Sendable (Hog) throws -> Void
    ) async throws {
        try await onFreshThread { loop in
            let hog = try Hog(loop, packet)
            let messages = try capturingLog { try body(hog) }
            #expect(messages.messages.count == 1)
            #expect(messages.messages.first?.contains("has stopped reading from a sender") == true)
            hog.port.invalidate()
        }
    }

    @Test("a sender whose messages hold 1,024 pieces of memory waits until they are released, and other senders do not")
    func memories() async throws {
        let data = GRunLoop.MessageData([UInt8](repeating: 1, count: 70_000))
        try await withHog(OutgoingPacket(.oneWay, id: 1, conversation: 1, data, [])) { hog in
            try hog.fill(1024)
            hog.expectSleep(with: 1024)
            try hog.expectOthers()
            hog.release()
            hog.receive(hog.sent)
        }
    }

    @Test("a sender whose messages hold 64 descriptors waits until some descriptors are taken")
    func descriptors() async throws {
        let pipe = Pipe()
        let packet = try OutgoingPacket(
            .oneWay, id: 1, conversation: 1, [], Array(repeating: pipe.readEnd, count: 16))
        try await withHog(packet) { hog in
            withExtendedLifetime(pipe) {}
            try hog.fill(4)
            hog.expectSleep(with: 4)
            try hog.expectOthers()
            for descriptor in hog.kept.value[0].takeDescriptors() { close(descriptor) }
            hog.receive(5)
            hog.expectSleep(with: 5)
            hog.release()
        }
    }

    @Test("a connection is closed after its unread descriptors, and fork() does not wait for their close")
    func drained() throws {
        let name = RuntimeDirectory.newName("drained")
        let claim = try PortClaim(PortName(name))
        let peer = try BarePeer(to: name)
        let accepted = try BarePeer(of: claim)
        let (file, other) = (SealableMemory.make(), SealableMemory.make())
        defer { close(file) }
        // Sends an empty packet, one with a descriptor, and several packets behind it.
        #expect(send(peer.socket.descriptor, "", 0, 0) == 0)
        for memory in [file, other] { #expect(peer.send(.oneWay, conversation: 1, memory: memory, size: 1) == 0) }
        #expect(send(peer.socket.descriptor, "", 0, 0) == 0)
        close(other)
        cgrun_packet_drain(accepted.socket.descriptor)
        var byte: UInt8 = 0
        #expect(recv(accepted.socket.descriptor, &byte, 1, Int32(MSG_DONTWAIT)) == 0)
        #expect(peer.socket.isAllTaken)
        claim.release()
    }

    @Test("a sender that disconnects while it waits does not keep the loop awake, and its messages are handled")
    func leavesWhilePaused() async throws {
        let data = GRunLoop.MessageData([UInt8](repeating: 1, count: 70_000))
        try await withHog(OutgoingPacket(.oneWay, id: 1, conversation: 1, data, [])) { hog in
            try hog.fill(1024)
            hog.expectSleep(with: 1024)
            hog.peer = nil
            hog.expectSleep(with: 1024)
            hog.release()
            hog.receive(hog.sent)
            while hog.port.connectionCount > 0 { hog.loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
        }
    }
}

/// Sends messages that a port keeps.
private final class Hog {
    let loop: GRunLoop
    let port: Port
    let kept = Shared<[Port.Message]>([])
    var peer: BarePeer?
    /// The numbers of messages that were sent, and that were handled and released.
    private(set) var sent = 0
    private let handled = Counter()
    private let others = Counter()
    private let passes = Counter()
    private let packet: OutgoingPacket

    init(_ loop: GRunLoop, _ packet: OutgoingPacket) throws {
        self.loop = loop
        self.packet = packet
        let name = RuntimeDirectory.newName("hog")
        port = try Port(name) { [kept, handled, others] message in
            if message.id == 1 {
                kept.update { $0.append(message) }
                handled.increment()
            } else {
                others.increment()
            }
        }
        try loop.add(port, forMode: .default)
        loop.on(.beforeTimers) { [passes] _ in passes.increment() }
        peer = try BarePeer(to: name)
    }

    /// Sends until the port keeps `count` messages, and other messages wait to be received.
    func fill(_ count: Int) throws {
        while handled.value < count {
            sent += peer?.fill(with: packet) ?? 0
            loop.run(for: .seconds(30), returningAfterSourceHandled: true)
        }
        sent += peer?.fill(with: packet) ?? 0
        #expect(sent > count)
    }

    func receive(_ count: Int) {
        while handled.value < count { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
    }

    func release() { kept.value = [] }

    func expectSleep(with count: Int) {
        let before = passes.value
        loop.run(for: .milliseconds(50))
        #expect(handled.value == count && passes.value - before < 8)
    }

    func expectOthers() throws {
        let remote = try Remote.lookUp(port.name ?? "")
        for _ in 0..<3 { try remote.send(2) }
        while others.value < 3 { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
    }
}
