// SPDX-License-Identifier: Apache-2.0
// Threads that wait for the reply to a message: several waits in overlapping modes, and waits that are cancelled.

import GRunLoop
import TestSupport
import Testing

@testable import GRunLoopMessagePorts

private typealias Remote = GRunLoop.RemoteMessagePort
private typealias Failure = GRunLoop.MessageRequestError

@Suite("Message ports: waits") struct MessageWaitTests {
    /// Makes a port on a running thread. It replies after a delay: the message's number in milliseconds.
    private func withLateReplies(_ body: @escaping @Sendable (GRunLoop, Remote) throws -> Void) async throws {
        let (name, thread) = (RuntimeDirectory.newName("late"), LoopThread.running())
        let port = try GRunLoop.MessagePort(name) { message in
            let reply = message.reply
            let late = GRunLoop.Timer(interval: .milliseconds(Int(message.id)), repeats: false) { _ in
                _ = try? reply?.send()
            }
            GRunLoop.current.add(late, forMode: .default)
        }
        try thread.loop.add(port, forMode: .default)
        defer {
            port.invalidate()
            thread.finish()
        }
        try await onFreshThread { loop in try body(loop, Remote.lookUp(name)) }
    }

    private func failure(_ body: () throws(Failure) -> Void) -> Failure? {
        do throws(Failure) { try body() } catch { return error }
        return nil
    }

    @Test(
        "a request that ends in one mode does not end the wait of another request in an overlapping mode",
        arguments: [GRunLoop.Mode.common, .default], [GRunLoop.Mode.default, "extra"])
    func overlappingModes(started: GRunLoop.Mode, waiting: GRunLoop.Mode) async throws {
        try await withLateReplies { loop, remote in
            try loop.addCommonMode("extra")
            let outcomes = Counter()
            func start(_ span: Int32) throws {
                _ = try remote.startRequest(
                    span, [], descriptors: [], sendTimeout: .seconds(30), receiveTimeout: .seconds(60), on: loop,
                    replyMode: started
                ) { outcome in if case .success = outcome { outcomes.increment() } }
            }
            // The started request ends first, and then the waiting request.
            try start(10)
            _ = try remote.request(60, sendTimeout: .seconds(30), receiveTimeout: .seconds(60), replyMode: waiting)
            // Now the waiting request ends first.
            try start(60)
            _ = try remote.request(10, sendTimeout: .seconds(30), receiveTimeout: .seconds(60), replyMode: waiting)
            while outcomes.value < 2 { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
            // No item stays in the modes.
            #expect(loop.run(mode: "extra", for: .zero) == .finished && loop.run(for: .zero) == .finished)
        }
    }

    @Test("cancelling a wait in a beforeWaiting observer prevents the sleep", arguments: [true, false])
    func cancelledBeforeWaiting(invalidates: Bool) async throws {
        try await withLateReplies { loop, remote in
            loop.add(
                GRunLoop.Observer(activities: .beforeWaiting, repeats: false) { _, _ in
                    if invalidates { remote.invalidate() } else { #expect(Remote.cancelWait()) }
                }, forMode: "private")
            let time = elapsed {
                _ = failure { () throws(Failure) in
                    _ = try remote.request(
                        600_000, sendTimeout: .seconds(30), receiveTimeout: Patience.normal * 2, replyMode: "private")
                }
            }
            #expect(time < Patience.normal)
        }
    }

    @Test("a closure that the loop calls meanwhile cancels the wait")
    func cancelled() async throws {
        try await withLateReplies { loop, remote in
            #expect(!Remote.cancelWait())
            let results = Shared<[Bool]>([])
            loop.perform(after: .milliseconds(10)) {
                results.update { $0.append(Remote.cancelWait()) }
                results.update { $0.append(Remote.cancelWait()) }
            }
            let error = failure { () throws(Failure) in
                _ = try remote.request(100_000, sendTimeout: .seconds(30), receiveTimeout: .seconds(600))
            }
            #expect(error == .cancelled && results.value == [true, false])
            #expect(!Remote.cancelWait())
            // The port continues to work.
            _ = try remote.request(1, sendTimeout: .seconds(30), receiveTimeout: .seconds(60))
        }
    }

    @Test("cancelling ends the innermost of nested waits")
    func nested() async throws {
        try await withLateReplies { loop, remote in
            let inner = Shared<Failure?>(nil)
            loop.perform(after: .milliseconds(5)) { [self] in
                inner.value = failure { () throws(Failure) in
                    _ = try remote.request(
                        100_000, sendTimeout: .seconds(30), receiveTimeout: .seconds(600), replyMode: "inner")
                }
            }
            loop.perform(after: .milliseconds(10), inModes: ["inner"]) { Remote.cancelWait() }
            _ = try remote.request(30, sendTimeout: .seconds(30), receiveTimeout: .seconds(60))
            #expect(inner.value == .cancelled)
        }
    }

    @Test("a message that waits for room can be cancelled, and is not sent")
    func message() async throws {
        try await onFreshThread { loop in
            let received = Counter()
            let port = try GRunLoop.MessagePort(RuntimeDirectory.newName("full")) { _ in received.increment() }
            let remote = try Remote.lookUp(port.name ?? "")
            var sent = 0
            while failure({ () throws(Failure) in try remote.send(1) }) == nil { sent += 1 }
            loop.perform(after: .milliseconds(10)) { Remote.cancelWait() }
            let error = failure { () throws(Failure) in try remote.send(2, sendTimeout: .seconds(600), mode: .default) }
            #expect(error == .cancelled)
            try loop.add(port, forMode: .default)
            while received.value < sent { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
            loop.run(for: .milliseconds(20))
            #expect(received.value == sent)
            port.invalidate()
        }
    }
}
