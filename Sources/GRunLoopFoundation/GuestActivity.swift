// SPDX-License-Identifier: Apache-2.0
// The runs and passes of Core Foundation's loop and of our loop that can be on the thread's stack.

import CGRunFoundation
import GRunLoop

enum GuestActivity {
    /// A pass of Core Foundation's loop in a mode. Our loop makes this pass.
    case pass(GuestMode)
    /// A run of Core Foundation's loop that the program or Foundation makes.
    case run(GuestRun)
    /// A run of our loop that replaces a sleep of Core Foundation.
    case wait(GuestWait)
    /// A run of our loop with the time limit 0, inside a run of Core Foundation that does not sleep. `depth` is the
    /// number of runs of our loop on the stack, including this run.
    case look(depth: Int)

    var run: GuestRun? { if case .run(let run) = self { run } else { nil } }
    var pass: GuestMode? { if case .pass(let mode) = self { mode } else { nil } }
    var wait: GuestWait? { if case .wait(let wait) = self { wait } else { nil } }
    /// Whether the activity is a run of our loop inside a run of Core Foundation.
    var isInsideRun: Bool {
        switch self {
        case .wait, .look: true
        case .pass, .run: false
        }
    }
}

/// A run of Core Foundation's loop that the program or Foundation makes.
final class GuestRun {
    private let seconds: Double
    /// The date at which the run times out; nil before its first pass.
    private(set) var limit: GRunLoop.Instant?
    /// The mode in which our loop handled an item while this run waited. Nil after Core Foundation has handled the turn
    /// source for that item.
    var turnMode: GuestMode?

    init(seconds: Double) { self.seconds = seconds }

    /// Computes the limit in the first pass, because Core Foundation counts a run's time limit from the first pass,
    /// after the entry observers.
    func noteFirstPass() {
        guard limit == nil else { return }
        let isEndless = seconds.isNaN || seconds > 1e9
        limit = isEndless ? GRunLoop.distantFuture : .now.advanced(by: .seconds(max(0, seconds)))
    }
}

/// A run of our loop that replaces a sleep of Core Foundation. Threads: the loop's own thread.
final class GuestWait: @unchecked Sendable {
    let depth: Int
    let mode: GuestMode
    private var isToEnd = false
    private var ender: GRunLoop.Observer?

    init(depth: Int, _ mode: GuestMode) { (self.depth, self.mode) = (depth, mode) }

    func isInnermost(of loop: GRunLoop) -> Bool { depth == loop.runCount }

    /// Makes this run return, after all nested runs of our loop have returned. If there are nested runs, this function
    /// also wakes Core Foundation's loop, because the nested runs may have consumed a wake-up of that loop.
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
        loop.wakeUpEveryRun()
    }

    private func stop(_ loop: GRunLoop) {
        isToEnd = true
        loop.stop()
    }

    /// Cleans up after the run has returned. Returns true if ``end(in:of:)`` has stopped the run. Returns false
    /// otherwise, for example if the program has stopped the run.
    func hasReturned() -> Bool {
        defer { isToEnd = false }
        ender.take()?.invalidate()
        return isToEnd
    }
}
