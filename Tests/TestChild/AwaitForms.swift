// SPDX-License-Identifier: Apache-2.0
// Every form of `await` that the library has, on a loop that is about to end.

import GRunLoop
import GRunLoopMessagePorts
import Glibc
import TestSupport

enum AwaitForm: String, CaseIterable, Sendable {
    case sleep, clock, ticks, readiness, activities, signals, exit, idle, run, elements, send, messages, portSend
    case request, jobs, plain

    /// Whether the end of the loop ends the wait. Otherwise the task must be cancelled.
    var endsWithLoop: Bool { self != .portSend && self != .plain }

    /// The objects that the waits need.
    struct Surroundings: Sendable {
        let child = startSleeper()
        let pipe = Pipe()
        let remote: GRunLoop.RemoteMessagePort
        private let server: GRunLoop.Thread
        private let port: GRunLoop.MessagePort

        /// Makes a port that never replies.
        init() throws {
            let kept = Shared<[GRunLoop.MessagePort.Message]>([])
            let name = RuntimeDirectory.newName()
            port = try GRunLoop.MessagePort(name) { message in kept.update { $0.append(message) } }
            server = try GRunLoop.Thread(name: "never replies")
            try server.loop.add(port, forMode: .default)
            remote = try GRunLoop.RemoteMessagePort.lookUp(name)
        }
    }

    /// Waits until the task is cancelled or the loop ends, on the caller's executor.
    nonisolated(nonsending) func wait(on loop: GRunLoop, _ surroundings: Surroundings) async {
        switch self {
        case .sleep: try? await loop.sleep(for: .seconds(3600))
        case .clock: try? await loop.clock.sleep(until: loop.clock.now.advanced(by: .seconds(3600)))
        case .ticks: for await _ in loop.ticks(every: .milliseconds(1)) {}
        case .readiness:
            do { for try await _ in loop.readiness(of: surroundings.pipe.readEnd) {} } catch {}
        case .activities: for await _ in loop.activities([.beforeWaiting, .afterWaiting]) {}
        case .signals:
            do { for try await _ in loop.signals([SIGUSR1]) {} } catch {}
        case .exit: _ = try? await loop.waitForExit(of: surroundings.child)
        case .idle: while (try? await loop.waitUntilIdle()) != nil {}
        case .run: for _ in 0..<20 where !Task.isCancelled { await loop.run {} }
        case .elements:
            let channel = GRunLoop.Channel<Int>()
            for number in 0..<3 { _ = await channel.send(number) }
            for await _ in channel.elements(on: loop) {}
        case .send:
            let channel = GRunLoop.Channel<Int>(capacity: 1)
            channel.receive(on: loop, inModes: []) { _ in }
            for number in 0..<3 { _ = await channel.send(number) }
        case .messages:
            let port = GRunLoop.Port()
            for await _ in port.messages(on: loop) {}
        case .portSend:
            let port = GRunLoop.Port(capacity: 1)
            for _ in 0..<3 { _ = await port.send(GRunLoop.PortMessage()) }
        case .request:
            _ = try? await surroundings.remote.request(
                1, [1], sendTimeout: .seconds(3600), receiveTimeout: .seconds(3600), on: loop)
        case .jobs:
            let other = Visited(on: loop)
            for _ in 0..<20 where !Task.isCancelled { await other.visit() }
        case .plain:
            for _ in 0..<3 { await Task.yield() }
            try? await Task.sleep(for: .seconds(3600))
        }
    }
}

private actor Visited {
    private nonisolated let executor: GRunLoop.Executor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private var visits = 0

    init(on loop: GRunLoop) { executor = GRunLoop.Executor(loop, label: "Visited") }

    func visit() { visits += 1 }
}
