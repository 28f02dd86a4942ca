// SPDX-License-Identifier: Apache-2.0
// Scenario hosted-tracking: a drag pauses items that are only in the default mode.

import GRunLoop

/// While a host drives, the loop is in its ambient mode. While a drag lasts, the tracking mode is pushed as the ambient
/// mode. During the drag, a timer of the default mode pauses. A timer of the common modes, the main queue and the
/// host's own sources continue. macOS does the same while a window is dragged or a menu is open.
enum HostedTracking {
    static let scenario = Scenario(
        "hosted-tracking", "A drag under a host pauses default-mode timers, while common timers continue.",
        expected: """
            before   | in kCFRunLoopDefaultMode | default timer fires       | common timer fires | host's timeout fires
            tracking | in GRunLoopTrackingMode  | default timer stands still | common timer fires | host's timeout fires
            after    | in kCFRunLoopDefaultMode | default timer fires       | common timer fires | host's timeout fires
            """, body: run)

    private struct Counts {
        let byDefault = Shared(0)
        let common = Shared(0)
        let host = Shared(0)

        func reset() {
            for count in [byDefault, common, host] { count.value = 0 }
        }
    }

    private static func run(_ log: Recorder) throws {
        let loop = GRunLoop.main
        let counts = Counts()
        let timers: [(GRunLoop.Mode, Shared<Int>)] = [(.default, counts.byDefault), (.common, counts.common)]
        let added = timers.map { mode, count in
            let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { _ in count.increment() }
            loop.add(timer, forMode: mode)
            return timer
        }
        defer { for timer in added { timer.invalidate() } }
        let timeout = GLibSource.addTimeout(milliseconds: 1) {
            counts.host.increment()
            return true
        }
        defer { GLibSource.remove(timeout) }

        drive(loop, counts, "before", log)
        try loop.withAmbientMode(.tracking) {
            drive(loop, counts, "tracking", log)
        }
        drive(loop, counts, "after", log)
    }

    /// Iterates GLib's context until the common timer and the host's timeout have fired ten times each. If the timer of
    /// the default mode is not paused, it has fired before this function returns.
    private static func drive(_ loop: GRunLoop, _ counts: Counts, _ phase: String, _ log: Recorder) {
        counts.reset()
        Host.iterate { counts.common.value >= 10 && counts.host.value >= 10 }
        let state: (Shared<Int>) -> String = { $0.value > 0 ? "fires" : "stands still" }
        log.line(
            phase, "in \(loop.ambientMode)", "default timer \(state(counts.byDefault))",
            "common timer \(state(counts.common))",
            "host's timeout \(state(counts.host))")
        log.note(
            "\(phase): default \(counts.byDefault.value), common \(counts.common.value), host \(counts.host.value)")
    }
}
