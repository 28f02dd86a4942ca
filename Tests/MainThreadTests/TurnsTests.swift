// SPDX-License-Identifier: Apache-2.0
// Whose turn it is when one kind of work never ends: after a slice and one item each other kind is served, whoever
// drives.

import CGLib
import Dispatch
import GRunLoop
import TestSupport
import XCTest

/// A kind of work, one item of which is always ready. It is called until it is told to end.
private final class Endless: Sendable {
    static let kinds = ["source", "block", "timer", "descriptor", "main queue"]

    private let kind: String
    private let body: @Sendable () -> Void
    private let isOver = Flag()
    private let isGone = Flag()

    init(_ kind: String, _ body: @escaping @Sendable () -> Void) throws {
        self.kind = kind
        self.body = body
        try begin()
    }

    /// Whether to go on.
    private func call() -> Bool {
        if isOver.isSet { isGone.set() } else { body() }
        return !isGone.isSet
    }

    private func begin() throws {
        let loop = GRunLoop.main
        switch kind {
        case "source":
            let own = Shared<GRunLoop.Source?>(nil)
            let source = loop.source { [self] in
                if call() {
                    own.value?.signal()
                    loop.wakeUp()
                } else {
                    own.value?.invalidate()
                    own.value = nil
                }
            }
            own.value = source
            source.signal()
            loop.wakeUp()
        case "timer":
            loop.add(
                GRunLoop.Timer(interval: .nanoseconds(1), repeats: true) { [self] in if !call() { $0.invalidate() } },
                forMode: .default)
        case "descriptor":
            let ready = EventDescriptor()
            ready.makeReady()
            let source = GRunLoop.DescriptorSource(descriptor: ready.descriptor) { [self] source, _ in
                if !call() { source.invalidate() }
                withExtendedLifetime(ready) {}
            }
            try loop.add(source, forMode: .default)
        default: post()
        }
    }

    private func post() {
        if kind == "block" {
            GRunLoop.main.async { [self] in if call() { post() } }
        } else {
            DispatchQueue.main.async { [self] in if call() { post() } }
        }
    }

    func end() {
        isOver.set()
        iterateHost { isGone.isSet }
    }
}

final class TurnsTests: MainThreadTestCase {
    override var timeSlice: Duration { .milliseconds(4) }

    private enum Driver: CaseIterable {
        case ours, host
    }

    /// How many items of `flood`, each of which takes `span`, come in a row beside `victim`, at most, while that is
    /// served `count` times. An item of the victim's takes `other`.
    private func longestRow(
        of flood: String, _ span: Duration, beside victim: String, of other: Duration, _ driver: Driver,
        until count: Int
    ) throws -> Int {
        // A row of short items may be under way, among which the first long one is seen late.
        for _ in 0..<4 { settleHost() }
        let rows = Shared([0])
        let isDone = Flag()
        let end: @Sendable () -> Void = {
            isDone.set()
            GRunLoop.main.stop()
        }
        let floods = try Endless(flood) {
            // What comes while the others are ended is nobody's row.
            guard !isDone.isSet else { return }
            work(for: span)
            rows.update { $0[$0.count - 1] += 1 }
            // However it ends.
            if rows.value.reduce(0, +) > 200 { end() }
        }
        let serve: @Sendable () -> Void = {
            guard !isDone.isSet else { return }
            rows.update { $0.append(0) }
            work(for: other)
            if rows.value.count > count { end() }
        }
        let isForeign = victim == "the host's idle work"
        let idle =
            isForeign
            ? GLibSource.idle(nil, priority: 200) {
                serve()
                return true
            } : nil
        let other = isForeign ? nil : try Endless(victim, serve)
        if driver == .host {
            iterateHost { isDone.isSet }
        } else {
            while !isDone.isSet { loop.run(for: .seconds(10)) }
        }
        idle?.destroy()
        other?.end()
        floods.end()
        return rows.value.max() ?? 0
    }

