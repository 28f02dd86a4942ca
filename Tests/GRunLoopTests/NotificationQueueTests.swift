// SPDX-License-Identifier: Apache-2.0
// Notification queues: when they post, in which modes, and which notifications are equal.

import GRunLoop
import TestSupport
import Testing

typealias TextQueue = GRunLoop.NotificationQueue<String, Int>

extension GRunLoop.NotificationQueue where Name == String, Payload == Int {
    /// Records the name, and the payload if it is not 0.
    func record(_ trace: Recorder) -> GRunLoop.Observation {
        observe { trace($0.payload == 0 ? $0.name : "\($0.name) \($0.payload)") }
    }

    @discardableResult func enqueue(
        _ name: String, _ style: GRunLoop.PostingStyle, _ coalescing: GRunLoop.Coalescing = [.onName, .onSender],
        _ modes: [GRunLoop.Mode] = [.default]
    ) -> Bool {
        enqueue(name, 0, style, coalescing, modes)
    }

    @discardableResult func enqueue(
        _ name: String, _ payload: Int, sender: (any AnyObject & Sendable)? = nil,
        _ style: GRunLoop.PostingStyle, _ coalescing: GRunLoop.Coalescing = [.onName, .onSender],
        _ modes: [GRunLoop.Mode] = [.default]
    ) -> Bool {
        enqueue(
            .init(name: name, sender: sender, payload: payload), style: style, coalescing: coalescing, inModes: modes)
    }
}

/// The sender of notifications.
final class Sender: Sendable {}

