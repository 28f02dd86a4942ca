// SPDX-License-Identifier: Apache-2.0
// Idle work: when it is called, when it is not, and what else takes its turn.

import CGRunGLib
import GRunLoop
import GRunLoopDiagnostics
import Glibc
import TestSupport
import Testing

extension GRunLoop {
    /// Adds an idle queue to the mode.
    fileprivate func idleQueue(_ mode: Mode = .default, timePerPass: Duration = .zero) -> IdleQueue {
        let queue = IdleQueue(timePerPass: timePerPass)
        add(queue, forMode: mode)
        return queue
    }
}

@Suite("Idle queues: when") struct IdleQueueOrderTests {
    @Test("item 271: each pass calls one closure, in order, without a sleep in between; then the mode is finished")
    func onePass() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = loop.idleQueue()
            for number in 1...3 { queue.enqueue { trace("work \(number)") } }
            #expect(queue.count == 3)
            trace.observe(loop, .default, [.beforeTimers, .beforeWaiting, .afterWaiting])
            #expect(loop.run(for: Patience.normal) == .finished)
            let expected = (1...3).flatMap { ["beforeTimers", "beforeWaiting", "work \($0)", "afterWaiting"] }
            #expect(trace.lines == expected)
            #expect(queue.count == 0)
            #expect(loop.run(for: Patience.normal) == .finished)
        }
    }

    @Test("item 271: an idle queue waits while another mode runs, and continues afterwards")
    func restsInOtherModes() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = loop.idleQueue()
            queue.enqueue {
                trace("work 1")
                loop.after(.milliseconds(2), "other") { trace("other") }
                #expect(loop.run(mode: "other", for: Patience.normal) == .finished)
            }
            queue.enqueue { trace("work 2") }
            #expect(loop.run(mode: "other", for: .zero) == .finished)
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(trace.lines == ["work 1", "other", "work 2"])
        }
    }

    @Test("idle work runs after every beforeWaiting observer, whatever its order and however late it was added")
    func lastInOrder() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            loop.idleQueue().enqueue { trace("work") }
            for order in [Int.max, 0, Int.min] {
                loop.on(.beforeWaiting, order: order, repeats: false) { _ in trace("\(order)") }
            }
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(trace.lines == ["\(Int.min)", "0", "\(Int.max)", "work"])
        }
    }

    enum Other: CaseIterable, Sendable {
        case block, quietBlock, source, quietSource, timer, descriptor, context, wakeUp, otherThread
    }

    @Test(
        "idle work never runs while something else is ready, even if it just became ready and has the lowest priority",
        arguments: Other.allCases, [false, true])
    func othersComeFirst(_ other: Other, _ isLate: Bool) async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let pipe = Pipe()
            let source = loop.source { trace("other") }
            let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                pipe.drain()
                trace("other")
            }
            try loop.add(descriptor, forMode: .default)
            let foreign = Shared<GLibSource?>(nil)
            let queue = loop.idleQueue()
            queue.enqueue {
                trace("work")
                loop.stop()
            }
            let makeReady: @Sendable () -> Void = {
                switch other {
                case .block: loop.async { trace("other") }
                case .quietBlock: loop.perform { trace("other") }
                case .source:
                    source.signal()
                    loop.wakeUp()
                case .quietSource: source.signal()
                case .timer: loop.after(.zero) { trace("other") }
                case .descriptor: pipe.send()
                case .context:
                    loop.homeContext?.withPointer { context in
                        foreign.value = .idle(context, priority: Int32.max) {
                            trace("other")
                            return false
                        }
                    }
                case .wakeUp: loop.wakeUp()
                case .otherThread: join(startThread { loop.async { trace("other") } })
                }
            }
            if other == .wakeUp { loop.on(.beforeTimers) { _ in trace("other") } }
            if isLate { loop.on(.beforeWaiting, repeats: false) { _ in makeReady() } } else { makeReady() }
            #expect(loop.run(for: Patience.normal) == .stopped)
            #expect(trace.lines.suffix(2) == ["other", "work"])
            // A wake-up before the run has no effect.
            if other == .wakeUp { #expect(trace.count(of: "other") == (isLate ? 2 : 1)) }
            descriptor.invalidate()
            source.invalidate()
        }
    }

    @Test("a run with a zero limit calls no idle work, nor does a run that has timed out or was stopped")
    func noSleep() async throws {
        try await onFreshThread { loop in
            let calls = Counter()
            let queue = loop.idleQueue()
            queue.enqueue { calls.increment() }
            for _ in 0..<10 { #expect(loop.run(for: .zero) == .timedOut) }
            loop.on(.beforeWaiting, repeats: false) { _ in spin(for: .milliseconds(3)) }
            #expect(loop.run(for: .milliseconds(1)) == .timedOut)
            loop.on(.beforeWaiting, repeats: false) { _ in loop.stop() }
            #expect(loop.run(for: Patience.normal) == .stopped)
            #expect(calls.value == 0)
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(calls.value == 1)
        }
    }

    @Test("a run that ends with a handled source does not end with idle work")
    func isNoSource() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let source = loop.source { trace("source") }
            let queue = loop.idleQueue()
            for _ in 0..<2 { queue.enqueue { trace("work") } }
            queue.enqueue {
                trace("work")
                source.signal()
            }
            #expect(loop.run(for: Patience.normal, returningAfterSourceHandled: true) == .handledSource)
            #expect(trace.lines == ["work", "work", "work", "source"])
            source.invalidate()
        }
    }

    @Test("blocks and changes of a closure have their turn before the next closure, also quiet blocks")
    func passBetween() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = loop.idleQueue()
            for number in 1...2 {
                queue.enqueue {
                    trace("work \(number)")
                    loop.perform { trace("block \(number)") }
                }
            }
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(trace.lines == ["work 1", "block 1", "work 2", "block 2"])
        }
    }

    @Test("a beforeWaiting observer commits the changes of a closure before the loop sleeps")
    func transactions() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let isDirty = Shared(false)
            let queue = loop.idleQueue()
            loop.on([.beforeWaiting, .exit], order: 2_000_000) { _ in
                let wasDirty = isDirty.update { value in
                    defer { value = false }
                    return value
                }
                if wasDirty { trace("commit") }
            }
            for number in 1...2 {
                queue.enqueue {
                    trace("work \(number)")
                    isDirty.value = true
                }
            }
            loop.keepAlive()
            #expect(loop.runUntilAsleep() == .stopped)
            #expect(trace.lines == ["work 1", "commit", "work 2", "commit"])
        }
    }

    @Test("a closure that enqueues itself starves nothing else, and does not extend a run past its limit")
    func enqueuesItself() async throws {
        try await onFreshThread { loop in
            let calls = Counter()
            let queue = loop.idleQueue()
            @Sendable func forEver() { queue.enqueue(forEver) }
            queue.enqueue(forEver)
            #expect(loop.run(for: .milliseconds(3)) == .timedOut)
            queue.removeAll()

            let others = Recorder()
            let pipe = Pipe()
            let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                pipe.drain()
                others("descriptor")
            }
            try loop.add(descriptor, forMode: .default)
            @Sendable func again() {
                if calls.increment() == 100 {
                    pipe.send()
                    loop.async { others("block") }
                    loop.after(.zero) { others("timer") }
                }
                if calls.value == 101 {
                    #expect(Set(others.lines) == ["descriptor", "block", "timer"])
                    loop.stop()
                }
                queue.enqueue(again)
            }
            queue.enqueue(again)
            #expect(loop.run(for: Patience.normal) == .stopped)
            #expect(calls.value == 101)
            // Does the same with a time per pass.
            queue.invalidate()
            let long = loop.idleQueue(timePerPass: .seconds(3600))
            let passes = Counter()
            loop.on(.beforeTimers) { _ in passes.increment() }
            @Sendable func longAgain() {
                long.enqueue(longAgain)
                if passes.value > 50 { loop.stop() }
            }
            long.enqueue(longAgain)
            #expect(loop.run(for: Patience.normal) == .stopped)
            long.invalidate()
            descriptor.invalidate()
        }
    }
}

