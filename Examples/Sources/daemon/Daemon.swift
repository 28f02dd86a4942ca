// SPDX-License-Identifier: Apache-2.0
// The daemon: what it waits for, and what follows.

import GRunLoop
import Glibc

@MainActor final class Daemon {
    /// The mode of the last run: it holds what must come to its end, and so it is finished when all has.
    private static let stopping: GRunLoop.Mode = "stopping"

    private let path: String
    private let loop = GRunLoop.main
    private let channel = GRunLoop.Channel<Reading>(capacity: 1024)
    private let idle = GRunLoop.IdleQueue()
    private let workers: Workers
    private let supervisor: Supervisor
    private var configuration: Configuration
    private var signals: [GRunLoop.SignalSource] = []
    private var statistics: GRunLoop.Timer?
    private var stopSignal: Int32 = 0
    private var received = 0
    /// The longest time that a reading was on its way since the last statistics.
    private var slowest = Duration.zero
    private var reloads = 0

    init(configuredBy path: String) throws {
        self.path = path
        configuration = try Configuration(contentsOf: path)
        workers = Workers(sendingTo: channel)
        supervisor = Supervisor(on: loop, inModes: [.default, Self.stopping], configuration)
    }

    func run() throws {
        try listen()
        say("started: process \(getpid())")
        channel.receive(on: loop, inModes: [.default, Self.stopping]) { @MainActor in self.handle($0) }
        // A mode takes a descriptor when it first runs: now, since in the end there may be none.
        loop.run(mode: Self.stopping, for: .zero)
        loop.add(idle, forMode: .default)
        startWorking()
        supervisor.start()
        loop.run()
        stop()
    }

    /// First of all: a signal that comes from now on is handled.
    private func listen() throws {
        // Whoever has started us may have ignored SIGCHLD: then the kernel would not tell how a child has ended.
        signal(SIGCHLD, SIG_DFL)
        for number in [SIGTERM, SIGINT] {
            let source = try GRunLoop.SignalSource(number) { @MainActor source, _ in
                self.stopSignal = source.signal
                self.loop.stop()
            }
            signals.append(source)
        }
        signals.append(try GRunLoop.SignalSource(SIGHUP) { @MainActor _, _ in self.reload() })
        for source in signals { try loop.add(source, forMode: .default) }
    }

    private func reload() {
        do {
            configuration = try Configuration(contentsOf: path)
        } catch {
            return say("configuration: \(error); the former one stays")
        }
        reloads += 1
        startWorking()
        supervisor.apply(configuration)
    }

    private func startWorking() {
        let child = configuration.child.isEmpty ? "no child" : "child \(configuration.child.joined(separator: " "))"
        say("configuration: \(configuration.workers) workers, a value each \(configuration.interval) ms, \(child)")
        workers.start(configuration.workers, interval: .milliseconds(configuration.interval))
        statistics?.invalidate()
        let timer = GRunLoop.Timer(interval: .milliseconds(configuration.statistics), repeats: true) { @MainActor _ in
            self.askForStatistics()
        }
        loop.add(timer, forMode: .default)
        statistics = timer
    }

    private func handle(_ reading: Reading) {
        received += 1
        slowest = max(slowest, GRunLoop.now - reading.date)
        if configuration.work > 0 { usleep(UInt32(configuration.work) * 1000) }
    }

    /// They are written when there is nothing else to do. While there is they wait, and are not asked for twice.
    private func askForStatistics() {
        guard idle.count == 0 else { return say("busy: the statistics wait, and \(channel.count) values") }
        idle.enqueue { @MainActor in self.writeStatistics() }
    }

    private func writeStatistics() {
        say(
            "statistics: \(received) received, \(workers.dropped) dropped, \(supervisor.startedChildren) children, "
                + "\(reloads) reloads, slowest after \(Int(slowest / .milliseconds(1))) ms")
        slowest = .zero
    }

    private func stop() {
        channel.close()
        workers.stop()
        say("stopping: signal \(stopSignal), \(workers.sent - received) values to deliver")
        supervisor.stop()
        // The channel leaves the mode when all is delivered, the child when it was reaped, the output when it was read.
        loop.run(mode: Self.stopping)
        say("stopped: \(workers.sent) sent, \(received) received, \(workers.dropped) dropped")
    }
}
