// SPDX-License-Identifier: Apache-2.0
// Scenario glib-sources: GLib's sources and ours take turns in one loop.

import GRunLoop

/// The home context of the main loop is GLib's default context, and every common mode serves it. Our passes dispatch
/// the sources that `g_timeout_add` or GIO adds to the default context, and our sleeps also wait for these sources. In
/// this scenario each source starts the next source, so the order is certain. Our timer adds a timeout, the timeout
/// sends through a socket, and the socket's source signals our source. Then our timer and a timeout of GLib tick at the
/// same time, and neither delays the other. A dispatched context counts as a handled source (item 26).
enum GLibSources {
    static let scenario = Scenario(
        "glib-sources", "GLib's timeouts and sockets are served in the same passes as our timers and sources.",
        expected: """
            GRunLoop.Timer   | adds a timeout         | 1
            GTimeoutSource   | sends through a socket | 1
            GSocketSource    | signals our source     | received "1"
            GRunLoop.Source  | adds a timer           | 1
            GRunLoop.Timer   | adds a timeout         | 2
            GTimeoutSource   | sends through a socket | 2
            GSocketSource    | signals our source     | received "2"
            GRunLoop.Source  | adds a timer           | 2
            GRunLoop.Timer   | adds a timeout         | 3
            GTimeoutSource   | sends through a socket | 3
            GSocketSource    | signals our source     | received "3"
            GRunLoop.Source  | has seen three rounds
            run              | returned stopped
            both tick        | ten times each
            GLib dispatched  | run returned handledSource
            """, body: run)

    private static func run(_ log: Recorder) throws {
        let loop = GRunLoop.main
        try goRound(loop, log)
        tickTogether(loop, log)

        GLibSource.addTimeout(milliseconds: 1) { false }
        let result = loop.run(for: .patience, returningAfterSourceHandled: true)
        log.line("GLib dispatched", "run returned \(result)")
    }

    private static func goRound(_ loop: GRunLoop, _ log: Recorder) throws {
        let sockets = try SocketPair()
        let round = Shared(1)
        let source = GRunLoop.Source {
            guard round.value < 3 else {
                log.line("GRunLoop.Source", "has seen three rounds")
                return loop.stop()
            }
            log.line("GRunLoop.Source", "adds a timer", "\(round.value)")
            round.increment()
            startRound(loop, sockets, round, log)
        }
        loop.add(source, forMode: .default)
        defer { source.invalidate() }
        sockets.receive { text in
            log.line("GSocketSource", "signals our source", "received \"\(text)\"")
            // No wake-up is needed, because this is the loop's own thread, and the pass continues.
            source.signal()
            return round.value < 3
        }
        startRound(loop, sockets, round, log)
        let result = loop.run(for: .patience)
        log.line("run", "returned \(result)")
    }

    private static func startRound(_ loop: GRunLoop, _ sockets: SocketPair, _ round: Shared<Int>, _ log: Recorder) {
        GRunLoop.Timer.scheduled(interval: .milliseconds(2), repeats: false) { _ in
            log.line("GRunLoop.Timer", "adds a timeout", "\(round.value)")
            GLibSource.addTimeout(milliseconds: 2) {
                log.line("GTimeoutSource", "sends through a socket", "\(round.value)")
                sockets.send("\(round.value)")
                return false
            }
        }
    }

    /// Runs the loop until our timer and GLib's timeout have each ticked ten times.
    private static func tickTogether(_ loop: GRunLoop, _ log: Recorder) {
        let (ours, theirs) = (Shared(0), Shared(0))
        let start = GRunLoop.now
        let timer = GRunLoop.Timer.scheduled(interval: .milliseconds(3), repeats: true) { _ in
            if ours.increment() >= 10, theirs.value >= 10 { loop.stop() }
        }
        defer { timer.invalidate() }
        let timeout = GLibSource.addTimeout(milliseconds: 3) {
            if theirs.increment() >= 10, ours.value >= 10 { loop.stop() }
            return true
        }
        defer { GLibSource.remove(timeout) }
        let result = loop.run(for: .patience)
        log.line("both tick", result == .stopped ? "ten times each" : "the run returned \(result)")
        log.note(
            "\(ours.value) ticks of our timer and \(theirs.value) of GLib's in "
                + milliseconds(start.duration(to: GRunLoop.now)))
    }
}