    private func checkRows(_ span: Duration, beside other: Duration = .zero, atMost limit: Int, until count: Int) throws
    {
        for driver in Driver.allCases {
            for flood in Endless.kinds {
                for victim in Endless.kinds + ["the host's idle work"] where victim != flood {
                    let row = try longestRow(of: flood, span, beside: victim, of: other, driver, until: count)
                    XCTAssertLessThanOrEqual(row, limit, "\(flood)s of \(span) beside \(victim) of \(other), \(driver)")
                }
            }
        }
    }

    /// items 50, 190: an item that takes longer than a slice has one turn, then everybody else that is ready.
    func testItemsLongerThanASlice() throws {
        try checkRows(.milliseconds(6), atMost: 1, until: 4)
    }

    /// items 50, 190: the last of the others' turns is a row as well, if it takes a slice: two such kinds alternate.
    func testTurnsLongerThanASlice() throws {
        try checkRows(.milliseconds(6), beside: .milliseconds(6), atMost: 1, until: 3)
    }

    /// items 50, 190: where a host's frames of the hub's own priority take longer than a slice, there are two between
    /// two turns of ours: the one in the iteration in which the slice was used up, and one step.
    func testTurnsBesideFramesOfTheHubsPriority() throws {
        for kind in Endless.kinds {
            for _ in 0..<4 { settleHost() }
            let rows = Shared([0])
            let frames = GLibSource.idle(nil) {
                work(for: .milliseconds(6))
                rows.update { $0[$0.count - 1] += 1 }
                return true
            }
            let own = try Endless(kind) {
                work(for: .milliseconds(6))
                rows.update { $0.append(0) }
            }
            iterateHost { rows.value.count > 5 || rows.value.reduce(0, +) > 50 }
            let longest = rows.value.max() ?? 0
            frames.destroy()
            own.end()
            XCTAssertLessThanOrEqual(longest, 2, kind)
        }
    }

    /// items 50, 190: so has a source of GLib's in a run of ours.
    func testSourcesOfGLibLongerThanASlice() throws {
        for victim in Endless.kinds {
            let rows = Shared([0])
            let isDone = Flag()
            let foreign = GLibSource.idle(nil) {
                work(for: .milliseconds(6))
                rows.update { $0[$0.count - 1] += 1 }
                return !isDone.isSet
            }
            let other = try Endless(victim) {
                rows.update { $0.append(0) }
                if rows.value.count > 5 {
                    isDone.set()
                    GRunLoop.main.stop()
                }
            }
            while !isDone.isSet { loop.run(for: .seconds(10)) }
            let longest = rows.value.max() ?? 0
            foreign.destroy()
            other.end()
            XCTAssertLessThanOrEqual(longest, 1, victim)
        }
    }

    /// items 48, 190: a block that waits for others' turns is not slept on, also if they have none any more when it
    /// comes.
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

    /// items 50, 190: items that are shorter come in a row for a slice, and one more.
    func testItemsShorterThanASlice() throws {
        // Four in 4 ms, and the one that uses the slice up.
        try checkRows(.milliseconds(1), atMost: 5, until: 4)
    }

    /// items 50, 190: with every kind at once each has its turn, although each item uses the slice up.
    func testEveryKindAtOnce() throws {
        for driver in Driver.allCases {
            let trace = Recorder()
            let all = try Endless.kinds.map { kind in
                try Endless(kind) {
                    trace(kind)
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
            for item in all { item.end() }
            // The first row is of what there was when the slice began.
            for kind in Endless.kinds {
                let places = lines.indices.filter { lines[$0] == kind }
                let longest = zip(places, places.dropFirst()).map { $1 - $0 }.max() ?? lines.count
                // Once among each five: first in one and last in the next, at the most.
                XCTAssertLessThan(longest, 2 * Endless.kinds.count, "\(kind), \(driver): \(lines)")
            }
        }
    }

    /// item 190: idle work of the host's has its turns beside a timer that is always due, with an empty callback, also
    /// where each iteration of the host's is dear because of what others wait for.
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

    /// item 2: a loop that was only touched has nothing to do: the first iteration of the host's serves the host.
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