@Suite("Idle queues: how many") struct IdleQueueTurnTests {
    private static func passes(of loop: GRunLoop, _ trace: Recorder) {
        loop.on(.beforeTimers) { _ in trace("pass") }
    }

    @Test("with a time per pass all closures run in one pass, but those that are enqueued meanwhile wait for the next")
    func timePerPass() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = loop.idleQueue(timePerPass: .seconds(3600))
            #expect(queue.timePerPass == .seconds(3600))
            for number in 1...3 {
                queue.enqueue {
                    trace("\(number)")
                    if number == 1 { queue.enqueue { trace("later") } }
                }
            }
            Self.passes(of: loop, trace)
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(trace.lines == ["pass", "1", "2", "3", "pass", "later"])
        }
    }

    @Test("when the time is used up, or something else becomes ready, the next closure waits for another pass")
    func timeIsOver() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = loop.idleQueue(timePerPass: .milliseconds(20))
            queue.enqueue { trace("1") }
            queue.enqueue {
                trace("2")
                loop.async { trace("block") }
            }
            queue.enqueue {
                trace("3")
                spin(for: .milliseconds(21))
            }
            queue.enqueue { trace("4") }
            Self.passes(of: loop, trace)
            // On a busy machine a turn may end early.
            #expect(loop.run(for: Patience.normal) == .finished)
            let lines = trace.lines
            #expect(lines.filter { $0 != "pass" } == ["1", "2", "block", "3", "4"])
            #expect(lines.drop { $0 != "2" }.prefix(3) == ["2", "block", "pass"])
            #expect(lines.suffix(2) == ["pass", "4"])
        }
    }

    @Test("a zero or negative time means one closure a pass; the shortest time does too, and the longest is no limit")
    func extremeTimes() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            Self.passes(of: loop, trace)
            for (time, passes) in [
                (Duration.zero, 3), (.seconds(-5), 3), (.nanoseconds(1), 3), (.seconds(Int64.max), 1),
                (.seconds(Int64.min), 3),
            ] {
                let queue = loop.idleQueue(timePerPass: time)
                #expect(queue.timePerPass == max(.zero, time))
                for _ in 0..<3 { queue.enqueue {} }
                _ = trace.take()
                #expect(loop.run(for: Patience.normal) == .finished)
                #expect(trace.lines.count == passes, "\(time)")
                queue.invalidate()
            }
        }
    }

    @Test("several queues take turns")
    func turns() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            for name in ["a", "b", "c"] {
                let queue = loop.idleQueue()
                for number in 1...(name == "b" ? 1 : 3) { queue.enqueue { trace("\(name)\(number)") } }
            }
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(trace.lines == ["a1", "b1", "c1", "a2", "c2", "a3", "c3"])
        }
    }

    @Test("random queues are added, removed, filled and emptied: the queue that has waited longest has its turn")
    func randomTurns() async throws {
        try await onFreshThread { loop in
            for seed in 1...20 as ClosedRange<UInt64> {
                var random = SeededRandom(seed: seed)
                let called = Shared<Int?>(nil)
                let queues = (0..<8).map { _ in GRunLoop.IdleQueue() }
                var isIn = queues.map { _ in false }
                var expected: [Int] = []
                for _ in 0..<400 {
                    let number = Int.random(in: 0..<8, using: &random)
                    let queue = queues[number]
                    switch Int.random(in: 0..<10, using: &random) {
                    case 0, 1, 2, 3:
                        queue.enqueue {
                            called.value = number
                            loop.stop()
                        }
                        if isIn[number], !expected.contains(number) { expected.append(number) }
                    case 4:
                        queue.removeAll()
                        expected.removeAll { $0 == number }
                    case 5:
                        if isIn[number] {
                            loop.remove(queue, forMode: "random")
                            expected.removeAll { $0 == number }
                        } else {
                            loop.add(queue, forMode: "random")
                            if queue.count > 0 { expected.append(number) }
                        }
                        isIn[number].toggle()
                    default:
                        called.value = nil
                        let result = loop.run(mode: "random", for: Patience.normal)
                        #expect(result == (expected.isEmpty ? .finished : .stopped))
                        #expect(called.value == expected.first, "seed \(seed)")
                        guard let turn = called.value, !expected.isEmpty else { continue }
                        expected.removeFirst()
                        if queues[turn].count > 0 { expected.append(turn) }
                    }
                }
                for queue in queues { queue.invalidate() }
            }
        }
    }

    @Test("the cost of a queue does not grow with the number of other queues, with or without work")
    func cost() async throws {
        try await onFreshThread { loop in
            /// The processor time for a hundred turns of one queue.
            func time() -> Int {
                let queue = loop.idleQueue()
                let calls = Counter()
                @Sendable func again() {
                    if calls.increment() == 100 { loop.stop() } else { queue.enqueue(again) }
                }
                queue.enqueue(again)
                let start = Int(threadProcessorNanoseconds())
                #expect(loop.run(for: Patience.normal) == .stopped)
                queue.invalidate()
                return Int(threadProcessorNanoseconds()) - start
            }
            let alone = (0..<5).map { _ in time() }.min() ?? 0
            let others = (0..<10_000).map { _ in GRunLoop.IdleQueue() }
            for other in others {
                loop.add(other, forMode: .default)
                // The queue has work in this mode, which waits.
                loop.add(other, forMode: "another")
            }
            let beside = (0..<5).map { _ in time() }.min() ?? 0
            #expect(beside < alone * 20, "\(alone) ns, and \(beside) ns beside 10,000")
            let start = Int(threadProcessorNanoseconds())
            for other in others { other.enqueue {} }
            for other in others { other.invalidate() }
            let each = (Int(threadProcessorNanoseconds()) - start) / others.count
            #expect(each < alone * 20 / 100, "\(alone / 100) ns a turn, \(each) ns to come and go")
        }
    }

    @Test("a queue in several modes or the common modes calls each closure once, in the mode that runs first")
    func modes() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = loop.idleQueue("one")
            loop.add(queue, forMode: .common)
            loop.add(queue, forMode: .common)
            try loop.addCommonMode("late")
            #expect(loop.contains(queue, forMode: .common) && loop.contains(queue, forMode: "late"))
            for number in 1...4 {
                queue.enqueue {
                    trace("\(number) \(loop.currentMode.map(\.rawValue) ?? "none")")
                    loop.stop()
                }
            }
            for mode in ["one", "late", .default, "one"] as [GRunLoop.Mode] {
                #expect(loop.run(mode: mode, for: Patience.normal) == .stopped)
            }
            #expect(trace.lines == ["1 one", "2 late", "3 \(GRunLoop.Mode.default)", "4 one"])
            loop.remove(queue, forMode: .common)
            #expect(!loop.contains(queue, forMode: .default) && !loop.contains(queue, forMode: "late"))
            #expect(loop.contains(queue, forMode: "one"))
            queue.enqueue {}
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(queue.count == 1)
            loop.remove(queue, forMode: "one")
        }
    }

    @Test("in a run nested in a closure, the queue's other closures wait, and another queue's closures run")
    func nested() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let (first, second) = (loop.idleQueue(), loop.idleQueue())
            first.enqueue {
                trace("begins")
                #expect(loop.run(for: Patience.normal) == .finished)
                trace("ends")
            }
            first.enqueue { trace("first") }
            second.enqueue { trace("second") }
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(trace.lines == ["begins", "second", "ends", "first"])
        }
    }
}