@Suite("Notification queues: when") struct NotificationQueueOrderTests {
    @Test("item 223: .asap notifications are posted at beforeWaiting, before the idle ones, which come one a pass")
    func order() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = TextQueue(on: loop)
            let observation = queue.record(trace)
            for number in 1...2 { queue.enqueue("idle \(number)", .whenIdle) }
            for number in 1...2 { queue.enqueue("asap \(number)", .asap) }
            #expect(queue.count == 4)
            trace.observe(loop, .default, [.beforeTimers, .beforeWaiting, .afterWaiting])
            #expect(loop.run(for: Patience.normal) == .finished)
            let pass = { ["beforeTimers", "beforeWaiting"] + $0 + ["afterWaiting"] }
            #expect(trace.lines == pass(["asap 1", "asap 2"]) + pass(["idle 1"]) + pass(["idle 2"]))
            #expect(queue.count == 0)
            withExtendedLifetime(observation) {}
        }
    }

    @Test("item 223: .asap notifications are posted at the exit of a run that does not sleep; idle ones are not")
    func exit() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = TextQueue(on: loop)
            let observation = queue.record(trace)
            let source = loop.source {
                trace("source")
                queue.enqueue("idle", .whenIdle)
                queue.enqueue("asap", .asap)
            }
            source.signal()
            trace.observe(loop, .default, [.beforeWaiting, .exit])
            #expect(loop.run(mode: .default, for: Patience.normal, returningAfterSourceHandled: true) == .handledSource)
            #expect(trace.take() == ["source", "exit", "asap"])
            queue.enqueue("looks", .asap)
            #expect(loop.run(for: .zero) == .timedOut)
            #expect(trace.take() == ["exit", "looks"])
            #expect(queue.count == 1)
            withExtendedLifetime(observation) {}
        }
    }

    @Test("item 223: .now posts before the call returns, unless a run is active in a mode that is not listed")
    func now() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = TextQueue(on: loop)
            let observation = queue.record(trace)
            #expect(queue.enqueue("outside", .now))
            #expect(trace.take() == ["outside"])
            loop.on(.beforeTimers, "private", repeats: false) { _ in
                #expect(!queue.enqueue("default", .now))
                #expect(!queue.enqueue("common", .now, [], [.common]))
                #expect(queue.enqueue("private", .now, [], ["other", "private"]))
                #expect(!queue.enqueue("nowhere", .now, [], []))
                trace("observer")
            }
            loop.after(.zero, "private") {}
            #expect(loop.run(mode: "private", for: Patience.normal) == .finished)
            #expect(trace.take() == ["private", "observer"])
            loop.on(.beforeTimers, repeats: false) { _ in #expect(queue.enqueue("common", .now, [], [.common])) }
            loop.run(for: .zero)
            loop.after(.zero) {}
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(trace.take() == ["common"])
            #expect(queue.count == 0)
            withExtendedLifetime(observation) {}
        }
    }

    @Test("item 223: .now removes equal notifications from the queue, even if it is not posted itself")
    func nowTakesEquals() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = TextQueue(on: loop)
            let observation = queue.record(trace)
            for style in [GRunLoop.PostingStyle.asap, .whenIdle] {
                queue.enqueue("a", 1, style)
                #expect(queue.enqueue("a", 2, .now))
                #expect(queue.count == 0)
                queue.enqueue("a", 3, style)
                loop.on(.entry, "private", repeats: false) { _ in #expect(!queue.enqueue("a", 4, .now)) }
                loop.after(.zero, "private") {}
                loop.run(mode: "private", for: Patience.normal)
                #expect(queue.count == 0)
                queue.enqueue("a", 5, style)
                #expect(queue.enqueue("a", 6, .now, []))
                #expect(queue.count == 1)
                #expect(loop.run(for: Patience.normal) == .finished)
            }
            let each = ["a 2", "a 6", "a 5"]
            #expect(trace.lines == each + each)
            withExtendedLifetime(observation) {}
        }
    }

    @Test(".asap notifications are posted after observers of any order, and call their observers in order")
    func behindObservers() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = TextQueue(on: loop)
            for order in [Int.max, Int.min] {
                loop.on(.beforeWaiting, order: order, repeats: false) { _ in trace("\(order)") }
            }
            let observations = (1...3).map { number in queue.observe { _ in trace("observer \(number)") } }
            queue.enqueue("a", .asap)
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(trace.lines == ["\(Int.min)", "\(Int.max)"] + (1...3).map { "observer \($0)" })
            withExtendedLifetime(observations) {}
        }
    }

    @Test("idle notifications wait while anything is ready, and in runs with a zero limit")
    func whenIdleWaits() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = TextQueue(on: loop)
            let observation = queue.record(trace)
            queue.enqueue("idle", .whenIdle)
            for _ in 0..<5 { loop.run(for: .zero) }
            #expect(trace.lines.isEmpty)
            loop.on(.beforeWaiting, repeats: false) { _ in loop.async { trace("block") } }
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(trace.lines == ["block", "idle"])
            withExtendedLifetime(observation) {}
        }
    }

    @Test("another thread wakes a sleeping loop, for either style", arguments: [true, false])
    func wakes(_ isAsap: Bool) async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = TextQueue(on: loop)
            let observation = queue.observe { _ in
                trace("posted")
                loop.stop()
            }
            let thread = LoopThread.running()
            let other = TextQueue(on: thread.loop)
            let done = Flag()
            let second = other.observe { _ in done.set() }
            other.enqueue("a", isAsap ? .asap : .whenIdle)
            #expect(done.wait())
            thread.finish()
            // On its own thread, the loop is about to sleep.
            loop.keepAlive()
            loop.on(.beforeWaiting, order: .max, repeats: false) { _ in queue.enqueue("b", isAsap ? .asap : .whenIdle) }
            #expect(loop.run(for: Patience.normal) == .stopped)
            #expect(trace.lines == ["posted"])
            withExtendedLifetime((observation, second)) {}
        }
    }

    @Test("a notification that an observer enqueues waits for the next pass, and the loop does not sleep over it")
    func nextPass() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = TextQueue(on: loop)
            let observation = queue.observe {
                trace($0.name)
                if $0.name == "a" { queue.enqueue("b", .asap) }
            }
            queue.enqueue("a", .asap)
            trace.observe(loop, .default, [.beforeTimers])
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(trace.lines == ["beforeTimers", "a", "beforeTimers", "b"])
            withExtendedLifetime(observation) {}
        }
    }

    @Test("an observer that enqueues an equal notification before each sleep does not prevent its posting")
    func coalescedInEachPass() async throws {
        try await onFreshThread { loop in
            let (queue, posted, passes) = (TextQueue(on: loop), Counter(), Counter())
            let observation = queue.observe { _ in
                if posted.increment() == 3 { loop.stop() }
            }
            loop.keepAlive()
            loop.on(.beforeWaiting) { _ in
                if passes.increment() > 100 { loop.stop() }
                queue.enqueue("layout", .asap)
            }
            #expect(loop.run(for: Patience.normal) == .stopped)
            #expect(posted.value == 3 && passes.value <= 6)
            withExtendedLifetime(observation) {}
        }
    }

    @Test("a notification that is enqueued during a posting waits for the next pass, even if their modes differ")
    func onePassForAllModes() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = TextQueue(on: loop)
            let observation = queue.observe {
                trace($0.name)
                if $0.name == "a" { queue.enqueue("c", .asap, [], [.common]) }
            }
            queue.enqueue("a", .asap)
            queue.enqueue("b", .asap, [], [.common])
            trace.observe(loop, .default, [.beforeTimers])
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(trace.lines == ["beforeTimers", "a", "b", "beforeTimers", "c"])
            withExtendedLifetime(observation) {}
        }
    }

    @Test("a notification that enqueues itself in any style starves nothing", arguments: [true, false])
    func endless(_ isAsap: Bool) async throws {
        try await onFreshThread(timeSlice: .milliseconds(4)) { loop in
            let style = isAsap ? GRunLoop.PostingStyle.asap : .whenIdle
            let queue = TextQueue(on: loop)
            let posted = Counter()
            let observation = queue.observe { notification in
                posted.increment()
                queue.enqueue(notification, style: style)
            }
            queue.enqueue("again", style)
            let ticks = Counter()
            let trace = Recorder()
            let source = loop.source { trace("source") }
            let timer = GRunLoop.Timer(interval: .milliseconds(2), repeats: true) { _ in
                switch ticks.increment() {
                case 5:
                    source.signal()
                    loop.async { trace("block") }
                case 10: loop.stop()
                default: break
                }
            }
            loop.add(timer, forMode: .default)
            #expect(loop.run(for: Patience.normal) == .stopped)
            #expect(ticks.value == 10)
            #expect(Set(trace.lines) == ["source", "block"])
            #expect(posted.value > 10)
            #expect(queue.count == 1)
            queue.dequeue(matching: .init(name: "again", payload: 0))
            timer.invalidate()
            source.invalidate()
            #expect(loop.run(for: Patience.normal) == .finished)
            withExtendedLifetime(observation) {}
        }
    }

    @Test("a run does not sleep over .asap, even if a run nested in beforeWaiting has used the wake-up")
    func leftByNestedRun() async throws {
        try await onFreshThread { loop in
            let queue = TextQueue(on: loop)
            let observation = queue.observe { _ in loop.stop() }
            let source = loop.keepAlive()
            loop.on(.beforeWaiting, repeats: false) { _ in
                loop.after(.zero, "private") {}
                loop.on(.beforeTimers, "private", repeats: false) { _ in queue.enqueue("late", .asap) }
                #expect(loop.run(mode: "private", for: Patience.normal) == .finished)
            }
            #expect(loop.run(for: Patience.normal) == .stopped)
            source.invalidate()
            withExtendedLifetime(observation) {}
        }
    }

    @Test("a notification may post itself with .now, as often as it asks")
    func nowInNow() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = TextQueue(on: loop)
            let observation = queue.observe {
                trace("\($0.payload)")
                if $0.payload < 3 { queue.enqueue("a", $0.payload + 1, .now) }
            }
            queue.enqueue("a", 1, .now)
            #expect(trace.lines == ["1", "2", "3"])
            withExtendedLifetime(observation) {}
        }
    }

    @Test("after the time slice the remaining notifications wait for another pass, but not at the exit of a run")
    func timeSlice() async throws {
        try await onFreshThread(timeSlice: .zero) { loop in
            let trace = Recorder()
            let queue = TextQueue(on: loop)
            let observation = queue.record(trace)
            trace.observe(loop, .default, [.beforeTimers, .exit])
            for number in 1...3 { queue.enqueue("asap \(number)", .asap) }
            #expect(loop.run(for: Patience.normal) == .finished)
            let passes = (1...3).flatMap { ["beforeTimers", "asap \($0)"] }
            #expect(trace.take() == passes + ["exit"])
            for number in 1...3 { queue.enqueue("asap \(number)", .asap) }
            loop.run(for: .zero)
            #expect(trace.take().suffix(4) == ["exit", "asap 1", "asap 2", "asap 3"])
            withExtendedLifetime(observation) {}
        }
    }

    @Test("in virtual time notifications are posted as usual, and the clock does not move")
    func virtualTime() async throws {
        try await onFreshThread { _ in
            GRunLoop.withVirtualTime { time in
                let trace = Recorder()
                let queue = TextQueue(on: time.loop)
                let observation = queue.record(trace)
                queue.enqueue("idle", .whenIdle)
                queue.enqueue("asap", .asap)
                let start = time.now
                #expect(time.loop.run(for: .seconds(3600)) == .finished)
                #expect(time.now == start)
                #expect(trace.lines == ["asap", "idle"])
                withExtendedLifetime(observation) {}
            }
        }
    }
}

