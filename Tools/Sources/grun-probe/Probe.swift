// SPDX-License-Identifier: Apache-2.0
// The program of the measuring scripts: loops that idle and loops that make passes, in runs or under a host.

import CGRunGLib
import GRunLoop
import Glibc

@main
enum Probe {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        let isObserved = arguments.last == "observed"
        let count = arguments.dropFirst().first.flatMap { Int($0) } ?? 1000
        switch arguments.first {
        case "idle": idle()
        case "passes": passes(count)
        case "hosted-idle": hostedIdle(isObserved)
        case "hosted-passes": hostedPasses(count, isObserved)
        case "stalls": try stalls(count, isHosted: arguments.last == "hosted")
        case "records": try records(max(1, count))
        case "elements": try elements(count, prefers: arguments.last == "preferred")
        default:
            print(
                "usage: grun-probe idle | passes N | hosted-idle [observed] | hosted-passes N [observed] | elements N "
                    + "[preferred] | stalls N [hosted] | records ROUNDS"
            )
            exit(2)
        }
    }

    /// Waits with 100,000 timers an hour away and 1,000 idle descriptors. Ends itself after a minute at most.
    private static func idle() {
        let loop = GRunLoop.current
        var limit = rlimit(rlim_cur: 4096, rlim_max: 4096)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        for index in 0..<100_000 {
            let timer = GRunLoop.Timer(interval: .seconds(3600) + .milliseconds(index), repeats: true) { _ in }
            loop.add(timer, forMode: .common)
        }
        for _ in 0..<1000 {
            var ends: [Int32] = [-1, -1]
            pipe(&ends)
            let source = GRunLoop.DescriptorSource(descriptor: ends[0]) { _, _ in }
            do {
                try loop.add(source, forMode: .common)
            } catch {
                print("grun-probe: \(error)")
                exit(1)
            }
        }
        let (queue, ports) = (useNotifications(), usePorts())
        while queue.count > 0 || ports.contains(where: { $0.count > 0 }) {
            loop.run(mode: .default, for: .milliseconds(1))
        }
        print("ready")
        fflush(nil)
        loop.run(mode: .default, for: .seconds(60))
        withExtendedLifetime((queue, ports)) {}
    }

    /// Returns a used queue. Nothing waits in it after the current loop has run.
    private static func useNotifications() -> GRunLoop.NotificationQueue<String, Void> {
        let queue = GRunLoop.NotificationQueue<String, Void>(on: .current)
        for mode in [GRunLoop.Mode.default, .common] {
            queue.enqueue(.init(name: "asap"), style: .asap, coalescing: [], inModes: [mode])
            queue.enqueue(.init(name: "idle"), style: .whenIdle, coalescing: [], inModes: [mode])
        }
        return queue
    }

    /// Returns a hundred used ports.
    private static func usePorts() -> [GRunLoop.Port] {
        let ports = (0..<100).map { _ in GRunLoop.Port { _ in } }
        for port in ports {
            GRunLoop.current.add(port, forMode: .common)
            _ = port.trySend(GRunLoop.PortMessage(id: 1))
        }
        return ports
    }

    /// Makes passes that poll, in a mode with one timer far away.
    private static func passes(_ count: Int) {
        let loop = GRunLoop.current
        let timer = GRunLoop.Timer(interval: .seconds(3600), repeats: false) { _ in }
        loop.add(timer, forMode: .default)
        for _ in 0..<count { loop.run(mode: .default, for: .zero) }
        print("passes = \(count)")
    }

    /// Receives this many elements of a descriptor that is always readable, in an actor of the loop or in a task that
    /// prefers the loop's executor.
    private static func elements(_ count: Int, prefers: Bool) throws {
        let worker = try GRunLoop.Thread(name: "elements")
        let reader = Reader(on: worker.loop)
        let readiness = worker.loop.readiness(of: readablePipe())
        if prefers {
            Task(executorPreference: worker.loop.executor) {
                try await reader.count(to: count, of: readiness, isolation: nil)
                worker.stop()
            }
        } else {
            Task {
                try await reader.count(to: count, of: readiness)
                worker.stop()
            }
        }
        worker.join()
        print("elements = \(count)")
    }

    private static func readablePipe() -> Int32 {
        var ends: [Int32] = [-1, -1]
        pipe(&ends)
        _ = Glibc.write(ends[1], "x", 1)
        return ends[0]
    }

    private static func observe() {
        GRunLoop.main.add(GRunLoop.Observer(activities: .all) { _, _ in }, forMode: .common)
    }

    /// A host in which nothing happens, with an item of each kind to wait for. It ends itself after a minute.
    private static func hostedIdle(_ isObserved: Bool) {
        let loop = GRunLoop.main
        if isObserved { observe() }
        var ends: [Int32] = [-1, -1]
        pipe(&ends)
        loop.add(GRunLoop.Timer(interval: .seconds(3600), repeats: true) { _ in }, forMode: .common)
        try? loop.add(GRunLoop.DescriptorSource(descriptor: ends[0]) { _, _ in }, forMode: .common)
        loop.add(GRunLoop.Source {}, forMode: .common)
        let (queue, ports) = (useNotifications(), usePorts())
        let host = g_main_loop_new(nil, 0)
        g_timeout_add_seconds(60, { _ in exit(0) }, nil)
        while queue.count > 0 || ports.contains(where: { $0.count > 0 }) { g_main_context_iteration(nil, 1) }
        print("ready")
        fflush(nil)
        g_main_loop_run(host)
    }

    /// A timer and a descriptor wake a host, and their callouts signal a source and enqueue a block. The program writes
    /// one byte each time. It does not use the main queue, to which libdispatch itself writes.
    ///
    /// The block moves the timer. With a fixed interval the timer could be due in every pass on a slow machine, so that
    /// the host would never sleep.
    private static func hostedPasses(_ count: Int, _ isObserved: Bool) {
        let loop = GRunLoop.main
        if isObserved { observe() }
        var ends: [Int32] = [-1, -1]
        pipe(&ends)
        let write = ends[1]
        let timer = GRunLoop.Timer(interval: .seconds(3600), repeats: true) { _ in _ = Glibc.write(write, "x", 1) }
        nonisolated(unsafe) var left = count
        let source = GRunLoop.Source {
            loop.perform {
                left -= 1
                timer.fireDate = GRunLoop.now.advanced(by: .milliseconds(2))
            }
        }
        timer.fireDate = GRunLoop.now
        loop.add(timer, forMode: .common)
        loop.add(source, forMode: .common)
        try? loop.add(
            GRunLoop.DescriptorSource(descriptor: ends[0]) { descriptor, _ in
                var byte: UInt8 = 0
                read(descriptor.descriptor, &byte, 1)
                source.signal()
            }, forMode: .common)
        while left > 0 { g_main_context_iteration(nil, 1) }
        print("passes = \(count)")
    }
}

private actor Reader {
    private nonisolated let executor: GRunLoop.Executor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(on loop: GRunLoop) {
        executor = GRunLoop.Executor(loop, label: "Reader")
    }

    func count(to count: Int, of readiness: GRunLoop.Readiness) async throws {
        try await self.count(to: count, of: readiness, isolation: self)
    }

    func count(to count: Int, of readiness: GRunLoop.Readiness, isolation: isolated (any Actor)?) async throws {
        var left = count
        for try await _ in readiness {
            left -= 1
            if left == 0 { return }
        }
    }
}
