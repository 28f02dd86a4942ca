// SPDX-License-Identifier: Apache-2.0
// Notification queues: observers, lifetimes, threads, and the end of the loop.

import Glibc
import TestSupport
import Testing

@testable import GRunLoop

@Suite("Notification queues: observers") struct NotificationObservationTests {
    @Test("an observer is called for its name and its sender, or for all")
    func filters() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = TextQueue(on: loop)
            let (one, two) = (Sender(), Sender())
            let observations = [
                queue.observe("a", sender: one) { trace("a of one: \($0.payload)") },
                queue.observe("a") { trace("a: \($0.payload)") },
                queue.observe(sender: one) { trace("one: \($0.payload)") },
                queue.observe { trace("all: \($0.payload)") },
            ]
            queue.enqueue("a", 1, sender: one, .now)
            queue.enqueue("a", 2, sender: two, .now)
            queue.enqueue("b", 3, sender: one, .now)
            queue.enqueue("b", 4, .now)
            #expect(
                trace.lines == [
                    "a of one: 1", "a: 1", "one: 1", "all: 1", "a: 2", "all: 2", "one: 3", "all: 3", "all: 4",
                ])
            withExtendedLifetime(observations) {}
        }
    }

    @Test("an observer that is cancelled during a posting is not called; an added observer is called in the next one")
    func changes() async throws {
        try await onFreshThread { loop in
            for style in [GRunLoop.PostingStyle.now, .asap, .whenIdle] {
                let trace = Recorder()
                let queue = TextQueue(on: loop)
                let others = Shared<[GRunLoop.Observation]>([])
                let added = Shared<GRunLoop.Observation?>(nil)
                let first = queue.observe {
                    trace("first \($0.payload)")
                    for other in others.value { other.cancel() }
                    if added.value == nil { added.value = queue.observe { trace("added \($0.payload)") } }
                }
                others.value = [queue.observe { _ in trace("cancelled") }, first]
                let last = queue.observe { trace("last \($0.payload)") }
                for payload in 1...2 { queue.enqueue("a", payload, style, []) }
                loop.run(for: Patience.normal)
                #expect(trace.lines == ["first 1", "last 1", "last 2", "added 2"])
                others.value = []
                withExtendedLifetime((first, last)) {}
            }
        }
    }

    @Test("observers of other names or senders add no cost to a posting, and many are cancelled in any order")
    func many() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = TextQueue(on: loop)
            let (one, two) = (Sender(), Sender())
            let count = 100_000
            var observations = (0..<count).map { number in
                queue.observe("\(number)", sender: number % 2 == 0 ? one : two) { _ in trace("\(number)") }
            }
            for _ in 0..<10_000 { queue.enqueue("a", 0, sender: two, .now) }
            for name in ["0", "1", "\(count - 1)"] { queue.enqueue(name, 0, sender: one, .now) }
            #expect(trace.take() == ["0"])
            while observations.count > count / 2 { observations.removeLast().cancel() }
            for observation in observations.dropFirst() { observation.cancel() }
            for number in [0, 2, count - 2] { queue.enqueue("\(number)", 0, sender: one, .now) }
            #expect(trace.take() == ["0"])
        }
    }

    @Test("releasing the observation cancels it, and releases the closure, without a lock")
    func lettingGo() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = TextQueue(on: loop)
            let witness = Witness { trace("gone, \(queue.count) wait") }
            var observation: GRunLoop.Observation? = queue.observe { [witness] _ in withExtendedLifetime(witness) {} }
            queue.enqueue("a", .now)
            _ = consume witness
            observation?.cancel()
            #expect(trace.take() == ["gone, 0 wait"])
            observation?.cancel()
            observation = queue.observe { _ in trace("called") }
            observation = nil
            queue.enqueue("a", .now)
            #expect(trace.lines.isEmpty)
            withExtendedLifetime(observation) {}
        }
    }

    @Test("a closure of an actor is called and released on the actor")
    func isolated() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = TextQueue(on: loop)
            let observation = Shared<GRunLoop.Observation?>(nil)
            loop.isolation.assumeIsolated { here in
                let own = OfAnActor(trace)
                observation.value = queue.observe("a", isolation: here) { own.trace("\($0.name) \($0.payload)") }
            }
            queue.enqueue("a", 1, .now)
            queue.enqueue("a", 2, .asap)
            queue.enqueue("b", 3, .asap)
            #expect(loop.runUntilAsleep() == .stopped)
            #expect(trace.take() == ["a 1", "a 2"])
            // If another thread cancels, the closure is still released on the actor.
            onPlainThread { observation.value?.cancel() }
            #expect(trace.lines.isEmpty)
            #expect(loop.runUntilAsleep() == .stopped)
            #expect(trace.lines == ["let go"])
        }
    }
}

