// SPDX-License-Identifier: Apache-2.0
// The time slice: endless work of the loop leaves all other work its turn, under every driver.

import CGRunGLib
import Dispatch
import GRunLoop
import Glibc
import TestSupport
import XCTest

/// Work that goes on until end() is called.
private final class Flood: Sendable {
    static let kinds: [Endless] = [.quietSource, .quietBlock, .timer, .descriptor, .port, .mainQueue]
    static let item = Duration.microseconds(20)
    /// After this number of calls, a run of the loop is stopped.
    static let enough = 6000

    let calls = Counter()
    /// Calls in a row without a turn of the host: the present row, and the longest.
    private let row = Shared((now: 0, longest: 0))
    private let isOver = Shared(false)
    private let underWay = Shared(0)
    /// The order of its sources.
    private let order: Int

    init(order: Int = 0) {
        self.order = order
    }

    /// Counts a call. Returns whether the work goes on.
    private func again() -> Bool {
        if calls.increment() == Self.enough { GRunLoop.main.stop() }
        row.update {
            $0.now += 1
            $0.longest = max($0.longest, $0.now)
        }
        work(for: Self.item)
        if isOver.value { underWay.update { $0 -= 1 } }
        return !isOver.value
    }

    /// Starts a flood of this kind.
    func begin(_ kind: Endless) throws {
        underWay.update { $0 += 1 }
        try kind.begin(order: order) { [self] in again() }
    }

    func noteTurnOfTheHost() { row.update { $0.now = 0 } }

    var longestRow: Int { row.value.longest }

    /// Returns after each kind has ended.
    func end() {
        isOver.value = true
        while underWay.value > 0 { g_main_context_iteration(nil, 0) }
    }
}

final class HostFairnessTests: MainThreadTestCase {
    override var timeSlice: Duration { .milliseconds(4) }

    /// Idle work of the host at the priority that GTK programs use. It is always ready.
    private func foreignIdle(_ body: @escaping @Sendable () -> Void) -> GLibSource {
        let source = GLibSource.idle(nil, priority: 200) {
            body()
            return true
        }
        addTeardownBlock { source.destroy() }
        return source
    }

    /// Floods the loop with each kind, and with all kinds together. The host's idle work must have its turn after the
    /// calls of one slice. The test counts calls, not time, because other processes may use the processor.
    private func checkFloods(_ driver: String, _ drive: (Flood) -> Void) throws {
        for kinds in Flood.kinds.map({ [$0] }) + [Flood.kinds] {
            settleSlice()
            let flood = Flood()
            let others = Counter()
            let idle = foreignIdle {
                flood.noteTurnOfTheHost()
                others.increment()
            }
            for kind in kinds { try flood.begin(kind) }
            drive(flood)
            let (calls, longest) = (flood.calls.value, flood.longestRow)
            idle.destroy()
            flood.end()
            let name = kinds.count == 1 ? kinds[0].name : "all at once"
            print(
                "hosted: flood under \(driver): \(name): \(calls) calls of ours, \(others.value) of the host's idle "
                    + "work, at most \(longest) in a row")
            XCTAssertGreaterThanOrEqual(calls, Flood.enough, name)
            // One turn of the host has up to three dispatches.
            XCTAssertLessThanOrEqual(others.value, 3 * calls, name)
            // Eight short items in each step of a pass may exceed the slice, which begins with the first item.
            XCTAssertLessThanOrEqual(longest, Int(loop.timeSlice / Flood.item) + 8 * (kinds.count + 1), name)
        }
    }

    /// items 50, 190: a flood of the loop leaves a turn for the lowest priority of the host.
    func testFloodsUnderAHost() throws {
        try checkFloods("a host") { flood in iterateHost { flood.calls.value >= Flood.enough } }
    }

    /// items 50, 53, 190: a flood in a run of the loop leaves it a turn too, even if the main queue is never empty.
    func testFloodsInARunOfOurs() throws {
        try checkFloods("a run of ours") { _ in loop.run() }
    }

