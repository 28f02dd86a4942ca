// SPDX-License-Identifier: Apache-2.0
// Scenario echo-server: the main run loop serves a GIO server, and our timers stay punctual.

import GRunLoop

/// A `GSocketService` accepts, reads and writes in GLib's default context. The main loop serves this context in its
/// common modes. It waits for events of the context and for its own items at the same time. During this work, one of
/// our timers ticks on its grid, and never early (items 113 and 119). The clients block in a separate thread.
enum EchoServer {
    static let scenario = Scenario(
        "echo-server", "A GSocketService answers 100 connections while our timer keeps time.",
        expected: """
            server  | listens on 127.0.0.1
            clients | 100 are connected at once
            clients | 100 got back what they sent
            server  | has accepted 100, of which 100 have closed
            timer   | at least 10 ticks, on the grid, never early
            timer   | less than half a second late
            run     | returned stopped
            """, body: run)

    private static let connections = 100

    private static func run(_ log: Recorder) throws {
        let loop = GRunLoop.main
        try serve(loop, log)
        // When the service was closed, it cancelled operations. These operations end in callbacks of GLib's default
        // context, so the loop makes more passes.
        while loop.run(for: .zero, returningAfterSourceHandled: true) == .handledSource {}
    }

    private static func serve(_ loop: GRunLoop, _ log: Recorder) throws {
        let service = try EchoService()
        defer { service.close() }
        log.line("server", service.port > 0 ? "listens on 127.0.0.1" : "does not listen")

        let (accepted, closed, port) = (service.accepted, service.closed, service.port)
        let areClientsDone = Shared(false)
        let clients = WorkerThread {
            talk(to: port, log)
            areClientsDone.value = true
        }
        let watch = Watch()
        let timer = GRunLoop.Timer(interval: .milliseconds(2), repeats: true) { timer in
            watch.note(timer)
            let isAllClosed = areClientsDone.value && closed.value >= accepted.value
            if isAllClosed, watch.ticks >= 10 { loop.stop() }
        }
        loop.add(timer, forMode: .default)
        defer { timer.invalidate() }

        let start = GRunLoop.now
        let result = loop.run(for: .patience)
        clients.join()
        log.line("server", "has accepted \(accepted.value), of which \(closed.value) have closed")
        watch.report(log)
        log.line("run", "returned \(result)")
        log.note(
            "\(watch.ticks) ticks and \(accepted.value) connections in "
                + "\(milliseconds(start.duration(to: GRunLoop.now)))"
        )
    }

    /// Runs on a separate thread.
    private static func talk(to port: UInt16, _ log: Recorder) {
        do {
            let clients = try (0..<connections).map { _ in try EchoClient(port: port) }
            log.line("clients", "\(clients.count) are connected at once")
            let right = clients.indices.count { clients[$0].exchange("greeting \($0)") == "greeting \($0)" }
            log.line("clients", "\(right) got back what they sent")
        } catch {
            log.line("clients", "failed: \(error)")
        }
    }
}

private final class Watch: Sendable {
    private struct State {
        var grid: Grid?
        var ticks = 0
        var offGrid = 0
        var early = 0
        var latest = Duration.zero
    }

    private let state = Shared(State())

    var ticks: Int { state.value.ticks }

    func note(_ timer: GRunLoop.Timer) {
        let late = timer.fireDate.duration(to: GRunLoop.now)
        state.update { state in
            let grid = state.grid ?? Grid(of: timer)
            state.grid = grid
            state.ticks += 1
            if !grid.contains(timer.fireDate) { state.offGrid += 1 }
            if late < .zero { state.early += 1 }
            state.latest = max(state.latest, late)
        }
    }

    func report(_ log: Recorder) {
        let state = state.value
        let count = state.ticks >= 10 ? "at least 10 ticks" : "\(state.ticks) ticks"
        let place = state.offGrid == 0 ? "on the grid" : "\(state.offGrid) off the grid"
        log.line("timer", "\(count), \(place), \(state.early == 0 ? "never early" : "\(state.early) early")")
        log.line("timer", state.latest < .milliseconds(500) ? "less than half a second late" : "late")
        log.note("at most \(milliseconds(state.latest)) late")
    }
}
