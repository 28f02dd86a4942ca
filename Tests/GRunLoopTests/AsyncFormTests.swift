// SPDX-License-Identifier: Apache-2.0
// The async forms: sleeping on a loop, and its timers, descriptors and observers as sequences. None leaves items.

import GRunLoop
import Glibc
import TestSupport
import Testing

/// Calls the body with a worker loop, and checks that the loop has as many items afterwards as before.
private func leavingNothing(_ body: (GRunLoop) async throws -> Void) async throws {
    try await withWorker { loop in
        let before = await loop.run { loop.itemCounts }
        try await body(loop)
        let after = await loop.run { loop.itemCounts }
        #expect(before == after, "something is still registered")
    }
}

extension GRunLoop {
    /// The number of items of each kind in the default mode.
    fileprivate var itemCounts: [String: Int] {
        let text = description
        var counts: [String: Int] = [:]
        for kind in ["GRunLoop.Source", "GRunLoop.DescriptorSource", "GRunLoop.Timer", "GRunLoop.Observer"] {
            counts[kind] = text.count(of: "<\(kind) 0x")
        }
        return counts
    }
}

@Suite("Async forms: sleeping") struct SleepTests {
    @Test("a sleep ends at its time, and not before; it uses a timer of the loop")
    func ends() async throws {
        try await leavingNothing { loop in
            let start = GRunLoop.now
            try await loop.sleep(for: .milliseconds(20))
            #expect(start.duration(to: GRunLoop.now) >= .milliseconds(20))
            try await loop.sleep(until: loop.clock.now.advanced(by: .milliseconds(2)), tolerance: .milliseconds(1))
            try await loop.clock.sleep(for: .milliseconds(1))
        }
    }

    @Test(
        "a sleep that is over returns immediately", arguments: [Duration.zero, .seconds(-1), .seconds(Int64.min)])
    func notAtAll(span: Duration) async throws {
        // Nothing runs this loop, so a real sleep would never end.
        let loop = GRunLoop.main
        try await loop.sleep(for: span)
        try await loop.sleep(until: GRunLoop.distantPast)
    }