    /// Two sources of every kind are always ready, and another thread may wake the loop all the time. Each source must
    /// get its share of the calls.
    private func checkTurns(
        of kinds: [Endless] = Flood.kinds, orders: [Int] = [0, 1], slice: Duration = .zero, besideWakeUps: Bool = false,
        part: Int = 20,
        _ drive: () -> Void
    ) throws {
        settleSlice()
        loop.timeSlice = slice
        let idle = foreignIdle {}
        let floods = orders.flatMap { order in kinds.map { (kind: $0, flood: Flood(order: order)) } }
        for (kind, flood) in floods { try flood.begin(kind) }
        let isOver = Flag()
        let waker = besideWakeUps ? startThread { [loop] in while !isOver.isSet { loop.wakeUp() } } : nil
        drive()
        isOver.set()
        if let waker { join(waker) }
        let calls = floods.map(\.flood.calls.value)
        idle.destroy()
        for (_, flood) in floods { flood.end() }
        let most = try XCTUnwrap(calls.max())
        for (index, flood) in floods.enumerated() {
            XCTAssertGreaterThan(calls[index], most / part, "\(index): \(flood.kind.name) of \(calls)")
        }
    }

    /// items 50, 53, 190: no kind starves another one under a host.
    func testEveryKindHasItsTurnUnderAHost() throws {
        try checkTurns { for _ in 0..<4000 { g_main_context_iteration(nil, 0) } }
    }

    /// items 50, 53, 190: no kind starves another one in a run of the loop.
    func testEveryKindHasItsTurnInARunOfOurs() throws {
        try checkTurns { loop.run(for: .milliseconds(300)) }
    }

    /// items 50, 53, 190: no kind starves another one in runs that return after a source.
    func testEveryKindHasItsTurnInRunsOfASource() throws {
        // If two sources have different orders, such a run performs only the first (item 54).
        try checkTurns(orders: [0, 0]) {
            for _ in 0..<1000 { loop.run(for: .seconds(1), returningAfterSourceHandled: true) }
        }
    }

    /// items 50, 53, 190: a thread that keeps waking the loop starves no kind, although up to sixteen passes for a
    /// wake-up do not look at other work.
    func testEveryKindHasItsTurnBesideWakeUps() throws {
        let slice = loop.timeSlice
        try checkTurns(slice: slice, besideWakeUps: true, part: 1000) { iterateHost(for: .milliseconds(300)) }
        try checkTurns(slice: slice, besideWakeUps: true, part: 1000) { loop.run(for: .milliseconds(300)) }
    }

    /// items 52, 53, 190: no kind starves even if no slice is used up. An early look at the main queue does not count
    /// as its turn, and neither does a pass for a wake-up. An endless port needs no poll, so every 64th pass asks the
    /// kernel.
    func testEveryKindHasItsTurnWithoutASlice() throws {
        let others = Flood.kinds.filter { $0.name != Endless.port.name }
        for (kinds, wakes, part) in [(others, false, 20), (Flood.kinds, false, 250), (Flood.kinds, true, 1000)] {
            try checkTurns(of: kinds, orders: [0], slice: .seconds(60), part: part) {
                let passes = Counter()
                let observer = GRunLoop.Observer(activities: .beforeTimers) { _, _ in
                    if wakes { GRunLoop.main.wakeUp() }
                    if passes.increment() == 600 { GRunLoop.main.stop() }
                }
                loop.add(observer, forMode: .default)
                loop.run()
                observer.invalidate()
                // Otherwise the host's iterations, which end the floods, would not return.
                loop.timeSlice = .zero
            }
        }
    }

    /// The recorded lines, with equal neighbours merged.
    private func stretches(_ trace: Recorder) -> [String] {
        trace.take().reduce(into: []) { if $0.last != $1 { $0.append($1) } }
    }

    /// The hub yields for some iterations after a used-up slice. This runs them.
    private func settleSlice() {
        for _ in 0..<4 { settleHost() }
    }

