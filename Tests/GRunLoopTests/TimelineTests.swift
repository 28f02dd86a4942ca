// SPDX-License-Identifier: Apache-2.0
// Timelines: what they record of a loop, and the files that they write.

import CGRun
import CGRunDiagnostics
import CGRunGLib
import Foundation
import GRunLoopMessagePorts
import TestSupport
import Testing

@testable import GRunLoop
@testable import GRunLoopDiagnostics

private typealias Picture = TimelinePicture

extension TimelinePicture {
    /// The record of the calling thread's loop.
    fileprivate var mine: Loop? { loops.last { $0.thread == cgrun_thread_id() } }

    fileprivate func callouts(_ loop: Loop?, _ kind: String, label: String? = nil) -> [Span] {
        loop?.spans.filter {
            $0.kind == .callout && $0.item >= 0 && items[$0.item].kind == kind && items[$0.item].label == label
        } ?? []
    }
}

extension TimelinePicture.Span {
    fileprivate var length: Duration { .nanoseconds(end - begin) }
    fileprivate func contains(_ other: Self) -> Bool { begin <= other.begin && other.end <= end }
}

private actor Owner {
    private nonisolated let executor: GRunLoop.Executor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private var count = 0

    init(on loop: GRunLoop) { executor = GRunLoop.Executor(loop) }

    func addTimer(to loop: GRunLoop) {
        loop.add(GRunLoop.Timer(fireAt: .now, isolation: self) { _ in self.count += 1 }, forMode: .default)
    }
}

private final class Callee: Forwarder, @unchecked Sendable {
    let callee: UInt
    init(code: UInt) { callee = code }
    func call() {}
}

/// Only one timeline can record at a time, so all tests of timelines are in this serialized suite.
@Suite("Timelines", .serialized) struct TimelineTests {
    @Test("callouts are spans of their length, with their labels and the functions that contain their closures")
    func callouts() async throws {
        let timeline = GRunLoop.Timeline()
        try await onFreshThread { loop in
            timeline.start()
            loop.keepAlive()
            let timer = loop.after(.milliseconds(2)) { work(for: .milliseconds(1)) }
            timer.label = "autosave"
            loop.perform(after: .milliseconds(2)) { work(for: .milliseconds(1)) }
            loop.perform { work(for: .milliseconds(10)) }
            loop.on(.beforeWaiting, repeats: false) { _ in }
            let source = loop.source {}
            source.label = "the source"
            source.signal()
            loop.run(for: .milliseconds(100))
            work(for: .milliseconds(5))
            timeline.stop()

            let picture = timeline.picture
            let mine = try #require(picture.mine)
            let block = try #require(picture.callouts(mine, "block").first)
            #expect(block.length >= .milliseconds(10) && block.depth == 1)
            #expect(picture.items[block.item].calls?.contains("callouts()") == true, "\(picture.items)")
            #expect(picture.modes[block.mode] == "kCFRunLoopDefaultMode")
            let fires = picture.callouts(mine, "timer", label: "autosave")
            #expect(fires.count == 1 && fires[0].length >= .milliseconds(1))
            // The block has taken longer than the timer's delay.
            #expect(fires[0].late >= 7_000_000 && fires[0].late < 1_000_000_000)
            #expect(picture.items[fires[0].item].detail == "fires once")
            let performs = picture.callouts(mine, "timer")
            #expect(performs.count == 1 && performs[0].late >= 7_000_000 && performs[0].late < 1_000_000_000)
            #expect(performs.allSatisfy { picture.items[$0.item].calls?.contains("callouts()") == true })
            #expect(picture.callouts(mine, "source", label: "the source").count == 1)
            #expect(picture.callouts(mine, "observer").count == 1)
            let runs = mine.spans.filter { $0.kind == .run }
            #expect(runs.count == 1 && picture.duration - runs[0].end >= 5_000_000)
            #expect(runs[0].contains(block) && runs[0].contains(fires[0]))
            let sleeps = mine.spans.filter { $0.kind == .sleep }
            #expect(!sleeps.isEmpty && sleeps.allSatisfy { runs[0].contains($0) && $0.depth == 1 })
            let stages = mine.marks.map { GRunLoop.Trace.Stage.all[$0.stage] }
            #expect(stages.first == .entry && stages.last == .exit && stages.contains(.beforeWaiting))
            #expect(mine.overwritten == 0 && !mine.isHosted)
        }
    }