@Suite("Idle queues: adding and removing") struct IdleQueueLifeTests {
    @Test("another thread's closure wakes the sleeping loop, and so does adding a queue that is not empty")
    func wakes() async throws {
        try await onFreshThread { loop in
            let queue = loop.idleQueue()
            let trace = Recorder()
            loop.keepAlive()
            let thread = threadID
            let worker = startThread {
                precondition(fallsAsleep(loop, thread: thread))
                queue.enqueue { trace("enqueued") }
                precondition(trace.wait(for: "enqueued") && fallsAsleep(loop, thread: thread))
                let other = GRunLoop.IdleQueue()
                other.enqueue { trace("added") }
                loop.add(other, forMode: .common)
                precondition(trace.wait(for: "added") && fallsAsleep(loop, thread: thread))
                loop.stop()
            }
            #expect(loop.run(for: Patience.normal * 2) == .stopped)
            #expect(trace.lines == ["enqueued", "added"])
            join(worker)
        }
    }

    @Test("an empty queue counts as no work, and wakes no loop")
    func empty() async throws {
        try await onFreshThread { loop in
            let queue = loop.idleQueue()
            #expect(loop.run(for: Patience.normal) == .finished)
            loop.keepAlive()
            let trace = Recorder()
            trace.observe(loop, .default, .beforeTimers)
            queue.enqueue {}
            queue.removeAll()
            queue.removeAll()
            #expect(queue.count == 0)
            #expect(loop.runUntilAsleep() == .stopped)
            #expect(trace.lines == ["beforeTimers"])
        }
    }