@Suite("Notification queues: life") struct NotificationQueueLifeTests {
    @Test("waiting notifications keep their queue: they are posted even if the program has released the queue")
    func keptByWhatWaits() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            var queue: TextQueue? = TextQueue(on: loop)
            let observation = queue?.record(trace)
            queue?.enqueue("idle", .whenIdle)
            queue?.enqueue("asap", .asap)
            queue = nil
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(trace.lines == ["asap", "idle"])
            withExtendedLifetime((observation, queue)) {}
        }
    }

    @Test("a queue without waiting notifications is released, and so are posted, removed and coalesced notifications")
    func nothingIsKept() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            var queue: GRunLoop.NotificationQueue<String, Witness>? = .init(on: loop)
            let observation = queue?.observe { _ in }
            let enqueue = { [trace] (name: String, style: GRunLoop.PostingStyle) in
                // The queue's lock and the loop's lock are free then.
                let inUse = queue
                let witness = Witness {
                    trace("\(name) goes, \(inUse?.count ?? 0)")
                    _ = loop.description
                }
                _ = queue?.enqueue(.init(name: name, payload: witness), style: style)
            }
            enqueue("posted", .asap)
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(trace.take() == ["posted goes, 0"])
            enqueue("taken out", .whenIdle)
            let probe = GRunLoop.Notification(name: "taken out", payload: Witness {})
            #expect(queue?.dequeue(matching: probe) == 1)
            #expect(trace.take() == ["taken out goes, 0"])
            enqueue("coalesced", .whenIdle)
            enqueue("coalesced", .asap)
            #expect(trace.take() == ["coalesced goes, 1"])
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(trace.take() == ["coalesced goes, 0"])
            // The closure of the queue's observation is released together with the queue.
            let last = Witness { trace("queue goes") }
            let second = queue?.observe { [last] _ in withExtendedLifetime(last) {} }
            _ = consume last
            queue = nil
            #expect(trace.lines == ["queue goes"])
            withExtendedLifetime((observation, second)) {}
        }
    }

    @Test("the end of the loop's thread releases waiting notifications, without a lock; later none is accepted")
    func loopEnds() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let made = Shared<GRunLoop.NotificationQueue<String, Witness>?>(nil)
            let thread = LoopThread { loop in
                let queue = GRunLoop.NotificationQueue<String, Witness>(on: loop)
                made.value = queue
                for (name, style) in [("asap", GRunLoop.PostingStyle.asap), ("idle", .whenIdle)] {
                    let witness = Witness { trace("\(name) goes, \(queue.count) wait") }
                    queue.enqueue(.init(name: name, payload: witness), style: style, inModes: ["never", .common])
                }
                #expect(queue.count == 2)
            }
            thread.join()
            #expect(Set(trace.take()) == ["asap goes, 0 wait", "idle goes, 0 wait"])
            let queue = try #require(made.value)
            for style in [GRunLoop.PostingStyle.now, .asap, .whenIdle] {
                #expect(!queue.enqueue(.init(name: "late", payload: Witness { trace("late goes") }), style: style))
                #expect(trace.take() == ["late goes"])
            }
            #expect(queue.count == 0)
            // The loop releases an empty queue too.
            let loop = thread.loop
            #expect(!TextQueue(on: loop).enqueue("a", .asap))
        }
    }

    @Test("posting .now is only legal on the loop's own thread: on other threads it is refused with a message")
    func nowElsewhere() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let queue = TextQueue(on: loop)
            let observation = queue.record(trace)
            queue.enqueue("a", 1, .asap)
            let messages = Shared<[String]>([])
            onPlainThread {
                let (isPosted, said) = capturingLog { queue.enqueue("a", 2, .now) }
                #expect(!isPosted)
                messages.value = said
            }
            #expect(
                messages.value == [
                    "critical: GRunLoop.NotificationQueue.enqueue: ignored: the style .now works only on the loop's "
                        + "own thread; use .asap on other threads"
                ])
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(trace.lines == ["a 1"])
            withExtendedLifetime(observation) {}
        }
    }

    @Test("eight threads post each notification once, in the order of its thread; of equal ones, the last is posted")
    func threads() async throws {
        try await onFreshThread { _ in
            let thread = LoopThread.running()
            let queue = TextQueue(on: thread.loop)
            let got = Shared<[String: [Int]]>([:])
            let observation = queue.observe { notification in
                got.update { $0[notification.name, default: []].append(notification.payload) }
            }
            let each = 500
            let producers = (0..<8).map { number in
                startThread {
                    for payload in 1...each {
                        queue.enqueue("own \(number)", payload, payload % 3 == 0 ? .whenIdle : .asap, [])
                        queue.enqueue("same", payload, payload % 2 == 0 ? .whenIdle : .asap)
                        if payload % 5 == 0 { queue.enqueue("out", payload, .asap) }
                        if payload % 7 == 0 { queue.dequeue(matching: .init(name: "out", payload: 0)) }
                    }
                }
            }
            for producer in producers { join(producer) }
            #expect(waitUntil { queue.count == 0 && thread.loop.isWaiting })
            thread.finish()
            let posted = got.value
            for number in 0..<8 {
                let payloads = posted["own \(number)"] ?? []
                for style in [true, false] {
                    #expect(payloads.filter { ($0 % 3 == 0) == style } == (1...each).filter { ($0 % 3 == 0) == style })
                }
            }
            // A later equal notification replaces a waiting one, so the very last one is always posted.
            #expect(posted["same"]?.last == each)
            #expect((posted["same"]?.count ?? 0) <= 8 * each)
            withExtendedLifetime(observation) {}
        }
    }

    @Test("enqueued notifications are posted in the run that follows, even while other threads enqueue")
    func postedByTheNextRun() async throws {
        try await onFreshThread { loop in
            let queue = TextQueue(on: loop)
            let posted = Counter()
            let observation = queue.observe("own") { _ in posted.increment() }
            for round in 1...100 {
                // The other thread has created the common turn, and waits for the lock to add it to the loop.
                let other = loop.lock.withLock {
                    let thread = startThread { queue.enqueue("other", .asap, []) }
                    while queue.count == 0 { sched_yield() }
                    return thread
                }
                queue.enqueue("own", .asap, [])
                loop.run(for: .zero)
                #expect(posted.value == round)
                join(other)
                loop.run(for: .zero)
                if posted.value != round { break }
            }
            withExtendedLifetime(observation) {}
        }
    }

    @Test("two threads that enqueue equal notifications leave one: those that arrive meanwhile are compared as well")
    func sameFromTwoThreads() async throws {
        try await onFreshThread { loop in
            typealias Name = NotificationCoalescingTests.Name
            let queue = GRunLoop.NotificationQueue<Name, Int>(on: loop)
            let enqueue: @Sendable (Int, @escaping @Sendable () -> Void) -> Void = { number, compared in
                let name = Name(text: "same", compared: compared)
                queue.enqueue(.init(name: name, payload: number), style: .asap, coalescing: .onName, inModes: ["never"])
            }
            let meanwhile = Shared<(@Sendable () -> Void)?>(nil)
            enqueue(1) { meanwhile.update { $0.take() }?() }
            meanwhile.value = { join(startThread { enqueue(3) {} }) }
            enqueue(2) {}
            #expect(meanwhile.value == nil)
            #expect(queue.count == 1)
            let same = Name(text: "same") {}
            #expect(queue.dequeue(matching: .init(name: same, payload: 0)) == 1)
        }
    }
}