    @Test("for an adapter the timeline shows the inner function: the closure of an actor, or a C function")
    func forwarded() async throws {
        let timeline = GRunLoop.Timeline()
        try await onFreshThread { loop in
            timeline.start()
            let owner = Owner(on: loop)
            owner.assumeIsolated { $0.addTimer(to: loop) }
            let function = Callee(code: UInt(bitPattern: dlsym(nil, "getpid")))
            loop.perform { function.call() }
            loop.perform { [loop] in loop.perform {} }
            loop.run(for: .zero)
            timeline.stop()
            let picture = timeline.picture
            func calls(_ kind: String) -> [String] {
                picture.callouts(picture.mine, kind).map { picture.items[$0.item].calls ?? "(none)" }
            }
            #expect(calls("timer").count == 1 && calls("timer")[0].contains("Owner.addTimer(to:)"), "\(calls("timer"))")
            let blocks = calls("block")
            #expect(blocks.count == 3 && blocks[0].contains("getpid"), "\(blocks)")
            #expect(blocks.dropFirst().allSatisfy { $0.contains("forwarded()") }, "\(blocks)")
        }
    }

    @Test("stages have their place in the picture")
    func stageNumbers() {
        let stages = (0...10).compactMap(PassStage.init(rawValue:))
        #expect(stages.map { GRunLoop.Trace.Stage($0).rawValue } == stages.map { "\($0)" })
        #expect(GRunLoop.Trace.Stage.all.count == 11)
    }

    @Test("nested runs are deeper, in their modes, and inside the callout that runs them")
    func nested() async throws {
        let timeline = GRunLoop.Timeline()
        try await onFreshThread { loop in
            timeline.start()
            loop.keepAlive("inner")
            loop.perform {
                loop.perform(inModes: ["inner"]) { work(for: .milliseconds(2)) }
                loop.run(mode: "inner", for: .milliseconds(50))
                work(for: .milliseconds(3))
            }
            loop.run(for: .zero)
            let picture = timeline.picture
            timeline.stop()
            let mine = try #require(picture.mine)
            let blocks = picture.callouts(mine, "block").sorted { $0.depth < $1.depth }
            #expect(blocks.map(\.depth) == [1, 2])
            let runs = mine.spans.filter { $0.kind == .run }
            #expect(runs.map(\.depth) == [1, 2] && runs.map { picture.modes[$0.mode] }.last == "inner")
            #expect(blocks[0].contains(runs[1]) && runs[1].contains(blocks[1]))
            #expect(blocks[0].end - runs[1].end >= 3_000_000)
            #expect(mine.spans.contains { $0.kind == .sleep && $0.depth == 2 && runs[1].contains($0) })
        }
    }