    @Test(
        "an endless sleep ends when it is cancelled", arguments: [Duration.seconds(Int64.max), .seconds(600_000_000)])
    func endless(span: Duration) async throws {
        try await leavingNothing { loop in
            let task = Task { try await loop.sleep(for: span) }
            try await Task.sleep(for: .milliseconds(5))
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test("cancelling ends a sleep immediately, even on a loop that does not run, and leaves no item there")
    func cancelled() async throws {
        let held = LoopThread.running()
        let loop = held.loop
        // The loop's thread is busy, so it cannot end the sleep.
        let busy = Flag()
        let leave = Flag()
        loop.async {
            busy.set()
            _ = leave.wait()
        }
        _ = busy.wait()
        let task = Task { try await loop.sleep(for: .seconds(3600)) }
        while loop.nextFireDate(forMode: .default) == nil { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(loop.nextFireDate(forMode: .default) == nil)
        leave.set()
        held.finish()
    }

    @Test("a task that is cancelled before it sleeps registers nothing")
    func cancelledBefore() async throws {
        let loop = LoopThread.running()
        let modes = Set(loop.loop.allModes)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await loop.loop.sleep(for: .seconds(3600), inModes: ["never named"])
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(Set(loop.loop.allModes) == modes)
        loop.finish()
    }

    @Test("a sleep throws if the thread of its loop has ended, or ends meanwhile")
    func ended() async throws {
        let worker = LoopThread.running()
        let loop = worker.loop
        let task = Task { try await loop.sleep(for: .seconds(3600)) }
        while loop.nextFireDate(forMode: .default) == nil { await Task.yield() }
        worker.finish()
        await #expect(throws: GRunLoop.LoopEndedError.self) { try await task.value }
        await #expect(throws: GRunLoop.LoopEndedError.self) { try await loop.sleep(for: .seconds(1)) }
        await #expect(throws: GRunLoop.LoopEndedError.self) { try await loop.sleep(for: .zero) }
    }

    @Test("of many sleeps, several threads cancel half; each sleep ends, and none leaves an item")
    func many() async throws {
        try await leavingNothing { loop in
            await withTaskGroup(of: Bool.self) { group in
                for number in 0..<500 {
                    group.addTask {
                        let task = Task { try await loop.sleep(for: .microseconds(number * 20)) }
                        if number % 2 == 0 {
                            await Task.yield()
                            task.cancel()
                        }
                        do {
                            try await task.value
                            return true
                        } catch {
                            return false
                        }
                    }
                }
                var slept = 0
                for await hasSlept in group where hasSlept { slept += 1 }
                #expect(slept >= 250)
            }
        }
    }
}

@Suite("Async forms: sequences") struct AsyncSequenceTests {
    @Test("ticks arrive on their grid")
    func ticks() async throws {
        try await leavingNothing { loop in
            var dates: [GRunLoop.Instant] = []
            for await date in loop.ticks(every: .milliseconds(2)) {
                dates.append(date)
                #expect(date <= GRunLoop.now)
                if dates.count == 5 { break }
            }
            for (date, next) in zip(dates, dates.dropFirst()) {
                let steps = date.duration(to: next) / .milliseconds(2)
                #expect(abs(steps - steps.rounded()) < 1e-9 && steps >= 1)
            }
        }
    }

    @Test("ticks that arrive while the task is busy become one tick, the latest")
    func coalesced() async throws {
        try await leavingNothing { loop in
            var iterator = loop.ticks(every: .milliseconds(1)).makeAsyncIterator()
            let first = await iterator.next()
            spin(for: .milliseconds(20))
            let late = await iterator.next()
            let next = await iterator.next()
            let (one, two, three) = (try #require(first), try #require(late), try #require(next))
            #expect(one.duration(to: two) >= .milliseconds(10), "the ticks in between are gone")
            #expect(two.duration(to: three) >= .milliseconds(1))
        }
    }

    @Test("ticks that arrive while the loop is busy become one tick, the latest")
    func coalescedOnTheLoop() async throws {
        try await leavingNothing { loop in
            var iterator = loop.ticks(every: .milliseconds(1)).makeAsyncIterator()
            let first = try #require(await iterator.next())
            await loop.run { spin(for: .milliseconds(20)) }
            // A tick from before the busy time may still be waiting.
            var late = try #require(await iterator.next())
            if first.duration(to: late) < .milliseconds(10) { late = try #require(await iterator.next()) }
            #expect(first.duration(to: late) >= .milliseconds(10))
        }
    }

    @Test("cancelling ends a sequence immediately, for ticks, readiness and activities")
    func cancelled() async throws {
        let pipe = Pipe()
        try await leavingNothing { loop in
            let ticks = Task { for await _ in loop.ticks(every: .seconds(3600)) {} }
            let readiness = Task { for try await _ in loop.readiness(of: pipe.readEnd) {} }
            let activities = Task { for await _ in loop.activities(.exit) {} }
            try await Task.sleep(for: .milliseconds(5))
            for cancel in [ticks.cancel, readiness.cancel, activities.cancel] { cancel() }
            await ticks.value
            try await readiness.value
            await activities.value
        }
    }

    @Test("a sequence ends with the loop's thread")
    func ended() async throws {
        let worker = try GRunLoop.Thread(name: "ends")
        let loop = worker.loop
        let pipe = Pipe()
        let ticks = Task { for await _ in loop.ticks(every: .seconds(3600)) {} }
        let readiness = Task { for try await _ in loop.readiness(of: pipe.readEnd) {} }
        let activities = Task { for await _ in loop.activities(.entry) {} }
        try await Task.sleep(for: .milliseconds(5))
        worker.stop()
        await worker.waitUntilEnded()
        await ticks.value
        try await readiness.value
        await activities.value
        // A sequence that begins afterwards is empty.
        for await _ in loop.ticks(every: .milliseconds(1)) { Issue.record("a tick") }
    }

    @Test("readiness returns what is ready at the time of each request")
    func readiness() async throws {
        let pipe = Pipe()
        try await leavingNothing { loop in
            var iterator = loop.readiness(of: pipe.readEnd).makeAsyncIterator()
            pipe.send()
            #expect(try await iterator.next() == .readable)
            // The byte is still unread.
            #expect(try await iterator.next() == .readable)
            pipe.drain()
            let waiting = Task { () -> GRunLoop.DescriptorSource.Conditions? in
                var iterator = loop.readiness(of: pipe.readEnd).makeAsyncIterator()
                return try await iterator.next()
            }
            try await Task.sleep(for: .milliseconds(5))
            pipe.send()
            #expect(try await waiting.value == .readable)
        }
    }

    @Test("an unread descriptor causes no wake-ups while no task asks for its readiness")
    func notAsked() async throws {
        let pipe = Pipe()
        let worker = try GRunLoop.Thread(name: "idle")
        let loop = worker.loop
        let thread = await loop.run { threadID }
        var iterator = loop.readiness(of: pipe.readEnd).makeAsyncIterator()
        pipe.send()
        #expect(try await iterator.next() == .readable)
        #expect(fallsAsleep(loop, thread: thread))
        _ = iterator
        worker.stop()
        await worker.waitUntilEnded()
    }

    @Test("awaiting a closed descriptor throws, and so does the next try")
    func closed() async throws {
        try await leavingNothing { loop in
            var iterator = loop.readiness(of: 1_000_000).makeAsyncIterator()
            for _ in 0..<2 {
                do throws(GRunLoop.SystemError) {
                    _ = try await iterator.next()
                    Issue.record("no error")
                } catch {
                    #expect(error == .notOpen(descriptor: 1_000_000))
                }
            }
        }
    }

    @Test("activities that happen while the task is busy become one element, their union")
    func activities() async throws {
        try await leavingNothing { loop in
            var iterator = loop.activities([.beforeTimers, .beforeWaiting, .afterWaiting]).makeAsyncIterator()
            loop.wakeUp()
            var seen: GRunLoop.Activity = []
            while seen != [.beforeTimers, .beforeWaiting, .afterWaiting] {
                loop.wakeUp()
                seen.formUnion(try #require(await iterator.next()))
            }
        }
    }

    @Test("iterators are independent: two iterators of one sequence both get every element")
    func twoIterators() async throws {
        try await leavingNothing { loop in
            let ticks = loop.ticks(every: .milliseconds(1))
            let counts = await withTaskGroup(of: Int.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        var count = 0
                        for await _ in ticks {
                            count += 1
                            if count == 3 { break }
                        }
                        return count
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(counts == [3, 3])
        }
    }

    @Test("two tasks that await one iterator stop the process, with a message")
    func oneIteratorTwoTasks() {
        let child = runChild("two-tasks-one-iterator")
        #expect(child.signal != nil)
        #expect(child.errors.contains("a sequence for each task if only one task may iterate"), "\(child.errors)")
    }

    @Test("releasing an iterator removes its item")
    func dropped() async throws {
        try await leavingNothing { loop in
            do {
                let iterator = loop.ticks(every: .seconds(3600)).makeAsyncIterator()
                #expect(loop.nextFireDate(forMode: .default) != nil)
                _ = iterator
            }
            #expect(loop.nextFireDate(forMode: .default) == nil)
        }
    }
}
