// SPDX-License-Identifier: Apache-2.0
// An outer run does not sleep over work that its own thread delivers, whatever a nested run has served.

import GRunLoop
import TestSupport
import Testing

@Suite("Nested runs: deliveries") struct NestedRunsDeliveryTests {
    /// The ways to deliver work to the mode Outer.
    enum Way: CaseIterable, Sendable {
        case block, perform, channel, job, notification, port

        /// Returns a closure that delivers, on the loop's own thread, so that `body` is called.
        func prepare(
            _ loop: GRunLoop, _ mode: GRunLoop.Mode, _ body: @escaping @Sendable () -> Void
        ) throws -> @Sendable () -> Void {
            switch self {
            case .block: return { loop.async(inModes: [mode], body) }
            case .perform: return { try? loop.performOnThread(inModes: [mode], body) }
            case .channel:
                let channel = GRunLoop.Channel<Int>()
                channel.receive(on: loop, inModes: [mode]) { _ in body() }
                return { _ = channel.trySend(1) }
            case .job:
                try loop.addCommonMode(mode)
                let executor = loop.executor
                return { Task(executorPreference: executor) { body() } }
            case .notification:
                let queue = GRunLoop.NotificationQueue<String, Void>(on: loop)
                let observation = queue.observe("name") { _ in body() }
                return {
                    withExtendedLifetime(observation) {
                        _ = queue.enqueue(.init(name: "name"), style: .asap, inModes: [mode])
                    }
                }
            case .port:
                let port = GRunLoop.Port { _ in body() }
                loop.add(port, forMode: mode)
                return { _ = port.trySend(.init(id: 1)) }
            }
        }
    }

    enum Place: CaseIterable, Sendable {
        case beforeTimers, block, beforeWaiting
    }

    enum Moment: CaseIterable, Sendable {
        case before, during, after
    }

    /// Makes `way` deliver to the mode in a callout that also runs another mode. The body records `done` and stops the
    /// run. Returns the objects that must live until then.
    private static func arrange(
        _ loop: GRunLoop, _ mode: GRunLoop.Mode, _ way: Way, _ place: Place, _ moment: Moment, _ record: Recorder
    ) throws -> Any {
        loop.keepAlive(mode)
        loop.keepAlive("Nested")
        let deliver = try way.prepare(loop, mode) {
            record("done")
            loop.stop()
        }
        let body = { @Sendable in
            if moment == .before { deliver() }
            if moment == .during { loop.perform(inModes: ["Nested"], deliver) }
            loop.wakeUp()
            loop.run(mode: "Nested", for: .milliseconds(5))
            if moment == .after { deliver() }
        }
        switch place {
        case .beforeTimers: loop.on(.beforeTimers, mode, repeats: false) { _ in body() }
        case .block: loop.perform(inModes: [mode], body)
        case .beforeWaiting: loop.on(.beforeWaiting, mode, repeats: false) { _ in body() }
        }
        return deliver
    }

    @Test(
        "item 73: work that is delivered around a nested run precedes the outer sleep", arguments: Way.allCases,
        Place.allCases)
    func delivered(way: Way, place: Place) async throws {
        for moment in Moment.allCases {
            try await onFreshThread { loop in
                let record = Recorder()
                let keeper = try Self.arrange(loop, "Outer", way, place, moment, record)
                defer { withExtendedLifetime(keeper) {} }
                #expect(loop.run(mode: "Outer", for: .seconds(3)) == .stopped, "\(moment)")
                #expect(record.lines == ["done"], "\(moment)")
            }
        }
    }

    @Test("work delivered around a nested run in a host's callout is done", arguments: Way.allCases, Place.allCases)
    func deliveredUnderHost(way: Way, place: Place) async throws {
        for moment in Moment.allCases {
            try await onFreshThread { loop in
                let record = Recorder()
                loop.attach()
                let keeper = try Self.arrange(loop, .default, way, place, moment, record)
                defer { withExtendedLifetime(keeper) {} }
                let isLate = Shared(false)
                let alarm = GLibSource.timeout(loop.homeContext?.pointer, milliseconds: 3000) {
                    isLate.value = true
                    return true
                }
                iterateHost(loop.homeContext?.pointer) { record.count(of: "done") > 0 || isLate.value }
                alarm.destroy()
                #expect(record.lines == ["done"], "\(moment)")
            }
        }
    }

    /// The items whose closures remove them in the last pass before a sleep. The loop releases them afterwards.
    enum Last: CaseIterable, Sendable {
        case observer, timer, port

        func add(to loop: GRunLoop, _ body: @escaping @Sendable () -> Void) {
            switch self {
            case .observer:
                let observer = GRunLoop.Observer(activities: .beforeWaiting) { [weak loop] observer, _ in
                    body()
                    loop?.remove(observer, forMode: "Outer")
                }
                loop.add(observer, forMode: "Outer")
            case .timer:
                let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { [weak loop] timer in
                    body()
                    loop?.remove(timer, forMode: "Outer")
                }
                loop.add(timer, forMode: "Outer")
            case .port:
                let slot = Shared<GRunLoop.Port?>(nil)
                let port = GRunLoop.Port { [weak loop] _ in
                    body()
                    slot.update { port in
                        if let port { loop?.remove(port, forMode: "Outer") }
                        port = nil
                    }
                }
                slot.value = port
                loop.add(port, forMode: "Outer")
                _ = port.trySend(.init())
            }
        }
    }

    @Test("a deinit that runs the loop before a sleep does not disable the end of that sleep", arguments: Last.allCases)
    func runsInDeinit(last: Last) async throws {
        final class Running: Sendable {
            let loop: GRunLoop
            let record: Recorder
            init(_ loop: GRunLoop, _ record: Recorder) { (self.loop, self.record) = (loop, record) }
            deinit {
                loop.run(mode: "Nested", for: .milliseconds(5))
                record("deinit")
            }
        }
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive("Outer")
            loop.keepAlive("Nested")
            last.add(to: loop) { [running = Running(loop, record)] in withExtendedLifetime(running) {} }
            let other = LoopThread { _ in
                _ = record.wait(for: "deinit")
                _ = waitUntil(timeout: .seconds(1)) { loop.isWaiting }
                loop.stop()
            }
            #expect(loop.run(mode: "Outer", for: .seconds(3)) == .stopped)
            other.join()
        }
    }

    @Test(
        "the loop does not sleep over work from a deinit before a sleep, even if a run in the deinit used the wake-up",
        arguments: Last.allCases)
    func deliversInDeinit(last: Last) async throws {
        try await onFreshThread { loop in
            loop.keepAlive("Outer")
            loop.keepAlive("Nested")
            let deliver = { @Sendable in
                loop.async(inModes: ["Outer"]) { loop.stop() }
                loop.run(mode: "Nested", for: .zero)
            }
            last.add(to: loop) { [delivering = AtDeinit(deliver)] in withExtendedLifetime(delivering) {} }
            #expect(loop.run(mode: "Outer", for: Patience.normal) == .stopped)
        }
    }
}
