// SPDX-License-Identifier: Apache-2.0
// The time slice: work of ours without end leaves everybody else their turn, whoever drives.

import CGRunGLib
import Dispatch
import GRunLoop
import Glibc
import TestSupport
import XCTest

/// Work that never ends, until it is told to.
private final class Flood: Sendable {
    static let kinds: [Endless] = [.quietSource, .quietBlock, .timer, .descriptor, .port, .mainQueue]
    static let item = Duration.microseconds(20)
    /// So many calls are a flood: a run of ours is stopped then.
    static let enough = 6000

    let calls = Counter()
    /// Calls without a turn of the host's: the present row, and the longest.
    private let row = Shared((now: 0, longest: 0))
    private let isOver = Shared(false)
    private let underWay = Shared(0)
    /// The order of its sources.
    private let order: Int

    init(order: Int = 0) {
        self.order = order
    }

    /// Whether to go on.
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

    /// Begins one of a kind.
    func begin(_ kind: Endless) throws {
        underWay.update { $0 += 1 }
        try kind.begin(order: order) { [self] in again() }
    }

    func noteTurnOfTheHost() { row.update { $0.now = 0 } }

    var longestRow: Int { row.value.longest }

    /// Each kind has ended when this returns.
    func end() {
        isOver.value = true
        while underWay.value > 0 { g_main_context_iteration(nil, 0) }
    }
}

final class HostFairnessTests: MainThreadTestCase {
    override var timeSlice: Duration { .milliseconds(4) }

    /// Idle work of the host's at the priority of a GTK program's, always ready.
    private func foreignIdle(_ body: @escaping @Sendable () -> Void) -> GLibSource {
        let source = GLibSource.idle(nil, priority: 200) {
            body()
            return true
        }
        addTeardownBlock { source.destroy() }
        return source
    }

    /// What `drive` lets the host's idle work do beside a flood of each kind, and of all at once: it has its turn after
    /// a slice's worth of calls, however long that takes where others use the processor.
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
            // The host's turn is up to three dispatches.
            XCTAssertLessThanOrEqual(others.value, 3 * calls, name)
            // A slice is overrun by eight short items in each step of a pass, and begins with the first of them.
            XCTAssertLessThanOrEqual(longest, Int(loop.timeSlice / Flood.item) + 8 * (kinds.count + 1), name)
        }
    }

    /// items 50, 190: a flood of ours leaves a host's lowest priority its turn.
    func testFloodsUnderAHost() throws {
        try checkFloods("a host") { flood in iterateHost { flood.calls.value >= Flood.enough } }
    }

    /// items 50, 53, 190: so does one in a run of ours, also where the main queue is never empty.
    func testFloodsInARunOfOurs() throws {
        try checkFloods("a run of ours") { _ in loop.run() }
    }

    /// Two of every kind are always ready, and another thread may wake the loop all the time: each must have its part
    /// of the calls.
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

    /// items 50, 53, 190: no kind keeps another from its turn.
    func testEveryKindHasItsTurnUnderAHost() throws {
        try checkTurns { for _ in 0..<4000 { g_main_context_iteration(nil, 0) } }
    }

    /// items 50, 53, 190: no kind keeps another from its turn.
    func testEveryKindHasItsTurnInARunOfOurs() throws {
        try checkTurns { loop.run(for: .milliseconds(300)) }
    }

    /// items 50, 53, 190: no kind keeps another from its turn.
    func testEveryKindHasItsTurnInRunsOfASource() throws {
        // Of two sources the first in order is the only one that such a run performs (item 54).
        try checkTurns(orders: [0, 0]) {
            for _ in 0..<1000 { loop.run(for: .seconds(1), returningAfterSourceHandled: true) }
        }
    }

    /// items 50, 53, 190: nor does a thread that wakes the loop for ever, although up to sixteen passes for it ask
    /// nobody else.
    func testEveryKindHasItsTurnBesideWakeUps() throws {
        let slice = loop.timeSlice
        try checkTurns(slice: slice, besideWakeUps: true, part: 1000) { iterateHost(for: .milliseconds(300)) }
        try checkTurns(slice: slice, besideWakeUps: true, part: 1000) { loop.run(for: .milliseconds(300)) }
    }

    /// items 52, 53, 190: nor where no slice is ever used up: that the main queue is asked first is no turn of its, and
    /// a wake-up that asks nobody else is nobody's turn. Beside a port whose messages never end, which no poll has to
    /// tell, the kernel is asked at each 64th pass.
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
                // A host would not come back from what is still under way.
                loop.timeSlice = .zero
            }
        }
    }

    /// The lines, one for each stretch of equal ones.
    private func stretches(_ trace: Recorder) -> [String] {
        trace.take().reduce(into: []) { if $0.last != $1 { $0.append($1) } }
    }

    /// A slice that was used up is followed by iterations without us.
    private func settleSlice() {
        for _ in 0..<4 { settleHost() }
    }

    /// In which order three items of one step are called that each work for `span`, beside idle work of the host's that
    /// is always ready.
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

    /// Frames of the host's that take long, one directly after another, take turns with an item that takes longer than
    /// the slice: their turn is not three of them.
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

    /// items 50, 190: the host's turn is over once it has taken long.
    func testTurnsWithFramesUnderAHost() { checkTurnsWithFrames { trace in iterateHost { trace.lines.count > 12 } } }

    /// items 50, 190: so is that of GLib's sources in a run of ours.
    func testTurnsWithFramesInARunOfOurs() { checkTurnsWithFrames { _ in loop.run() } }

    /// items 50, 190: items longer than the slice take turns with the host, the first of them as well; zero and a
    /// negative one are one item each; a long one is no limit.
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

    /// A snapshot of the main queue is run to its end, and counts: what comes after it waits for the others.
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

    /// An item that uses the slice up in the tail of a pass is followed by the next pass, as any other.
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
        // A perturbed look may add another pass.
        let isPerturbed = getenv("GRUN_PERTURB") != nil
        XCTAssertEqual(isPerturbed ? Array(trace.lines.prefix(2)) : trace.lines, ["timer", "beforeTimers"])
    }

    /// A run of ours interrupts a long step only for what is ready, and goes on where it was.
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

    /// What one of `count` items costs of the thread's time, where each has a pass of its own.
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

    /// Were they listed or sorted in each pass, a slice would end before it has served anything: 100,000 timers that
    /// were due at once were never done.
    func testTurnsOfManyCostNoMore() throws {
        for kind in ["timer", "source", "perform", "block"] {
            let few = try costOfATurn(of: kind, among: 500)
            let many = try costOfATurn(of: kind, among: 8000)
            XCTAssertLessThan(many, few * 5, "\(kind): \(few) ns among 500, \(many) ns among 8,000")
        }
    }

    /// item 41: a pass that is cut in its head goes on with a head: observers see what the source has left to be done.
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

    /// A flood of performs leaves the host its turns as any other does.
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
