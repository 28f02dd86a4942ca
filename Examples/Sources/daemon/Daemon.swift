// SPDX-License-Identifier: Apache-2.0
// The daemon: the events that it waits for, and its reactions.

import GRunLoop
import Glibc

@MainActor final class Daemon {
    /// The mode of the last run. It holds everything that must finish, so the mode is finished when all of it is.
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
    /// The longest delay of a reading since the last statistics.
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
        // A mode needs a descriptor at its first run. It gets one now, because at the end none may be free.
        loop.run(mode: Self.stopping, for: .zero)
        loop.add(idle, forMode: .default)
        startWorking()
        supervisor.start()
        loop.run()
        stop()
    }

    /// Called first, so that every later signal is handled.
    private func listen() throws {
        // The parent may have ignored SIGCHLD. Then the kernel would not report how a child has ended.
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

    /// Statistics are written when the daemon is idle. Until then they wait, and are enqueued only once.
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
        // The channel leaves the mode when all is delivered, the child when it is reaped, the output when it is read.
        loop.run(mode: Self.stopping)
        say("stopped: \(workers.sent) sent, \(received) received, \(workers.dropped) dropped")
    }
}