@Suite("Notification queues: modes") struct NotificationQueueModeTests {
    @Test(
        "item 223: a notification waits for one of its modes; common stands for all common modes",
        arguments: [true, false])
    func modes(_ isAsap: Bool) async throws {
        try await onFreshThread { loop in
            let style = isAsap ? GRunLoop.PostingStyle.asap : .whenIdle
            let trace = Recorder()
            let queue = TextQueue(on: loop)
            let observation = queue.record(trace)
            try loop.addCommonMode("shared")
            queue.enqueue("private", style, [], ["private"])
            queue.enqueue("shared", style, [], ["shared"])
            queue.enqueue("common", style, [], [.common])
            queue.enqueue("default", style, [], [.default])
            queue.enqueue("both", style, [], ["private", .default, .default])
            queue.enqueue("never", style, [], [])
            // Neither notification keeps another mode alive.
            #expect(loop.run(mode: "other", for: Patience.normal) == .finished)
            #expect(trace.take() == [])
            #expect(loop.run(mode: "private", for: Patience.normal) == .finished)
            #expect(trace.take() == ["private", "both"])
            #expect(loop.run(mode: .default, for: Patience.normal) == .finished)
            #expect(trace.take() == ["common", "default"])
            queue.enqueue("common", style, [], [.common])
            #expect(loop.run(mode: "shared", for: Patience.normal) == .finished)
            #expect(trace.take() == ["shared", "common"])
            #expect(queue.count == 1)
            #expect(queue.dequeue(matching: .init(name: "never", payload: 0)) == 1)
            withExtendedLifetime(observation) {}
        }
    }

