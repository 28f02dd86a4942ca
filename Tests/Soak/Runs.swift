// SPDX-License-Identifier: Apache-2.0
// The forms of a run.

import GRunLoop
import TestSupport

/// Makes one run, each form in turn: for a time, until a date, of one source, of one pass, in a private mode.
@discardableResult func runOnce(_ loop: GRunLoop, _ round: Int) -> GRunLoop.RunResult? {
    switch round % 8 {
    case 0: return run(loop, for: .milliseconds(20), returns: [.timedOut, .stopped])
    case 1: return run(loop, for: .milliseconds(10), ofOneSource: true, returns: [.timedOut, .stopped, .handledSource])
    case 2: return run(loop, for: .zero, returns: [.timedOut])
    case 3: loop.run(until: GRunLoop.now.advanced(by: .milliseconds(5)))
    case 4: _ = loop.run(mode: .default, before: GRunLoop.now.advanced(by: .milliseconds(5)))
    case 5: loop.acceptInput(forMode: .default, before: GRunLoop.now.advanced(by: .milliseconds(2)))
    case 6: return run(loop, .soak, for: .milliseconds(1), returns: [.timedOut, .stopped])
    default:
        _ = loop.limitDate(forMode: .default)
        loop.detach()
        let result = LogWatch.expecting("the loop was detached from its context") { loop.run(for: .zero) }
        if result != .finished { Findings.add("a run of a detached loop returned \(result)") }
        loop.attach()
    }
    return nil
}

/// Checks the result of a run. Neither mode is ever finished, and a run does not time out early.
private func run(
    _ loop: GRunLoop, _ mode: GRunLoop.Mode = .default, for limit: Duration, ofOneSource: Bool = false,
    returns allowed: Set<GRunLoop.RunResult>
) -> GRunLoop.RunResult {
    let start = GRunLoop.now
    let result = loop.run(mode: mode, for: limit, returningAfterSourceHandled: ofOneSource)
    let lasted = GRunLoop.now - start
    if !allowed.contains(result) || result == .timedOut && lasted < limit {
        Findings.add("a run of \(mode) for \(limit) returned \(result) after \(lasted)")
    }
    return result
}
