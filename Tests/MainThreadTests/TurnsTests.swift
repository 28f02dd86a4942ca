// SPDX-License-Identifier: Apache-2.0
// Turns beside endless work of one kind: after a slice, and one more item, each other kind is served, under every
// driver.

import CGRunGLib
import Dispatch
import GRunLoop
import TestSupport
import XCTest

extension Endless {
    fileprivate static let kinds = [source, block, timer, descriptor, port, mainQueue]

    /// Calls `body` until the returned closure is called, which waits for the last call.
    fileprivate func begin(calling body: @escaping @Sendable () -> Void) throws -> () -> Void {
        let (isOver, isGone) = (Flag(), Flag())
        try begin {
            if isOver.isSet { isGone.set() } else { body() }
            return !isGone.isSet
        }
        return {
            isOver.set()
            iterateHost { isGone.isSet }
        }
    }
}

final class TurnsTests: MainThreadTestCase {
    override var timeSlice: Duration { .milliseconds(4) }

    private enum Driver: CaseIterable {
        case ours, host
    }

    /// Returns the greatest number of `flood` items in a row while `victim` is served `count` times. An item of `flood`
    /// takes `span`, an item of `victim` takes `other`.
    private func longestRow(
        of flood: Endless, _ span: Duration, beside victim: Endless, of other: Duration, _ driver: Driver,
        until count: Int
    ) throws -> Int {
        // Ends a row of short items that may be under way, because the first long item would be noticed late in it.
        for _ in 0..<4 { settleHost() }
        let rows = Shared([0])
        let isDone = Flag()
        let end: @Sendable () -> Void = {
            isDone.set()
            GRunLoop.main.stop()
        }
        let endFlood = try flood.begin {
            // Items that come after the end do not count.
            guard !isDone.isSet else { return }
            work(for: span)
            rows.update { $0[$0.count - 1] += 1 }
            // Ends the test if the other kind starves.
            if rows.value.reduce(0, +) > 200 { end() }
        }
        let serve: @Sendable () -> Void = {
            guard !isDone.isSet else { return }
            rows.update { $0.append(0) }
            work(for: other)
            if rows.value.count > count { end() }
        }
        let endOther = try victim.begin(calling: serve)
        if driver == .host {
            iterateHost { isDone.isSet }
        } else {
            while !isDone.isSet { loop.run(for: .seconds(10)) }
        }
        endOther()
        endFlood()
        return rows.value.max() ?? 0
    }

    private func checkRows(_ span: Duration, beside other: Duration = .zero, atMost limit: Int, until count: Int) throws
    {
        for driver in Driver.allCases {
            for flood in Endless.kinds {
                for victim in Endless.kinds + [.idle(priority: 200)] where victim.name != flood.name {
                    let row = try longestRow(of: flood, span, beside: victim, of: other, driver, until: count)
                    XCTAssertLessThanOrEqual(
                        row, limit, "\(flood.name)s of \(span) beside \(victim.name) of \(other), \(driver)")
                }
            }
        }
    }

    /// items 50, 190: an item that takes longer than a slice has one turn, then all other ready kinds have theirs.
    func testItemsLongerThanASlice() throws {
        try checkRows(.milliseconds(6), atMost: 1, until: 4)
    }

    /// items 50, 190: if the others' items take a slice as well, the two kinds alternate.
    func testTurnsLongerThanASlice() throws {
        try checkRows(.milliseconds(6), beside: .milliseconds(6), atMost: 1, until: 3)
    }

    /// items 50, 190: a host's frames at the hub's priority may take longer than a slice. Then at most two frames come
    /// between two turns of the loop: one in the iteration that used the slice up, and one for the yield.
    func testTurnsBesideFramesOfTheHubsPriority() throws {
        for kind in Endless.kinds {
            for _ in 0..<4 { settleHost() }
            let rows = Shared([0])
            let frames = GLibSource.idle(nil) {
                work(for: .milliseconds(6))
                rows.update { $0[$0.count - 1] += 1 }
                return true
            }
            let end = try kind.begin {
                work(for: .milliseconds(6))
                rows.update { $0.append(0) }
            }
            iterateHost { rows.value.count > 5 || rows.value.reduce(0, +) > 50 }
            let longest = rows.value.max() ?? 0
            frames.destroy()
            end()
            XCTAssertLessThanOrEqual(longest, 2, kind.name)
        }
    }

    /// items 50, 190: a GLib source that takes longer than a slice has one turn as well, in a run.
    func testSourcesOfGLibLongerThanASlice() throws {
        for victim in Endless.kinds {
            let rows = Shared([0])
            let isDone = Flag()
            let foreign = GLibSource.idle(nil) {
                work(for: .milliseconds(6))
                rows.update { $0[$0.count - 1] += 1 }
                return !isDone.isSet
            }
            let end = try victim.begin {
                rows.update { $0.append(0) }
                if rows.value.count > 5 {
                    isDone.set()
                    GRunLoop.main.stop()
                }
            }
            while !isDone.isSet { loop.run(for: .seconds(10)) }
            let longest = rows.value.max() ?? 0
            foreign.destroy()
            end()
            XCTAssertLessThanOrEqual(longest, 1, victim.name)
        }
    }