    @Test("while nothing waits, a queue has nothing in the loop, even after posting, removing or coalescing")
    func nothingWhenEmpty() async throws {
        try await onFreshThread { loop in
            let items = { loop.description.split(separator: "<GRunLoop.").count - 1 }
            let before = items()
            let queue = TextQueue(on: loop)
            let observation = queue.observe { _ in }
            for style in [GRunLoop.PostingStyle.asap, .whenIdle] {
                for mode in [GRunLoop.Mode.default, .common, "private"] {
                    queue.enqueue("a", style, [], [mode, "other"])
                    #expect(items() > before)
                    #expect(loop.run(mode: mode == .common ? .default : mode, for: Patience.normal) == .finished)
                    #expect(items() == before)
                    queue.enqueue("b", style, [], [mode])
                    queue.dequeue(matching: .init(name: "b", payload: 0))
                    queue.enqueue("c", style, [], [mode])
                    queue.enqueue("c", .now)
                    #expect(items() == before)
                }
            }
            withExtendedLifetime(observation) {}
        }
    }

    @Test("a run nested in an observer posts the waiting notifications, in either style", arguments: [true, false])
    func nested(_ isAsap: Bool) async throws {
        try await onFreshThread { loop in
            let style = isAsap ? GRunLoop.PostingStyle.asap : .whenIdle
            let trace = Recorder()
            let queue = TextQueue(on: loop)
            let observation = queue.observe {
                trace($0.name)
                guard $0.name == "outer" else { return }
                queue.enqueue("late", style)
                #expect(loop.run(for: Patience.normal) == .finished)
                trace("nested run")
            }
            queue.enqueue("outer", style)
            queue.enqueue("inner", style)
            queue.enqueue("elsewhere", style, [], ["private"])
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(trace.lines == ["outer", "inner", "late", "nested run"])
            withExtendedLifetime(observation) {}
        }
    }
}