    @Test("the timeline shows which thread ended a sleep, and when")
    func wakeUps() async throws {
        let timeline = GRunLoop.Timeline()
        timeline.start()
        let thread = LoopThread.running()
        // The thread sleeps already. Recording begins with its next sleep.
        thread.loop.wakeUp()
        thread.waitUntilAsleep()
        let waker = threadID
        let isDone = Flag()
        thread.loop.perform { isDone.set() }
        thread.loop.wakeUp()
        isDone.wait()
        thread.finish()
        let picture = timeline.picture
        timeline.stop()
        let loop = try #require(picture.loops.last { $0.thread == thread.kernelID })
        #expect(loop.wakeUps.contains { $0.thread == waker && $0.sent <= $0.received && $0.sent > 0 })
        #expect(
            loop.wakeUps.allSatisfy { wakeUp in
                loop.spans.contains { $0.kind == .sleep && $0.end <= wakeUp.received && $0.begin <= wakeUp.sent }
            })
    }

    @Test("records that do not fit in the ring are overwritten and counted; the remaining records are complete")
    func overwritten() async throws {
        let timeline = GRunLoop.Timeline(limit: 300)
        try await onFreshThread { loop in
            timeline.start()
            for _ in 0..<2000 { loop.perform {} }
            loop.run(for: .zero)
            let picture = timeline.picture
            timeline.stop()
            let mine = try #require(picture.mine)
            // The ring's size is rounded up to 512. The record after the last may be in progress.
            #expect(mine.overwritten > 1400 && mine.overwritten < 2100)
            #expect(mine.spans.count <= 512 && mine.spans.count > 400)
            #expect(mine.spans.allSatisfy { $0.end >= $0.begin && $0.begin >= mine.from })
        }
    }

    @Test("in successive recordings, while loops call many items, no number means an item of another recording")
    func manyRecordings() async throws {
        let isOver = Flag()
        let threads = (0..<2).map { _ in
            LoopThread { loop in
                // Makes more sources than a new recording has room for.
                let sources = (0..<2000).map { _ in loop.source {} }
                while !isOver.isSet {
                    for source in sources { source.signal() }
                    loop.run(for: .zero)
                }
            }
        }
        let timelines = (0..<2).map { _ in GRunLoop.Timeline(limit: 1024) }
        let end = GRunLoop.now.advanced(by: .milliseconds(500))
        while GRunLoop.now < end { for timeline in timelines { timeline.start() } }
        for timeline in timelines { timeline.stop() }
        isOver.set()
        for thread in threads { thread.join() }
        for timeline in timelines {
            #expect(timeline.picture.loops.allSatisfy { $0.spans.allSatisfy { $0.kind != .callout || $0.item >= 0 } })
        }
    }

    @Test("a recording that is read while it is written has its records in order")
    func concurrentReads() async throws {
        let timeline = GRunLoop.Timeline(limit: 1024)
        timeline.start()
        let isOver = Flag()
        let thread = LoopThread { loop in
            loop.keepAlive()
            let timers = (0..<4).map { _ in loop.after(.seconds(1000)) {} }
            while !isOver.isSet {
                for timer in timers { timer.label = "\(loop.nextFireDate(forMode: .default) == nil)" }
                for _ in 0..<50 { loop.perform {} }
                loop.run(for: .zero)
                // Adds new items, which are soon forgotten.
                for _ in 0..<20 { loop.after(.zero) {} }
                loop.run(for: .zero)
            }
        }
        var seen = 0
        // The thread sanitizer makes this slow.
        let end = GRunLoop.now.advanced(by: .seconds(15))
        while seen < 100, GRunLoop.now < end {
            let picture = timeline.picture
            guard let loop = picture.loops.last(where: { $0.thread == thread.kernelID }), loop.overwritten > 0 else {
                continue
            }
            seen += 1
            var last: Nanoseconds = 0
            for span in loop.spans {
                #expect(span.begin >= last && span.end >= span.begin && span.depth <= 1)
                last = span.begin
            }
            #expect(loop.spans.allSatisfy { $0.kind != .callout || $0.item >= 0 })
            #expect(loop.spans.allSatisfy { $0.end <= picture.duration })
            #expect(loop.marks.allSatisfy { $0.time <= picture.duration })
        }
        #expect(seen >= 5)
        isOver.set()
        thread.join()
        timeline.stop()
    }

    @Test("under a host the polls and the work of the host are recorded")
    func hosted() async throws {
        let timeline = GRunLoop.Timeline()
        try await onFreshThread { loop in
            timeline.start()
            loop.keepAlive()
            let isDone = Shared(false)
            let timer = loop.after(.milliseconds(5)) { work(for: .milliseconds(2)) }
            timer.label = "ours"
            let context = try #require(loop.homeContext).pointer
            let timeout = GLibSource.timeout(context, milliseconds: 100) {
                work(for: .milliseconds(4))
                isDone.value = true
                return false
            }
            iterateHost(context) { isDone.value }
            g_main_context_iteration(context, 0)
            timeout.destroy()
            let picture = timeline.picture
            timeline.stop()
            let mine = try #require(picture.mine)
            #expect(mine.isHosted)
            #expect(picture.callouts(mine, "timer", label: "ours").count == 1)
            let sleeps = mine.spans.filter { $0.kind == .sleep && $0.depth == 0 }
            #expect(sleeps.contains { $0.length >= .milliseconds(3) })
            let foreign = mine.spans.filter { $0.kind == .host }
            #expect(foreign.contains { $0.length >= .milliseconds(4) && $0.length < .milliseconds(2000) })
            let outer = mine.spans.filter { $0.depth == 0 }
            for (one, next) in zip(outer, outer.dropFirst()) { #expect(one.end <= next.begin) }
            // GLib is not polled again after the recording.
            while g_main_context_iteration(context, 0) != 0 {}
            #expect(loop.locked { $0.diagnostics.isHostPollingLocked } == nil && loop.diagnostics.recorder == nil)
        }
    }

    @Test("spans in progress end when the recording stops, also in a picture that is made later")
    func stoppedInACallout() async throws {
        let timeline = GRunLoop.Timeline()
        try await onFreshThread { loop in
            timeline.start()
            loop.perform {
                timeline.stop()
                work(for: .milliseconds(20))
            }
            loop.run(for: .zero)
            timeline.start()
            loop.perform {}
            loop.run(for: .zero)
            timeline.stop()
            work(for: .milliseconds(20))
            let picture = timeline.picture
            let mine = picture.loops.filter { $0.thread == cgrun_thread_id() }
            #expect(mine.count == 2 && mine[0].to <= mine[1].from && mine[1].to <= picture.duration)
            for loop in mine { #expect(loop.spans.allSatisfy { $0.end <= loop.to && loop.from <= $0.begin }) }
            let end = mine.flatMap(\.spans).map(\.end).max() ?? .max
            #expect(end <= picture.duration && picture.duration < end + 15_000_000)
        }
        // Records a loop that does nothing any more.
        try await onFreshThread { loop in
            let timeline = GRunLoop.Timeline()
            timeline.start()
            loop.perform {}
            loop.run(for: .zero)
            timeline.stop()
            timeline.start()
            work(for: .milliseconds(20))
            timeline.stop()
            let picture = timeline.picture
            let mine = try #require(picture.mine)
            #expect(mine.to < picture.duration - 15_000_000)
        }
    }

    @Test("a foreign loop inside a callout does not end the callout's span, and later spans do not belong to the host")
    func foreignLoop() async throws {
        let timeline = GRunLoop.Timeline()
        try await onFreshThread { loop in
            timeline.start()
            loop.keepAlive()
            let home = try #require(loop.homeContext)
            let context = home.pointer
            let isWoken = Flag()
            let source = loop.source {
                // The hub takes its turn, and then a thread ends the host's sleep.
                let waker = startThread {
                    _ = waitUntil { loop.locked(\.isAsleepLocked) }
                    loop.perform { isWoken.set() }
                    loop.wakeUp()
                }
                iterateHost(home.pointer) { isWoken.isSet }
                join(waker)
                work(for: .milliseconds(10))
            }
            source.label = "iterates"
            source.signal()
            while !isWoken.isSet { g_main_context_iteration(context, 1) }
            let text = source.description
            // Starts a run where no host is running.
            loop.after(.milliseconds(2)) {}
            loop.run(for: .milliseconds(10))
            let picture = timeline.picture
            timeline.stop()
            let mine = try #require(picture.mine)
            let call = try #require(picture.callouts(mine, "source", label: "iterates").first)
            #expect(call.length >= .milliseconds(10))
            let longest = try #require(text.firstMatch(of: #/longest = ([0-9.]+) s/#)).1
            #expect((Double(longest) ?? 0) >= 0.01, "\(text)")
            let host = mine.spans.filter { $0.kind == .host && $0.depth > 0 }
            #expect(host.allSatisfy { $0.length < .milliseconds(10) || !call.contains($0) })
            let run = try #require(mine.spans.last { $0.kind == .run })
            #expect(mine.spans.allSatisfy { !run.contains($0) || $0.kind != .host && $0.depth <= 1 })
        }
    }

    @Test("a recorded item is released as usual; its address is not reused in the same recording")
    func nothingIsHeld() async throws {
        let timeline = GRunLoop.Timeline()
        try await onFreshThread { loop in
            timeline.start()
            let witness = Shared(0)
            for number in 0..<100 {
                let released = AtDeinit { witness.update { $0 += 1 } }
                let timer = GRunLoop.Timer(interval: .zero, repeats: false) { _ in withExtendedLifetime(released) {} }
                timer.label = "number \(number)"
                loop.add(timer, forMode: .default)
                loop.run(for: .zero)
            }
            #expect(witness.value == 100)
            let picture = timeline.picture
            timeline.stop()
            let mine = try #require(picture.mine)
            let labels = mine.spans.filter { $0.kind == .callout }.compactMap { picture.items[$0.item].label }
            #expect(labels == (0..<100).map { "number \($0)" })
        }
    }

    @Test("items without remaining records are forgotten")
    func purged() async throws {
        let timeline = GRunLoop.Timeline(limit: 256)
        try await onFreshThread { loop in
            timeline.start()
            let kept = loop.source {}
            kept.label = "kept"
            for _ in 0..<5000 {
                loop.after(.zero) {}
                loop.run(for: .zero)
            }
            kept.signal()
            loop.run(for: .zero)
            let recorder = try #require(loop.diagnostics.recorder)
            let picture = timeline.picture
            timeline.stop()
            #expect(recorder.read().items.count < 1300)
            #expect(picture.callouts(picture.mine, "source", label: "kept").count == 1)
            #expect(cgrun_ring_counts_of(recorder.ring, UInt64(UInt(bitPattern: ObjectIdentifier(kept)))).calls == 1)
        }
    }

    @Test("an item's description shows its cost while it is recorded, and otherwise that the cost is unknown")
    func counters() async throws {
        let timeline = GRunLoop.Timeline()
        try await onFreshThread { loop in
            let source = loop.source { work(for: .milliseconds(2)) }
            let timer = loop.after(.seconds(1000)) {}
            #expect(source.description.contains("calls = (not recorded), "))
            timeline.start()
            #expect(source.description.contains("calls = 0, total = 0 s, longest = 0 s, lateness = 0 s, "))
            for _ in 0..<3 {
                source.signal()
                loop.run(for: .zero)
            }
            timer.fireDate = GRunLoop.now.advanced(by: .milliseconds(-5))
            loop.run(for: .zero)
            let (text, late) = (source.description, timer.description)
            timeline.stop()
            let pattern = #/calls = 3, total = 0\.(\d+) s, longest = 0\.(\d+) s, /#
            let numbers = try #require(text.firstMatch(of: pattern))
            #expect(numbers.1 >= "006" && numbers.2 >= "002" && numbers.2 <= numbers.1, "\(text)")
            #expect(late.contains("calls = 1, "), "\(late)")
            #expect(source.description.contains("calls = (not recorded), "))
        }
    }

    @Test("a message port's description shows its cost, although a source represents it in its modes")
    func messagePortCounters() async throws {
        let timeline = GRunLoop.Timeline()
        try await onFreshThread { loop in
            let count = Counter()
            let port = try GRunLoop.MessagePort(RuntimeDirectory.newName("counted")) { _ in count.increment() }
            try loop.add(port, forMode: .default)
            let remote = try GRunLoop.RemoteMessagePort.lookUp(port.name ?? "")
            timeline.start()
            for id: Int32 in 1...3 { try remote.send(id) }
            while count.value < 3 { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
            let text = port.description
            timeline.stop()
            port.invalidate()
            let calls = try #require(text.firstMatch(of: #/calls = (\d+), /#))
            #expect(Int(calls.1) ?? 0 >= 3, "\(text)")
        }
    }

    @Test("the timeline shows a label that is set later")
    func relabelled() async throws {
        let timeline = GRunLoop.Timeline()
        try await onFreshThread { loop in
            timeline.start()
            let source = loop.source {}
            source.signal()
            loop.run(for: .zero)
            source.label = "later"
            source.signal()
            loop.run(for: .zero)
            let picture = timeline.picture
            timeline.stop()
            #expect(picture.callouts(picture.mine, "source", label: "later").count == 2)
        }
    }

    @Test("one timeline records at a time; a timeline can be stopped and started again")
    func oneAtATime() async throws {
        try await onFreshThread { loop in
            let (first, second) = (GRunLoop.Timeline(), GRunLoop.Timeline())
            func run(_ count: Int) {
                for _ in 0..<count {
                    loop.perform {}
                    loop.run(for: .zero)
                }
            }
            func blocks(_ timeline: GRunLoop.Timeline) -> Int {
                let picture = timeline.picture
                return picture.loops.filter { $0.thread == cgrun_thread_id() }
                    .map { picture.callouts($0, "block").count }.reduce(0, +)
            }
            run(1)
            first.start()
            first.start()
            run(2)
            second.start()
            #expect(second.isRecording && !first.isRecording)
            run(3)
            first.stop()
            #expect(second.isRecording)
            second.stop()
            run(4)
            #expect((blocks(first), blocks(second)) == (2, 3) && loop.diagnostics.recorder == nil)
            first.start()
            run(5)
            first.stop()
            first.stop()
            #expect((blocks(first), blocks(second)) == (7, 3))
        }
    }

    @Test("loops of many threads are in one picture; the last 100 ended loops are kept")
    func manyThreads() async throws {
        let timeline = GRunLoop.Timeline(limit: 0)
        timeline.start()
        for _ in 0..<150 {
            LoopThread { loop in
                loop.perform {}
                loop.run(for: .zero)
            }.join()
        }
        timeline.stop()
        let picture = timeline.picture
        #expect(picture.loops.count >= 100 && picture.loops.count < 150 && picture.droppedCount >= 49)
        #expect(picture.loops.allSatisfy { $0.spans.allSatisfy { $0.end <= picture.duration } })
    }

    @Test("events after the moment of a picture are not in it, and a loop that started later has no length")
    func moment() async throws {
        let timeline = GRunLoop.Timeline()
        timeline.start()
        try await onFreshThread { loop in
            func perform() {
                loop.perform {}
                loop.run(for: .zero)
            }
            let before = Nanoseconds.now()
            while Nanoseconds.now() == before {}
            perform()
            let between = Nanoseconds.now()
            while Nanoseconds.now() == between {}
            perform()
            let (first, second, whole) = (timeline.picture(at: before), timeline.picture(at: between), timeline.picture)
            let (none, one) = (try #require(first.mine), try #require(second.mine))
            #expect(none.spans.isEmpty && none.marks.isEmpty && none.from == none.to && none.to == first.duration)
            #expect(second.callouts(one, "block").count == 1 && one.from < one.to && one.to == second.duration)
            #expect(one.spans.allSatisfy { $0.end <= second.duration })
            #expect(whole.callouts(whole.mine, "block").count == 2)
        }
        timeline.stop()
    }

    @Test("a loop that is first recorded as the recording stops has at most a moment in the picture")
    func stoppedAtFirst() async throws {
        let (isOver, runs) = (Flag(), Counter())
        let thread = LoopThread { loop in
            while !isOver.isSet {
                loop.perform { runs.increment() }
                loop.run(for: .zero)
            }
        }
        for _ in 0..<2000 {
            let timeline = GRunLoop.Timeline(limit: 0)
            timeline.start()
            timeline.stop()
            let picture = timeline.picture
            #expect(picture.loops.allSatisfy { $0.from <= $0.to && $0.to <= picture.duration })
            #expect(picture.pageText.bytes.last == UInt8(ascii: "}"))
        }
        isOver.set()
        thread.join()
    }

    @Test(
        "functions appear without types, and the library's own functions do not appear",
        arguments: [
            (
                "partial apply forwarder for closure #1 @Sendable (GRunLoop.GRunLoop.Timer) -> () in "
                    + "a.makeOne(Swift.Int) -> ()", "closure #1 in a.makeOne(_:)"
            ),
            (
                "closure #2 @Sendable () -> () in closure #1 () throws -> () in demo.Stall.(Worker in "
                    + "_4381A215049A0959C9BC3B5618E17680).init(asking: GRunLoop.GRunLoop, each: (Swift.Int, b: A<B>) "
                    + "-> ()) -> demo.Worker", "closure #2 in closure #1 in demo.Stall.Worker.init(asking:each:)"
            ), ("closure #1 () -> () in static GRunLoop.GRunLoop.driveAsyncMain() -> ()", nil),
            ("closure #1 () -> () in (extension in GRunLoop):GRunLoop.GRunLoop.f() -> ()", nil),
            (
                "closure #1 () -> () in (extension in demo):GRunLoop.GRunLoop.f(a: Swift.Int) -> ()",
                "closure #1 in (extension in demo):GRunLoop.GRunLoop.f(a:)"
            ), ("on_timer", "on_timer"),
            ("reabstraction thunk helper from @escaping () -> () to @escaping () -> (@out ())", nil),
            (
                "function signature specialization <Arg[0] = Dead> of generic specialization <Swift.Int, (A) -> B> of "
                    + "closure #1 () -> () in a.f<A>(A) -> ()", "closure #1 in a.f<A>(_:)"
            ), ("merged a.f() -> ()", "a.f()"), ("a.f<A> specialization <", "a.f<A> specialization <"),
            ("closure #1 ", "closure #1 "), ("f(", "f("), ("", ""),
            ("demo.f() async throws -> ()", "demo.f() async throws -> ()"),
        ])
    func functionNames(_ full: String, _ brief: String?) {
        #expect(FunctionName.brief(full) == brief)
    }

    // MARK: Written files

    /// Makes a recording with all kinds of records, and with hostile labels.
    ///
    /// - Returns: the threads of the recording.
    @discardableResult private func record(_ timeline: GRunLoop.Timeline) async throws -> Set<Int> {
        timeline.start()
        let own = try await onFreshThread { loop in
            let labels = [
                "</script><script>alert(1)</script>", "<!-- ", "\u{0}\u{1}\"\\\u{2028}", "\u{202e}left",
                String(repeating: "x", count: 10_000_000), "",
            ]
            for label in labels {
                let source = loop.source {}
                source.label = label
                source.signal()
            }
            loop.after(.milliseconds(1)) {}
            loop.run(for: .milliseconds(5))
            return Int(threadID)
        }
        let thread = LoopThread.running()
        thread.loop.wakeUp()
        thread.waitUntilAsleep()
        thread.loop.wakeUp()
        thread.finish()
        timeline.stop()
        return [own, Int(thread.kernelID)]
    }

    @Test("the page contains the records, and no label can escape from its place")
    func page() async throws {
        let timeline = GRunLoop.Timeline()
        try await record(timeline)
        let path = NSTemporaryDirectory() + "timeline-\(getpid()).html"
        defer { unlink(path) }
        try timeline.write(to: path, as: .html)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.utf8.count < 3_000_000)
        #expect(!text.contains("alert(1)</script>") && !text.contains("@TIMELINE@"))
        let opening = try #require(text.range(of: "<script type=\"application/json\" id=\"timeline\">"))
        let closing = try #require(text.range(of: "</script>", range: opening.upperBound..<text.endIndex))
        let json =
            try JSONSerialization.jsonObject(
                with: Data(text[opening.upperBound..<closing.lowerBound].utf8)) as? [String: Any]
        let items = try #require(json?["items"] as? [[String: Any]])
        let labels = items.compactMap { $0["label"] as? String }
        #expect(labels.contains("</script><script>alert(1)</script>") && labels.contains("\u{0}\u{1}\"\\\u{2028}"))
        #expect(labels.contains("") && labels.contains { $0.count == 201 && $0.hasSuffix("…") })
        let loops = try #require(json?["loops"] as? [[String: Any]])
        #expect(loops.count >= 2)
        #expect(loops.contains { !($0["wakeUps"] as? [Any] ?? []).isEmpty })
        let start = try #require(json?["start"] as? String)
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        #expect(abs(try format.parse(start).timeIntervalSinceNow) < 600)
    }

    @Test("trace events can be read back: spans nest on their threads, arrows have both ends, threads have names")
    func traceEvents() async throws {
        let timeline = GRunLoop.Timeline()
        let mine = try await record(timeline)
        let path = NSTemporaryDirectory() + "timeline-\(getpid()).json"
        defer { unlink(path) }
        try timeline.write(to: path, as: .chromeJSON)
        let written = try Data(contentsOf: URL(fileURLWithPath: path))
        let json = try JSONSerialization.jsonObject(with: written) as? [String: Any]
        let events = try #require(json?["traceEvents"] as? [[String: Any]])
        func those(_ phase: String) -> [[String: Any]] { events.filter { $0["ph"] as? String == phase } }
        #expect(events.allSatisfy { $0["pid"] as? Int == Int(getpid()) && $0["name"] is String })
        #expect(Set(those("M").compactMap { $0["name"] as? String }) == ["process_name", "thread_name"])
        var open: [Int: [Double]] = [:]
        for event in those("X") where mine.contains(event["tid"] as? Int ?? 0) {
            let thread = try #require(event["tid"] as? Int)
            let (begin, length) = (try #require(event["ts"] as? Double), try #require(event["dur"] as? Double))
            #expect(begin >= 0 && length >= 0)
            while let end = open[thread]?.last, end <= begin + 0.0005 { open[thread]?.removeLast() }
            if let end = open[thread]?.last { #expect(begin + length <= end + 0.0015) }
            open[thread, default: []].append(begin + length)
        }
        let (starts, ends) = (those("s"), those("f"))
        #expect(!starts.isEmpty && Set(starts.map { $0["id"] as? Int }) == Set(ends.map { $0["id"] as? Int }))
        #expect(!those("i").isEmpty)
    }

    @Test("a failed write is an error, and the existing file stays")
    func unwritable() throws {
        let timeline = GRunLoop.Timeline()
        let folder = NSTemporaryDirectory() + "timeline-\(getpid()).d"
        mkdir(folder, 0o700)
        defer { rmdir(folder) }
        for (path, code) in [(folder, EISDIR), (folder + "/no/x.html", ENOENT), ("/dev/full", ENOSPC), ("", ENOENT)] {
            let error = #expect(throws: GRunLoop.SystemError.self) { try timeline.write(to: path, as: .html) }
            #expect(error == .failed(call: "write(2)", errno: code, path: path))
        }
        #expect(throws: GRunLoop.SystemError.failed(call: "write(2)", errno: EINVAL, path: "a\0b")) {
            try timeline.write(to: "a\0b", as: .chromeJSON)
        }
        // On a full disk, nothing of the new file stays.
        let path = folder + "/x.html"
        try Data("former".utf8).write(to: URL(fileURLWithPath: path))
        let outcome = runChild("timeline-on-a-full-disk", sharing: folder)
        #expect(outcome.status == 0, "\(outcome)")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "former")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["x.html"])
        try timeline.write(to: path, as: .html)
        #expect(try String(contentsOfFile: path, encoding: .utf8).contains("\"loops\":[]"))
        unlink(path)
    }

    @Test("a link stays a link, a file keeps its mode, and each of many concurrent writers writes a whole file")
    func files() throws {
        let folder = NSTemporaryDirectory() + "timeline-\(getpid()).f"
        mkdir(folder, 0o700)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (path, link) = (folder + "/" + String(repeating: "x", count: 250) + ".json", folder + "/link")
        let timeline = GRunLoop.Timeline()
        try timeline.write(to: path, as: .chromeJSON)
        chmod(path, 0o600)
        symlink(path, link)
        let failures = Shared(0)
        let writers = (0..<4).map { _ in
            startThread {
                for _ in 0..<200 {
                    do { try timeline.write(to: link, as: .chromeJSON) } catch { failures.update { $0 += 1 } }
                }
            }
        }
        for writer in writers { join(writer) }
        #expect(failures.value == 0)
        var status = stat()
        #expect(lstat(link, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path))) is [String: Any])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 2)
    }

    @Test("only its owner can write to a new file, whatever the umask; an existing file keeps its mode")
    func modeOfFile() throws {
        let folder = NSTemporaryDirectory() + "timeline-\(getpid()).m"
        mkdir(folder, 0o700)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for former in [nil, 0o666, 0o600] as [mode_t?] {
            if let former { chmod(folder + "/x.html", former) }
            #expect(runChild("timeline-without-umask", sharing: folder).status == 0)
            var status = stat()
            #expect(stat(folder + "/x.html", &status) == 0 && status.st_mode & 0o777 == former ?? 0o644)
        }
    }

    @Test(
        "in a sticky folder files, links and pipes of another user are not touched; a link of this user is followed",
        .enabled(if: geteuid() == 0, "only root makes files of another user"))
    func plantedByAnother() throws {
        let folder = NSTemporaryDirectory() + "timeline-\(getpid()).s"
        mkdir(folder, 0o700)
        chmod(folder, 0o1777)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (victim, path) = (folder + "/victim", folder + "/x.json")
        let kinds: [(String, () -> Void)] = [
            ("link", { symlink(victim, path) }), ("link to nothing", { symlink(folder + "/missing", path) }),
            ("file", { close(creat(path, 0o666)) }), ("pipe", { mkfifo(path, 0o666) }),
        ]
        for (kind, plant) in kinds {
            try Data("former".utf8).write(to: URL(fileURLWithPath: victim))
            plant()
            // A pipe with a reader does not block its writer.
            let reader = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
            defer { close(reader) }
            lchown(path, 12_345, 12_345)
            #expect(throws: GRunLoop.SystemError.failed(call: "write(2)", errno: EACCES, path: path), "\(kind)") {
                try GRunLoop.Timeline().write(to: path, as: .chromeJSON)
            }
            #expect(try String(contentsOfFile: victim, encoding: .utf8) == "former", "\(kind)")
            var status = stat()
            #expect(lstat(path, &status) == 0 && status.st_uid == 12_345, "\(kind)")
            unlink(path)
        }
        symlink(victim, path)
        try GRunLoop.Timeline().write(to: path, as: .chromeJSON)
        #expect(try String(contentsOfFile: victim, encoding: .utf8).contains("traceEvents"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["victim", "x.json"])
    }

    @Test(
        "a link that another user plants while a file is written is never followed",
        .enabled(if: geteuid() == 0, "only root makes links of another user"))
    func plantedMeanwhile() throws {
        let folder = NSTemporaryDirectory() + "timeline-\(getpid()).m"
        mkdir(folder, 0o700)
        chmod(folder, 0o1777)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (victim, path, foreign) = (folder + "/victim", folder + "/x.json", folder + "/link")
        try Data("former".utf8).write(to: URL(fileURLWithPath: victim))
        symlink(victim, foreign)
        lchown(foreign, 12_345, 12_345)
        let (isPlanting, isOver) = (Flag(), Flag())
        let planter = startThread {
            while !isOver.isSet {
                // Makes a second name of the link. An existing entry stays: another user could not remove it.
                link(foreign, path)
                isPlanting.set()
            }
        }
        isPlanting.wait()
        let file = OutputFile(path)
        var errors: Set<Int32> = []
        for _ in 0..<5000 {
            unlink(path)
            errors.insert(file.write([]))
        }
        isOver.set()
        join(planter)
        #expect(try String(contentsOfFile: victim, encoding: .utf8) == "former")
        #expect(errors.isSubset(of: [0, EACCES]) && errors.contains(0), "\(errors)")
    }

    @Test("a timeline can be written to a pipe")
    func pipe() throws {
        let pipe = TestSupport.Pipe()
        try GRunLoop.Timeline().write(to: "/proc/self/fd/\(pipe.writeEnd)", as: .chromeJSON)
        #expect(pipe.drain().contains("traceEvents"))
    }

    @Test("GRUN_TIMELINE records a program without its help, and writes at its exit, but not in a forked child")
    func environment() throws {
        let folder = NSTemporaryDirectory() + "timeline-\(getpid()).e"
        mkdir(folder, 0o700)
        defer { rmdir(folder) }
        let outcome = runChild("timeline-of-the-environment", sharing: folder)
        #expect(outcome.status == 7 && outcome.errors.isEmpty, "\(outcome)")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(files.count == 1 && files[0].hasPrefix("run-") && files[0].hasSuffix(".json"), "\(files)")
        let path = folder + "/" + (files.first ?? "")
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.contains("\"the planted timer\"") && text.contains("\"another thread's\""))
        unlink(path)
        let refused = runChild("timeline-of-the-environment", sharing: folder + "/missing")
        #expect(refused.status == 7)
        #expect(refused.errors.contains("GRUN_TIMELINE: ") && refused.errors.contains(" cannot be written ("))
    }
}