    /// items 48, 190: the loop does not sleep while a block waits for the others' turns, even if the others have no
    /// work left by then.
    func testABlockThatWaitsIsNotForgotten() throws {
        for isNested in [false, true] {
            let trace = Recorder()
            loop.keepAlive("of no test")
            let source = loop.source { trace("source") }
            let timer = GRunLoop.Timer(interval: .microseconds(10), repeats: false) { [loop] _ in
                source.signal()
                loop.async {
                    work(for: .milliseconds(6))
                    if isNested { loop.run(for: .zero) } else { source.invalidate() }
                }
                loop.async {
                    trace("second block")
                    loop.stop()
                }
                work(for: .milliseconds(6))
            }
            loop.add(timer, forMode: .default)
            let limit = temporary(GRunLoop.Timer(interval: .seconds(20), repeats: false) { _ in trace("too late") })
            XCTAssertEqual(loop.run(for: .seconds(30)), .stopped)
            XCTAssertEqual(trace.lines.last, "second block")
            XCTAssertFalse(trace.lines.contains("too late"))
            source.invalidate()
            limit.invalidate()
        }
    }

    /// items 50, 190: shorter items come in a row for one slice, plus one item.
    func testItemsShorterThanASlice() throws {
        // Four items fit into 4 ms, and a fifth may exceed it.
        try checkRows(.milliseconds(1), atMost: 5, until: 4)
    }

    /// items 50, 190: with all kinds together, each kind has its turn, although each item uses the slice up.
    func testEveryKindAtOnce() throws {
        for driver in Driver.allCases {
            let trace = Recorder()
            let ends = try Endless.kinds.map { kind in
                try kind.begin {
                    trace(kind.name)
                    work(for: .milliseconds(5))
                    if trace.lines.count >= 60 { GRunLoop.main.stop() }
                }
            }
            if driver == .host {
                iterateHost { trace.lines.count >= 60 }
            } else {
                while trace.lines.count < 60 { loop.run(for: .seconds(10)) }
            }
            let lines = trace.lines
            for end in ends { end() }
            // The first row serves what was ready when the slice began.
            for kind in Endless.kinds {
                let places = lines.indices.filter { lines[$0] == kind.name }
                let longest = zip(places, places.dropFirst()).map { $1 - $0 }.max() ?? lines.count
                // Each kind comes once in six items: at worst first in one group and last in the next.
                XCTAssertLessThan(longest, 2 * Endless.kinds.count, "\(kind.name), \(driver): \(lines)")
            }
        }
    }

    /// item 190: the host's idle work has its turns beside a timer that is always due and does nothing. This also holds
    /// if many foreign timeouts make each iteration of the host slow.
    func testTheHostsOwnTimeCounts() throws {
        for foreign in [0, 2000] {
            let timeouts = (0..<foreign).map { _ in GLibSource.timeout(nil, milliseconds: 3_600_000) { false } }
            let (fires, turns) = (Counter(), Counter())
            let timer = temporary(GRunLoop.Timer(interval: .microseconds(1), repeats: true) { _ in fires.increment() })
            let idle = GLibSource.idle(nil, priority: 200) { turns.increment() > 0 }
            iterateHost { turns.value > 0 }
            var (seen, last, longest) = (turns.value, threadProcessorTime(), Duration.zero)
            while turns.value < 20, fires.value < 500_000 {
                g_main_context_iteration(nil, 0)
                guard turns.value > seen else { continue }
                let now = threadProcessorTime()
                longest = max(longest, now - last)
                (seen, last) = (turns.value, now)
            }
            idle.destroy()
            timer.invalidate()
            for timeout in timeouts { timeout.destroy() }
            print(
                "hosted: timer of 1 us beside \(foreign) timeouts: \(fires.value) fires beside 20 turns, at most "
                    + "\(longest) apart"
            )
            XCTAssertEqual(turns.value, 20)
            XCTAssertLessThan(longest, .milliseconds(20))
        }
    }

    /// item 2: a newly attached loop has nothing to do, so the host's first iteration serves the host.
    func testATouchedLoopOwesNoPass() {
        for priority: Int32 in [0, 200] {
            freshHostedRun()
            let called = Counter()
            let idle = GLibSource.idle(nil, priority: priority) { called.increment() == 0 }
            g_main_context_iteration(nil, 0)
            XCTAssertEqual(called.value, 1, "priority \(priority)")
            idle.destroy()
        }
    }
}