    @Test("a closure may empty, remove or invalidate its queue; its other closures are released without a lock")
    func changesInTheClosure() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            for change in ["removeAll", "remove", "invalidate"] {
                let queue = loop.idleQueue()
                queue.enqueue {
                    trace(change)
                    switch change {
                    case "removeAll": queue.removeAll()
                    case "remove": loop.remove(queue, forMode: .default)
                    default: queue.invalidate()
                    }
                }
                let goes = AtDeinit {
                    trace("goes")
                    _ = loop.allModes
                }
                queue.enqueue { withExtendedLifetime(goes) { trace("called") } }
            }
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(trace.lines.contains("called") == false)
            #expect(trace.count(of: "goes") >= 2)
            #expect(Set(trace.lines) == ["removeAll", "remove", "invalidate", "goes"])
        }
    }

    @Test("a closure is released after its call, and a queue may lose its last reference in a closure, without a lock")
    func release() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            weak var gone: GRunLoop.IdleQueue?
            do {
                let queue = loop.idleQueue()
                gone = queue
                let goes = AtDeinit {
                    trace("goes")
                    _ = loop.allModes
                }
                queue.enqueue { [unowned queue] in
                    withExtendedLifetime(goes) { trace("called") }
                    loop.remove(queue, forMode: .default)
                }
                let left = AtDeinit {
                    trace("left")
                    _ = loop.allModes
                }
                queue.enqueue { withExtendedLifetime(left) {} }
            }
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(trace.lines == ["called", "goes", "left"])
            #expect(gone == nil)
        }
    }

    @Test("an invalid queue accepts no closure, and joins no mode")
    func invalid() async throws {
        try await onFreshThread { loop in
            let queue = loop.idleQueue()
            let goes = Flag()
            queue.enqueue { [goes = AtDeinit { goes.set() }] in withExtendedLifetime(goes) {} }
            #expect(queue.isValid)
            queue.invalidate()
            queue.invalidate()
            #expect(goes.isSet)
            #expect(!queue.isValid && queue.count == 0)
            #expect(!queue.enqueue {})
            loop.add(queue, forMode: .default)
            #expect(!loop.contains(queue, forMode: .default))
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(queue.description.contains("valid = No"))
        }
    }

    @Test("a queue is in one loop at a time; its closure can move it to another loop, which continues it")
    func twoLoops() async throws {
        try await onFreshThread { loop in
            let other = LoopThread.running()
            let queue = loop.idleQueue()
            let messages = capturingLog { other.loop.add(queue, forMode: .default) }.messages
            #expect(messages.count == 1 && messages.allSatisfy { $0.contains("IdleQueue is in another run loop") })
            let threads = Shared<[pid_t]>([])
            queue.enqueue {
                threads.update { $0.append(threadID) }
                loop.remove(queue, forMode: .default)
                other.loop.add(queue, forMode: .default)
                // The other loop does not start yet, because the closures of a queue do not overlap.
                usleep(5000)
                #expect(threads.value.count == 1)
            }
            queue.enqueue { threads.update { $0.append(threadID) } }
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(threads.wait { $0.count == 2 })
            #expect(threads.value == [threadID, other.kernelID])
            other.finish()
        }
    }

    @Test("when the loop's thread ends, the queue leaves the loop with its closures, and can join another loop")
    func end() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = GRunLoop.IdleQueue()
            let goes = Flag()
            let other = LoopThread { other in
                other.add(queue, forMode: .common)
                queue.enqueue { trace("called") }
                // Nobody else holds this queue.
                other.idleQueue().enqueue { [goes = AtDeinit { goes.set() }] in withExtendedLifetime(goes) {} }
            }
            other.join()
            #expect(goes.isSet)
            #expect(queue.isValid && queue.count == 1)
            #expect(!other.loop.contains(queue, forMode: .common))
            loop.add(queue, forMode: .default)
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(trace.lines == ["called"])
        }
    }

    @Test("in virtual time idle work runs before the clock moves, and takes no time")
    func virtualTime() async throws {
        try await onFreshThread { _ in
            GRunLoop.withVirtualTime { time in
                let trace = Recorder()
                let start = time.now
                let queue = time.loop.idleQueue(timePerPass: .milliseconds(1))
                for number in 1...3 {
                    queue.enqueue {
                        trace("\(number)")
                        #expect(GRunLoop.now == start)
                    }
                }
                time.loop.after(.seconds(1)) {
                    trace("timer")
                    queue.enqueue { trace("later") }
                }
                time.advance(by: .zero)
                #expect(trace.lines.isEmpty)
                time.advance(by: .seconds(2))
                #expect(trace.lines == ["1", "2", "3", "timer", "later"])
                #expect(time.now == start.advanced(by: .seconds(2)))
            }
        }
    }

    @Test("several threads enqueue: each closure is called once, in each thread's order, also during removals")
    func threads() async throws {
        try await onFreshThread { loop in
            let queue = loop.idleQueue(timePerPass: .milliseconds(1))
            let last = Shared([0, 0, 0, 0])
            let calls = Counter()
            loop.keepAlive()
            let workers = (0..<4).map { worker in
                startThread {
                    for number in 1...500 {
                        queue.enqueue {
                            last.update {
                                #expect($0[worker] == number - 1)
                                $0[worker] = number
                            }
                            if calls.increment() == 2000 { loop.stop() }
                        }
                        if number % 100 == 0 {
                            loop.remove(queue, forMode: .default)
                            loop.add(queue, forMode: .default)
                        }
                    }
                }
            }
            #expect(loop.run(for: Patience.normal * 2) == .stopped)
            for worker in workers { join(worker) }
            #expect(last.value == [500, 500, 500, 500])
            queue.invalidate()
        }
    }

    @Test("descriptions and traces show an idle queue")
    func shown() async throws {
        try await onFreshThread { loop in
            let queue = loop.idleQueue()
            queue.enqueue {}
            #expect(queue.description.contains("count = 1"))
            #expect(loop.description.contains("<GRunLoop.IdleQueue 0x"))
            let trace = GRunLoop.Trace()
            loop.startTracing(trace)
            #expect(loop.run(for: Patience.normal) == .finished)
            loop.stopTracing()
            let lines = trace.lines
            let index = try #require(lines.firstIndex(of: "  idle work"))
            #expect(lines[index - 1] == "beforeWaiting" && lines[index + 1] == "wait")
        }
    }
}

