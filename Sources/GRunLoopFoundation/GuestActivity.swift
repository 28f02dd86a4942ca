// SPDX-License-Identifier: Apache-2.0
// What of both loops is on the thread's stack.

import CGRunFoundation
import GRunLoop

enum GuestActivity {
    /// A pass of Core Foundation's that we make, in a mode.
    case pass(GuestMode)
    /// A run of Core Foundation's that somebody else makes.
    case run(GuestRun)
    /// A run of our loop in the place of Core Foundation's sleep.
    case wait(GuestWait)
    /// A run of our loop, of no length, in a run of Core Foundation's that does not sleep.
    case look(depth: Int)

    var run: GuestRun? { if case .run(let run) = self { run } else { nil } }
    var pass: GuestMode? { if case .pass(let mode) = self { mode } else { nil } }
    var wait: GuestWait? { if case .wait(let wait) = self { wait } else { nil } }
    /// A run of our loop inside one of Core Foundation's.
    var isInsideRun: Bool {
        switch self {
        case .wait, .look: true
        case .pass, .run: false
        }
    }
}

/// A run of Core Foundation's.
final class GuestRun {
    private let seconds: Double
    /// Known from its first pass on.
    private(set) var limit: GRunLoop.Instant?
    /// Our loop has handled something in a wait of this run, which that has not been told yet; in this mode.
    var turnMode: GuestMode?

    init(seconds: Double) { self.seconds = seconds }

    /// Core Foundation's limit counts from the first pass, after the observers of the entry.
    func noteFirstPass() {
        guard limit == nil else { return }
        let isEndless = seconds.isNaN || seconds > 1e9
        limit = isEndless ? GRunLoop.distantFuture : .now.advanced(by: .seconds(max(0, seconds)))
    }
}

/// A run of our loop in the place of a sleep. The loop's thread only.
final class GuestWait: @unchecked Sendable {
    let depth: Int
    let mode: GuestMode
    private var isToEnd = false
    private var ender: GRunLoop.Observer?

    init(depth: Int, _ mode: GuestMode) { (self.depth, self.mode) = (depth, mode) }

    /// Whether what our loop calls now is called by this run of it.
    func isInnermost(of loop: GRunLoop) -> Bool { depth == loop.runDepth }

    /// The loop's thread: the run returns, as soon as those further in have; a wake-up of Core Foundation's that they
    /// may have taken comes again.
    func end(in loop: GRunLoop, of guest: UnsafeMutableRawPointer) {
        if isInnermost(of: loop) { return stop(loop) }
        guard ender == nil else { return }
        nonisolated(unsafe) let guest = guest
        let ender = GRunLoop.Observer(activities: .beforeTimers) { [weak self] _, _ in
            guard let self, isInnermost(of: loop) else { return }
            cgrun_guest_wake_up(guest)
            stop(loop)
        }
        self.ender = ender
        loop.add(ender, forMode: mode.mode)
        loop.wakeUpAllRuns()
    }

    private func stop(_ loop: GRunLoop) {
        isToEnd = true
        loop.stop()
    }

    /// Its run has returned. Whether it was stopped here, so that Core Foundation goes on, and not by the program.
    func hasReturned() -> Bool {
        defer { isToEnd = false }
        ender.take()?.invalidate()
        return isToEnd
    }
}
