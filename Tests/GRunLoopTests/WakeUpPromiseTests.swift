// SPDX-License-Identifier: Apache-2.0
// A function promises that a loop, a run or a task reacts. The loop sleeps, and nothing else wakes it.

import GRunLoop
import GRunLoopDiagnostics
import GRunLoopMessagePorts
import TestSupport
import Testing

private let privateMode = GRunLoop.Mode("org.grunloop.tests.private")

private actor Resident {
    private nonisolated let executor: GRunLoop.Executor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(on loop: GRunLoop) { executor = GRunLoop.Executor(loop) }

    func run(_ body: @Sendable () -> Void) { body() }
}

@Suite("Wake-ups that are promised") struct WakeUpPromiseTests {
    enum Work: CaseIterable {
        case block, job, channel, request, notification
    }

    @Test("a mode that becomes common during a sleep in it serves the waiting common work", arguments: Work.allCases)
    func becomesCommon(_ work: Work) async throws {
        try await onFreshThread { _ in
            let channel = GRunLoop.Channel<Int>()
            let (isDone, wakes) = (Flag(), Counter())
            let thread = LoopThread { loop in
                loop.add(GRunLoop.Source {}, forMode: privateMode)
                loop.add(
                    GRunLoop.Observer(activities: .afterWaiting) { _, _ in wakes.increment() }, forMode: privateMode)
                channel.receive(on: loop) { _ in isDone.set() }
                loop.run(mode: privateMode, for: Patience.normal * 2)
            }
            thread.waitUntilAsleep()
            let loop = thread.loop
            let queue = GRunLoop.NotificationQueue<String, Void>(on: loop)
            let observation = queue.observe("news") { _ in isDone.set() }
            switch work {
            case .block: loop.async { isDone.set() }
            case .job:
                let resident = Resident(on: loop)
                Task.detached { await resident.run { isDone.set() } }
            case .channel: _ = channel.trySend(1)
            case .request: try loop.performOnThread { isDone.set() }
            case .notification: queue.enqueue(.init(name: "news"), style: .asap, inModes: [.common])
            }
            // The pass that the work has caused is over.
            #expect(wakes.wait(for: 1))
            thread.waitUntilAsleep()
            #expect(!isDone.isSet)
            try loop.addCommonMode(privateMode)
            #expect(isDone.wait())
            observation.cancel()
            thread.finish()
        }
    }

    @Test("idle work that a deinit enqueues right before the sleep is called before the sleep")
    func idleWorkOfADeinit() async throws {
        try await onFreshThread { loop in
            let queue = GRunLoop.IdleQueue()
            loop.add(queue, forMode: .default)
            loop.add(GRunLoop.Source {}, forMode: .default)
            func addObserver() {
                let witness = Witness { queue.enqueue { loop.stop() } }
                loop.add(
                    GRunLoop.Observer(activities: .beforeWaiting) { observer, _ in
                        withExtendedLifetime(witness) { loop.remove(observer, forMode: .default) }
                    }, forMode: .default)
            }
            addObserver()
            #expect(loop.run(mode: .default, for: Patience.normal) == .stopped)
        }
    }

    @Test("the reports of a stall monitor end with the loop's thread")
    func reportsEnd() async throws {
        let thread = try GRunLoop.Thread(name: "watched")
        let monitor = try GRunLoop.StallMonitor(thread.loop, threshold: .seconds(60))
        let reports = monitor.reports
        let task = Task { for await _ in reports {} }
        await thread.stopAndWait()
        await task.value
        withExtendedLifetime(monitor) {}
    }
}