@Suite("Idle queues: for await") struct IdleAwaitTests {
    @Test("a task waits until the loop has nothing else to do, in the order of arrival, and leaves nothing behind")
    func idle() async throws {
        try await withWorker { loop in
            let trace = Recorder()
            let before = loop.description.count(of: "IdleQueue")
            for number in 1...3 {
                loop.async { trace("block \(number)") }
                try await loop.waitUntilIdle()
                trace("idle \(number)")
            }
            let expected = (1...3).flatMap { ["block \($0)", "idle \($0)"] }
            #expect(trace.lines == expected)
            #expect(loop.description.count(of: "IdleQueue") == before)
        }
    }

    @Test("a task on the loop itself resumes there")
    func onTheLoop() async throws {
        try await withWorker { loop in
            try await withTaskExecutorPreference(loop.executor) {
                #expect(loop.isCurrent)
                try await loop.waitUntilIdle()
                #expect(loop.isCurrent)
            }
        }
    }

    @Test("a cancelled task stops waiting, or does not begin to; if its mode never runs, it waits until cancelled")
    func cancelled() async throws {
        try await withWorker { loop in
            let task = Task { try await loop.waitUntilIdle(inModes: []) }
            try await Task.sleep(for: .milliseconds(5))
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            let second = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await loop.waitUntilIdle()
            }
            await #expect(throws: CancellationError.self) { try await second.value }
        }
    }

    @Test("the end of the loop's thread ends the wait with an error, and later waits fail too")
    func ends() async throws {
        let started = Flag()
        let thread = LoopThread { loop in
            loop.keepAlive("kept")
            started.set()
            loop.run(mode: "kept")
        }
        let loop = thread.loop
        let task = Task { try await loop.waitUntilIdle(inModes: ["never"]) }
        try await Task.sleep(for: .milliseconds(5))
        thread.finish()
        await #expect(throws: GRunLoop.LoopEndedError.self) { try await task.value }
        await #expect(throws: GRunLoop.LoopEndedError.self) { try await loop.waitUntilIdle() }
    }
}
