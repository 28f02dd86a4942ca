// SPDX-License-Identifier: Apache-2.0
// Makes stalls of 300 ms, and checks the reports of a monitor with a threshold of 200 ms.

import CGRunGLib
import GRunLoop
import GRunLoopDiagnostics
import Glibc
import Synchronization

extension Probe {
    /// Each stall must be reported once, at most 100 ms after the threshold, with the function at fault and its end.
    static func stalls(_ count: Int, isHosted: Bool) throws {
        let loop = GRunLoop.main
        let account = Account()
        let monitor = try GRunLoop.StallMonitor(loop, threshold: .milliseconds(200)) { account.note($0) }
        loop.add(GRunLoop.Source {}, forMode: .default)
        for number in 0..<count {
            let spins = number % 2 == 0
            let timer = GRunLoop.Timer(interval: .milliseconds(20), repeats: false) { _ in
                account.begin()
                if spins { spinTooLong() } else { sleepTooLong() }
            }
            loop.add(timer, forMode: .default)
            while account.endCount <= number {
                if isHosted { g_main_context_iteration(nil, 1) } else { loop.run(for: .milliseconds(50)) }
                // The end of a stall is reported up to 5 ms later.
                if account.beginCount > number { loop.perform {}; usleep(1000) }
            }
            account.check(spins ? "spinTooLong" : "sleepTooLong", isOnTop: spins)
        }
        monitor.stop()
        account.report(count)
    }

    /// Calls another function only twice in a thousand times.
    @inline(never) private static func spinTooLong() {
        let end = GRunLoop.now.advanced(by: .milliseconds(300))
        var sum: UInt64 = 1
        while GRunLoop.now < end {
            for step in 0..<200_000 as Range<UInt64> { sum = sum &* 6_364_136_223_846_793_005 &+ step }
        }
        sunk.store(sum, ordering: .relaxed)
    }

    @inline(never) private static func sleepTooLong() {
        let end = GRunLoop.now.advanced(by: .milliseconds(300))
        // Loops, because the monitor's signal ends usleep() early.
        while GRunLoop.now < end { usleep(10_000) }
    }

    private static let sunk = Atomic<UInt64>(0)
}

/// The stalls, and their reports.
private final class Account: Sendable {
    private struct State {
        var begins: [GRunLoop.Instant] = []
        var told: [(at: GRunLoop.Instant, report: GRunLoop.StallReport)] = []
        var ends: [GRunLoop.StallReport] = []
        var late: [Duration] = []
        var wrong: [String] = []
    }
    private let state = Mutex(State())

    var beginCount: Int { state.withLock { $0.begins.count } }
    var endCount: Int { state.withLock { $0.ends.count } }

    func begin() { state.withLock { $0.begins.append(GRunLoop.now) } }

    func note(_ report: GRunLoop.StallReport) {
        let now = GRunLoop.now
        state.withLock { if report.isOver { $0.ends.append(report) } else { $0.told.append((now, report)) } }
    }

    func check(_ function: String, isOnTop: Bool) {
        state.withLock { state in
            guard state.told.count == state.begins.count, let begin = state.begins.last, let told = state.told.last
            else { return state.wrong.append("\(state.begins.count) stalls, \(state.told.count) reports") }
            state.late.append(begin.duration(to: told.at) - .milliseconds(200))
            let frames = told.report.frames.map(\.description)
            let found = frames.firstIndex { $0.contains(function) }
            if found == nil || (isOnTop && found != 0) || told.report.callout != .timer {
                state.wrong.append(told.report.description)
            }
            let total = state.ends.last?.duration ?? .zero
            if total < .milliseconds(270) { state.wrong.append("in all \(total)") }
        }
    }

    func report(_ count: Int) {
        state.withLock { state in
            let late = state.late.sorted()
            let worst = late.last ?? .zero
            print(
                "stalls: \(late.count) of \(count) told of; \(late.isEmpty ? .zero : late[late.count / 2]) after the "
                    + "threshold at the median, \(worst) at worst; \(state.wrong.count) wrong")
            for wrong in state.wrong.prefix(3) { print(wrong) }
            exit(late.count == count && worst <= .milliseconds(100) && state.wrong.isEmpty ? 0 : 1)
        }
    }
}
