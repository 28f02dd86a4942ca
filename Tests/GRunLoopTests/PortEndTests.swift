// SPDX-License-Identifier: Apache-2.0
// Ports that are released: what is released with them, and what is not.

import TestSupport
import Testing

@testable import GRunLoop

private typealias Port = GRunLoop.Port
private typealias Message = GRunLoop.PortMessage

/// The ways in which a message can hold a port.
private let holders: [@Sendable (Port) -> Message] = [
    { Message([.bytes([1]), .port($0)]) },
    { Message(replyPort: $0) },
    { Message([.port($0), .port($0)], replyPort: $0) },
]

@Suite("Ports that are released") struct PortEndTests {
    private static let links = 30_000

    /// Returns the first of a chain of ports. A message in each queue holds the only reference to the next port.
    private static func makeChain(_ gone: Counter, _ holder: (Port) -> Message) -> Port {
        var first = Port(capacity: 1)
        for _ in 1..<links {
            let port = Port(capacity: 1)
            #expect(port.trySend(holder(first)))
            first.onInvalidation { gone.increment() }
            first = port
        }
        first.onInvalidation { gone.increment() }
        return first
    }

    @Test("a chain of ports, each in a message of the previous port, is freed in one step", arguments: holders.indices)
    func chain(_ index: Int) async throws {
        try await onFreshThread { _ in
            let gone = Counter()
            _ = Self.makeChain(gone, holders[index])
            #expect(gone.value == Self.links)
        }
    }

    @Test("invalidation releases the whole chain before the invalidation handlers are called")
    func chainInvalidated() async throws {
        try await onFreshThread { _ in
            let (gone, before) = (Counter(), Shared(0))
            let first = Self.makeChain(gone, holders[0])
            first.onInvalidation { before.value = gone.value }
            first.invalidate()
            #expect(before.value == Self.links && gone.value == Self.links)
        }
    }

    @Test("delivering the message that holds its first port releases the chain")
    func chainOfDelivered() async throws {
        try await onFreshThread { loop in
            let gone = Counter()
            let port = Port { _ in }
            loop.add(port, forMode: .default)
            #expect(port.trySend(Message([.port(Self.makeChain(gone, holders[0]))])))
            #expect(gone.value == 0)
            #expect(loop.run(mode: .default, for: .zero, returningAfterSourceHandled: true) == .handledSource)
            #expect(gone.value == Self.links)
        }
    }

    @Test("item 243: a port that a message and another object hold stays valid, with its waiting messages")
    func heldElsewhere() async throws {
        try await onFreshThread { loop in
            let (ids, trace) = (Shared<[UInt32]>([]), Recorder())
            let kept = Port { message in ids.update { $0.append(message.id) } }
            #expect(kept.trySend(Message(id: 5)))
            let first = Port()
            first.onInvalidation { trace("first") }
            do {
                let second = Port()
                second.onInvalidation { trace("second") }
                #expect(second.trySend(Message([.port(kept)], replyPort: first)))
                #expect(first.trySend(Message([.port(second), .port(kept)])))
            }
            #expect(trace.lines.isEmpty)
            first.invalidate()
            #expect(trace.lines == ["second", "first"])
            #expect(kept.isValid && kept.count == 1)
            loop.add(kept, forMode: .default)
            #expect(loop.run(mode: .default, for: .zero, returningAfterSourceHandled: true) == .handledSource)
            #expect(ids.value == [5])
        }
    }
}

/// The inbox of a port. It becomes empty between a sender's check and its wait.
private final class EmptiedInbox: PortMessageQueue {
    private let channel = PortChannel(capacity: 1)
    private let beforeWaiting: @Sendable () -> Void

    init(beforeWaiting: @escaping @Sendable () -> Void) { self.beforeWaiting = beforeWaiting }

    func takeNext(_ taken: inout PortTaken) -> Bool { channel.takeNext(&taken) }
    func resumeSenders() { channel.resumeSenders() }
    func close() -> [Message] { channel.close() }
    var capacity: Int { channel.capacity }
    var count: Int { channel.count }
    func begin() -> PortSlot { channel.begin() }
    func commit() -> Bool { channel.commit() }
    func send(_ message: consuming Message, until end: Nanoseconds) -> Bool {
        beforeWaiting()
        return channel.send(message, until: end)
    }
    nonisolated(nonsending) func wait(toSend message: consuming Message) async -> Bool {
        beforeWaiting()
        return await channel.wait(toSend: message)
    }
}

/// Runs one job, and keeps the later ones.
private final class OneJobExecutor: TaskExecutor {
    private let jobs = Shared<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.update { $0.append(job) }
    }

    var count: Int { jobs.value.count }

    func runNext() {
        let job = jobs.update { $0.isEmpty ? nil : $0.removeFirst() }
        job?.runSynchronously(on: asUnownedTaskExecutor())
    }
}

@Suite("Room that appears before a sender waits") struct PortRoomTests {
    /// Makes `send` find a full port. The port is empty, and its loop sleeps, when the sender begins to wait.
    private func check(_ send: @escaping @Sendable (Port) -> Void) async throws {
        try await onFreshThread { _ in Self.check(send) }
    }

    private static func check(_ send: (Port) -> Void) {
        let (ids, isFirst, isSecond) = (Shared<[UInt32]>([]), Flag(), Flag())
        let (thread, own) = (LoopThread.running(), Shared<Port?>(nil))
        let inbox = EmptiedInbox {
            guard let port = own.value else { return }
            thread.loop.add(port, forMode: .default)
            #expect(isFirst.wait())
            thread.waitUntilAsleep()
        }
        let port = Port(inbox, confined: nil) { message in
            ids.update { $0.append(message.id) }
            if message.id == 1 { isFirst.set() } else { isSecond.set() }
        }
        own.value = port
        #expect(port.trySend(Message(id: 1)))
        send(port)
        #expect(isSecond.wait())
        own.value = nil
        port.invalidate()
        thread.finish()
        #expect(ids.value == [1, 2])
    }

    @Test("the message of a thread is sent immediately")
    func ofAThread() async throws {
        try await check { port in #expect(port.send(Message(id: 2), before: GRunLoop.distantFuture)) }
    }

    @Test("the message of a task is sent immediately, in its first job: it needs no later job of an executor")
    func ofATask() async throws {
        let executor = OneJobExecutor()
        try await check { port in
            Task(executorPreference: executor) { #expect(await port.send(Message(id: 2))) }
            executor.runNext()
            #expect(executor.count == 0)
        }
    }
}