@Suite("Notification queues: coalescing") struct NotificationCoalescingTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let coalescing: GRunLoop.Coalescing
        /// The notifications that remain.
        let left: [String]
        var testDescription: String { "\(coalescing.rawValue)" }
    }

    static let cases: [Case] = [
        Case(coalescing: [], left: ["a1", "a2", "a-", "b1", "b2", "b-"]),
        Case(coalescing: .onName, left: ["b1", "b2", "b-"]),
        Case(coalescing: .onSender, left: ["a2", "a-", "b2", "b-"]),
        Case(coalescing: [.onName, .onSender], left: ["a2", "a-", "b1", "b2", "b-"]),
    ]

    /// Enqueues names "a" and "b" for each of two senders and without a sender. The numbers are the payloads.
    private func fill(_ queue: TextQueue, _ one: Sender, _ two: Sender) {
        for (number, name) in ["a", "b"].enumerated() {
            for (sender, payload) in [(one, 1), (two, 2), (nil, 3)] as [(Sender?, Int)] {
                let style = (number + payload).isMultiple(of: 2) ? GRunLoop.PostingStyle.asap : .whenIdle
                let modes: [GRunLoop.Mode] = payload == 2 ? [.default, "private"] : [.common]
                queue.enqueue(name, payload, sender: sender, style, [], modes)
            }
        }
    }

    private func posted(_ queue: TextQueue) -> Set<String> {
        let trace = Recorder()
        let observation = queue.observe { trace($0.name + ($0.payload == 3 ? "-" : "\($0.payload)")) }
        queue.loop.run(for: Patience.normal)
        observation.cancel()
        return Set(trace.lines)
    }

    @Test("item 223: an enqueued notification removes its equals, by name, sender, both or none", arguments: cases)
    func coalescing(_ each: Case) async throws {
        try await onFreshThread { loop in
            let queue = TextQueue(on: loop)
            let (one, two) = (Sender(), Sender())
            for style in [GRunLoop.PostingStyle.now, .asap, .whenIdle] {
                fill(queue, one, two)
                queue.enqueue("a", 1, sender: one, style, each.coalescing)
                #expect(queue.count == each.left.count + (style == .now ? 0 : 1))
                #expect(posted(queue) == Set(each.left + (style == .now ? [] : ["a1"])))
            }
        }
    }

    @Test("item 223: dequeue removes equal notifications, by name, sender, both or none", arguments: cases)
    func dequeue(_ each: Case) async throws {
        try await onFreshThread { loop in
            let queue = TextQueue(on: loop)
            let (one, two) = (Sender(), Sender())
            fill(queue, one, two)
            let count = queue.dequeue(
                matching: .init(name: "a", sender: one, payload: 99), coalescing: each.coalescing)
            #expect(count == 6 - each.left.count)
            #expect(posted(queue) == Set(each.left))
            // A missing sender equals another missing sender.
            fill(queue, one, two)
            #expect(queue.dequeue(matching: .init(name: "b", payload: 0), coalescing: .onSender) == 2)
            #expect(posted(queue) == ["a1", "a2", "b1", "b2"])
        }
    }

    @Test("of equal notifications the last one is kept, behind the others")
    func lastCounts() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = TextQueue(on: loop)
            let observation = queue.record(trace)
            queue.enqueue("a", 1, .asap)
            queue.enqueue("b", 2, .asap)
            queue.enqueue("a", 3, .asap)
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(trace.take() == ["b 2", "a 3"])
            // A burst for a mode that never runs leaves one notification.
            for number in 1...10_000 { queue.enqueue("a", number, .asap, .onName, ["never"]) }
            #expect(queue.count == 1)
            withExtendedLifetime(observation) {}
        }
    }

    /// Two names with one hash that are not equal. Comparing them uses the queue.
    struct Name: Hashable, Sendable {
        let text: String
        let compared: @Sendable () -> Void

        static func == (left: Name, right: Name) -> Bool {
            left.compared()
            return left.text == right.text
        }
        func hash(into hasher: inout Hasher) {
            compared()
            hasher.combine(0)
        }
    }

    @Test("comparing names may do anything: it is the program's code, and runs without a lock")
    func namesUseTheQueue() async throws {
        try await onFreshThread { loop in
            let queue = GRunLoop.NotificationQueue<Name, Void>(on: loop)
            let depth = Shared(0)
            let compared = Counter()
            let use: @Sendable () -> Void = {
                compared.increment()
                depth.update { $0 += 1 }
                guard depth.value == 1 else { return depth.update { $0 -= 1 } }
                _ = queue.count
                _ = loop.description
                if loop.currentMode == nil { queue.enqueue(.init(name: Name(text: "a") {}), style: .asap) }
                depth.update { $0 -= 1 }
            }
            let trace = Recorder()
            let observation = queue.observe(Name(text: "b", compared: use)) { trace($0.name.text) }
            for text in ["a", "b", "a", "b"] {
                queue.enqueue(.init(name: Name(text: text, compared: use)), style: .asap)
            }
            #expect(compared.value > 8)
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(trace.lines == ["b"])
            #expect(queue.count == 0)
            withExtendedLifetime(observation) {}
        }
    }
}
