// SPDX-License-Identifier: Apache-2.0
// Containers that several threads use, with exact accounts, for the thread sanitizer. One step is one burst.

import CGRun
import CGRunDiagnostics
import Glibc
import Synchronization

@testable import GRunLoop

/// One thread writes the ring, two copy it.
final class RingThreads: Model {
    static let name = "RingThreads"
    static let length = 4

    private final class State: @unchecked Sendable {
        let ring: OpaquePointer
        let isDone = Atomic(false)
        let problem = Mutex<String?>(nil)
        init(_ ring: OpaquePointer) { self.ring = ring }
    }

    init(_ random: inout Random) {}
    func finish() throws {}

    func step(_ random: inout Random) throws {
        let limit = [256, 1024, 4096][random.below(3)]
        let count = Int64(20_000)
        Journal.note("\(count) records into a ring of \(limit)")
        guard let ring = cgrun_ring_new(1, UInt32(limit)) else { throw Mismatch(text: "no memory for a ring") }
        defer { cgrun_ring_free(ring) }
        let state = State(ring)
        let write: @Sendable () -> Void = {
            for number in 0..<count {
                let key = UInt64(number / 16 % 300 + 1) * 16
                if number % 16 == 0, cgrun_ring_known_item(state.ring, key) == 0 {
                    _ = cgrun_ring_add_item(state.ring, key, 1)
                }
                if number % 4096 == 4095 { cgrun_ring_drop_items(state.ring, { _, _ in }, nil) }
                cgrun_ring_put(state.ring, CGRUN_RECORD_STAGE, UInt32(truncatingIfNeeded: number), number)
            }
            state.isDone.store(true, ordering: .releasing)
        }
        let copy: @Sendable () -> Void = {
            while !state.isDone.load(ordering: .acquiring) {
                if let problem = Self.problemOfCopy(of: state.ring) { state.problem.withLock { $0 = problem } }
                _ = cgrun_ring_counts_of(state.ring, 16 * 77)
            }
        }
        runOnThreads([write, copy, copy])
        if let problem = state.problem.withLock({ $0 }) { throw Mismatch(text: problem) }
    }

    private static func problemOfCopy(of ring: OpaquePointer) -> String? {
        var count: UInt64 = 0
        var lost: UInt64 = 0
        guard let copies = cgrun_ring_copy(ring, &count, &lost) else { return "no memory for a copy" }
        defer { free(copies) }
        for index in 0..<Int(count) {
            let wanted = Int64(lost) + Int64(index)
            guard copies[index].extra == wanted, copies[index].item == UInt32(truncatingIfNeeded: wanted) else {
                return "record \(index) of \(count) is torn or another one, \(lost) were lost"
            }
        }
        return nil
    }
}

/// Several threads send to a port, where they wait for room, and to a channel, where they try again. The loop's
/// closures nest runs, and may close the channel.
final class ChannelSendersThreads: Model {
    static let name = "ChannelSendersThreads"
    static let length = 4

    /// The account of one burst.
    private final class Account: Sendable {
        let toPort = Atomic(0)
        let toChannel = Atomic(0)
        let undelivered = Atomic(0)
    }

    private let loop = GRunLoop.current

    init(_ random: inout Random) {}
    func finish() throws {}

    func step(_ random: inout Random) throws {
        let capacity = [1, 2, 7, 64, .max][random.below(5)]
        let closesAt = random.once(in: 2) ? Int.max : random.below(1500)
        Journal.note("room for \(capacity)\(closesAt == .max ? "" : ", closed at \(closesAt)")")
        let account = Account()
        let running = Running()
        let received = Shared<[Int]>([])
        let fromPort = Shared(0)
        let loop = loop
        let channel = GRunLoop.Channel<Int>(capacity: capacity) { _ in
            account.undelivered.add(1, ordering: .relaxed)
        }
        let port = GRunLoop.Port(capacity: capacity) { _ in
            fromPort.value += 1
            if fromPort.value % 13 == 0 { _ = loop.run(mode: .default, for: .zero) }
        }
        loop.add(port, forMode: .default)
        channel.receive(on: loop, inModes: [.default]) { element in
            received.value.append(element)
            if received.value.count == closesAt { channel.invalidate() }
            if element % 31 == 0 { _ = loop.run(mode: .default, for: .zero) }
        }
        let threads = (0..<3).map { sender in
            startThread {
                Self.send(from: sender, port, channel, account)
                running.count.subtract(1, ordering: .releasing)
            }
        }
        while running.count.load(ordering: .acquiring) > 0 { _ = loop.run(mode: .default, for: .milliseconds(1)) }
        for thread in threads { pthread_join(thread, nil) }
        let (toPort, toChannel) = (account.toPort.load(ordering: .relaxed), account.toChannel.load(ordering: .relaxed))
        func arrived() -> Int { received.value.count + account.undelivered.load(ordering: .relaxed) }
        for _ in 0..<10_000 where fromPort.value < toPort || arrived() < toChannel {
            _ = loop.run(mode: .default, for: .zero)
        }
        port.invalidate()
        channel.invalidate()
        try expect(fromPort.value, is: toPort, "messages that the port has received")
        try expect(arrived(), is: toChannel, "elements that were received, or given back")
        for sender in 0..<3 {
            let own = received.value.filter { $0 / 1_000_000 == sender }
            try expect(own == own.sorted(), "the elements of sender \(sender) are out of order")
        }
    }