    /// Returns the order of three items of one step that each work for `span`, beside idle work of the host that is
    /// always ready.
    private func turns(of span: Duration, kind: String = "block") -> [String] {
        settleSlice()
        let trace = Recorder()
        let idle = foreignIdle { trace("idle") }
        let date = GRunLoop.now
        for (order, name) in ["one", "two", "three"].enumerated() {
            let body: @Sendable () -> Void = {
                trace(name)
                work(for: span)
            }
            switch kind {
            case "source":
                let source = loop.source(order: order, body)
                addTeardownBlock { source.invalidate() }
                source.signal()
            case "timer": loop.add(GRunLoop.Timer(fireAt: date) { _ in body() }, forMode: .default)
            default: loop.perform(body)
            }
        }
        iterateHost { trace.lines.contains("three") && trace.lines.last == "idle" }
        idle.destroy()
        return stretches(trace)
    }

    /// The host's long frames, one directly after another, alternate with an item that takes longer than the slice. One
    /// turn of the host is one long frame, not three.
    private func checkTurnsWithFrames(_ drive: (Recorder) -> Void) {
        settleSlice()
        let trace = Recorder()
        let frames = foreignIdle {
            trace("frame")
            work(for: .milliseconds(8))
        }
        let own = Shared<GRunLoop.Source?>(nil)
        let source = loop.source { [loop] in
            trace("source")
            work(for: .milliseconds(5))
            own.value?.signal()
            if trace.lines.count > 12 { loop.stop() }
        }
        own.value = source
        source.signal()
        drive(trace)
        source.invalidate()
        own.value = nil
        frames.destroy()
        let lines = trace.lines
        XCTAssertGreaterThan(lines.count, 12)
        XCTAssertEqual(stretches(trace), lines)
    }

    /// items 50, 190: a long dispatch ends the host's turn.
    func testTurnsWithFramesUnderAHost() { checkTurnsWithFrames { trace in iterateHost { trace.lines.count > 12 } } }

    /// items 50, 190: a long dispatch of a GLib source ends its turn in a run of the loop.
    func testTurnsWithFramesInARunOfOurs() { checkTurnsWithFrames { _ in loop.run() } }

    /// items 50, 190: items longer than the slice alternate with the host, from the first item on. A slice of zero or
    /// less means one item. A long slice means no limit.
    func testLength() {
        let inTurns = ["one", "idle", "two", "idle", "three", "idle"]
        let atOnce = ["one", "two", "three", "idle"]
        XCTAssertEqual(loop.timeSlice, .milliseconds(4))
        for kind in ["block", "source", "timer"] {
            XCTAssertEqual(turns(of: .milliseconds(5), kind: kind), inTurns, kind)
        }
        for slice in [Duration.zero, .seconds(-1)] {
            loop.timeSlice = slice
            XCTAssertEqual(loop.timeSlice, .zero)
            XCTAssertEqual(turns(of: .zero), inTurns)
        }
        for slice in [Duration.seconds(3600), .seconds(Int64.max)] {
            loop.timeSlice = slice
            XCTAssertEqual(turns(of: .milliseconds(5)), atOnce)
        }
    }

    /// A snapshot of the main queue runs to its end, and its time counts. Later items wait for the host's turn.
    func testMainQueueSnapshotCounts() {
        settleSlice()
        let trace = Recorder()
        let idle = foreignIdle { trace("idle") }
        for _ in 0..<5 {
            DispatchQueue.main.async {
                trace("main queue")
                work(for: .milliseconds(2))
            }
        }
        DispatchQueue.main.async {
            GRunLoop.main.perform { trace("block one") }
            GRunLoop.main.perform { trace("block two") }
        }
        iterateHost { trace.lines.contains("block two") }
        XCTAssertEqual(stretches(trace), ["main queue", "block one", "idle", "block two"])
        idle.destroy()
    }