    private static func send(
        from sender: Int, _ port: GRunLoop.Port, _ channel: GRunLoop.Channel<Int>, _ account: Account
    ) {
        for number in 0..<600 {
            if number % 3 == 0 {
                let end = GRunLoop.now.advanced(by: .milliseconds(number % 2 == 0 ? 100 : 0))
                if port.send(.init(id: UInt32(number)), before: end) { account.toPort.add(1, ordering: .relaxed) }
            }
            var result = channel.trySend(sender * 1_000_000 + number)
            while result == .full {
                sched_yield()
                result = channel.trySend(sender * 1_000_000 + number)
            }
            if result == .enqueued { account.toChannel.add(1, ordering: .relaxed) }
        }
    }
}

/// Several threads start tasks that run on the loop's thread, which ends at an arbitrary point.
final class JobQueueThreads: Model {
    static let name = "JobQueueThreads"
    static let length = 4

    init(_ random: inout Random) {}
    func finish() throws {}

    func step(_ random: inout Random) throws {
        let count = 400
        let yields = random.below(4)
        Journal.note("\(3 * count) tasks of \(yields) yields")
        let loop = GRunLoop.current
        let done = Shared(0)
        let executor = GRunLoop.Executor(loop)
        let start: @Sendable () -> Void = {
            for _ in 0..<count {
                Task.detached(executorPreference: executor) {
                    for _ in 0..<yields { await Task.yield() }
                    // Only the loop's thread changes this value. The thread sanitizer reports any other access.
                    done.value += 1
                }
            }
        }
        let threads = (0..<3).map { _ in startThread(start) }
        for _ in 0..<20_000 where done.value < 3 * count { _ = loop.run(mode: .default, for: .milliseconds(1)) }
        for thread in threads { pthread_join(thread, nil) }
        try expect(done.value, is: 3 * count, "tasks that have ended")
    }
}

/// Several threads pass closures to the loop's thread, and some wait for them.
final class PerformQueueThreads: Model {
    static let name = "PerformQueueThreads"
    static let length = 4

    init(_ random: inout Random) {}
    func finish() throws {}

    func step(_ random: inout Random) throws {
        let count = 200
        let waits = 1 + random.below(5)
        Journal.note("each \(waits)th of \(3 * count) waits")
        let loop = GRunLoop.current
        let done = Shared<[Int]>([])
        let running = Running()
        let start: @Sendable (Int) -> Void = { sender in
            for number in 0..<count {
                let body: @Sendable () -> Void = { done.value.append(sender * 1_000_000 + number) }
                if number % waits == 0 {
                    try? loop.performAndWait(body)
                } else {
                    try? loop.performOnThread(body)
                }
            }
            running.count.subtract(1, ordering: .releasing)
        }
        let threads = (0..<3).map { sender in startThread { start(sender) } }
        while running.count.load(ordering: .acquiring) > 0 {
            _ = loop.run(mode: .default, for: .milliseconds(1))
        }
        for thread in threads { pthread_join(thread, nil) }
        for _ in 0..<1000 where done.value.count < 3 * count { _ = loop.run(mode: .default, for: .zero) }
        try expect(done.value.count, is: 3 * count, "closures that were performed")
        for sender in 0..<3 {
            let own = done.value.filter { $0 / 1_000_000 == sender }
            try expect(own == own.sorted(), "the closures of thread \(sender) are out of order")
        }
    }
}

/// How many threads still run.
final class Running: Sendable {
    let count = Atomic(3)
}

/// Several threads enqueue and dequeue notifications, while the loop posts them.
final class NotificationCoreThreads: Model {
    static let name = "NotificationCoreThreads"
    static let length = 4

    init(_ random: inout Random) {}
    func finish() throws {}

    func step(_ random: inout Random) throws {
        let count = 200
        let dequeues = 2 + random.below(6)
        Journal.note("\(3 * count) notifications, each \(dequeues)th is dequeued")
        let loop = GRunLoop.current
        let core = NotificationCore<Int, Int>(on: loop)
        let posted = Shared<[Int]>([])
        let running = Running()
        let observer = core.addObserver(nil, nil, 0) { posted.value.append($0.payload) }
        let account = SendableAccount(core: core)
        let start: @Sendable (Int) -> Void = { sender in
            for number in 0..<count {
                let payload = sender * 1_000_000 + number
                let notification = GRunLoop.Notification(name: payload, payload: payload)
                _ = account.core.enqueue(notification, number % 2 == 0 ? .asap : .whenIdle, [], [.default])
                if number % dequeues == 0 { account.note(account.core.dequeue(notification, .onName)) }
            }
            running.count.subtract(1, ordering: .releasing)
        }
        let threads = (0..<3).map { sender in startThread { start(sender) } }
        while running.count.load(ordering: .acquiring) > 0 { _ = loop.run(mode: .default, for: .milliseconds(1)) }
        for thread in threads { pthread_join(thread, nil) }
        // A run that is to end immediately is never idle.
        for _ in 0..<10_000 where core.count > 0 { _ = loop.run(mode: .default, for: .microseconds(50)) }
        try expect(posted.value.count + account.total, is: 3 * count, "notifications that were posted or dequeued")
        try expect(Set(posted.value).count, is: posted.value.count, "notifications that were posted once")
        try expect(core.removeObserver(observer), "the observer is gone")
    }

    private final class SendableAccount: Sendable {
        let core: NotificationCore<Int, Int>
        private let count = Atomic(0)
        init(core: NotificationCore<Int, Int>) { self.core = core }
        func note(_ number: Int) { count.add(number, ordering: .relaxed) }
        var total: Int { count.load(ordering: .relaxed) }
    }
}