    /// If an item uses the slice up in the tail of a pass, the next pass still follows.
    func testPassFollowsALongItem() {
        let trace = Recorder()
        observe(trace, .default, .beforeTimers)
        settleSlice()
        _ = trace.take()
        after(.milliseconds(2)) {
            trace("timer")
            work(for: .milliseconds(6))
        }
        iterateHost { trace.lines.contains("timer") }
        settleSlice()
        // With GRUN_PERTURB, another pass may follow.
        let isPerturbed = getenv("GRUN_PERTURB") != nil
        XCTAssertEqual(isPerturbed ? Array(trace.lines.prefix(2)) : trace.lines, ["timer", "beforeTimers"])
    }

    /// A run of the loop interrupts a long step only for ready foreign work, and then continues the step.
    func testStepOfARunIsInterrupted() {
        for isForeignReady in [true, false] {
            let trace = Recorder()
            let idle = isForeignReady ? foreignIdle { trace("idle") } : nil
            for name in ["one", "two", "three"] {
                loop.perform {
                    trace(name)
                    work(for: .milliseconds(6))
                }
            }
            loop.run(for: .zero)
            loop.run(for: .zero)
            XCTAssertEqual(
                stretches(trace),
                isForeignReady ? ["one", "idle", "two", "three", "idle"] : ["one", "two", "three"])
            idle?.destroy()
        }
    }

    /// Returns the processor time per item of `count` items that each have their own pass.
    private func costOfATurn(of kind: String, among count: Int) throws -> Double {
        loop.timeSlice = .zero
        let calls = Counter()
        let date = GRunLoop.now
        var sources: [GRunLoop.Source] = []
        for index in 0..<count {
            switch kind {
            case "timer": loop.add(GRunLoop.Timer(fireAt: date) { _ in calls.increment() }, forMode: .default)
            case "source":
                sources.append(GRunLoop.Source(order: index % 7) { calls.increment() })
                loop.add(sources[index], forMode: .default)
                sources[index].signal()
            case "perform": try loop.performOnThread { calls.increment() }
            default: loop.perform { calls.increment() }
            }
        }
        let start = threadProcessorTime()
        while calls.value < count { g_main_context_iteration(nil, 1) }
        let end = threadProcessorTime()
        for source in sources { source.invalidate() }
        return (end - start) / .nanoseconds(1) / Double(count)
    }

    /// A pass must not list or sort all items, because the slice would end before it serves one. 100,000 timers that
    /// were due at the same time once never finished.
    func testTurnsOfManyCostNoMore() throws {
        for kind in ["timer", "source", "perform", "block"] {
            let few = try costOfATurn(of: kind, among: 500)
            let many = try costOfATurn(of: kind, among: 8000)
            XCTAssertLessThan(many, few * 5, "\(kind): \(few) ns among 500, \(many) ns among 8,000")
        }
    }

    /// item 41: a pass that is cut in its head continues with a head, so observers see the source's new block.
    func testCutPassGoesOnWithAHead() {
        settleSlice()
        loop.timeSlice = .zero
        let trace = Recorder()
        temporary(GRunLoop.Observer(activities: .beforeTimers) { _, _ in trace("head") })
        let source = source {
            trace("source")
            GRunLoop.main.perform { trace("block") }
        }
        source.signal()
        iterateHost { trace.lines.contains("block") }
        XCTAssertEqual(trace.lines, ["head", "source", "head", "block"])
    }

    /// A flood of performs leaves the host its turns, like any other flood.
    func testPerformsAreCut() throws {
        settleSlice()
        let trace = Recorder()
        let idle = foreignIdle { trace("idle") }
        for name in ["one", "two", "three"] {
            try loop.performOnThread {
                trace(name)
                work(for: .milliseconds(5))
            }
        }
        iterateHost { trace.lines.contains("three") && trace.lines.last == "idle" }
        idle.destroy()
        XCTAssertEqual(stretches(trace).suffix(6), ["one", "idle", "two", "idle", "three", "idle"])
    }
}
