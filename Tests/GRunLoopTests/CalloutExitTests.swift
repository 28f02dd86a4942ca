// SPDX-License-Identifier: Apache-2.0
// Items whose closures end their threads, some after moving the items to other loops. Objects on the stack of such a
// thread are never released, so the address sanitizer reports a leak.

import GRunLoop
import GRunLoopMessagePorts
import Glibc
import TestSupport
import Testing

@Suite("Closures that end their threads", .disabled(if: sanitizer == "address")) struct CalloutExitTests {
    @Test("a repeating timer whose closure ends its thread fires again in another loop", arguments: [true, false])
    func leavesInATimer(repeats: Bool) async throws {
        let worker = try GRunLoop.Thread(name: "leaves in a timer")
        let fires = Counter()
        let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: repeats) { timer in
            fires.increment()
            if fires.value == 1 { pthread_exit(nil) }
            timer.invalidate()
        }
        worker.loop.add(timer, forMode: .default)
        await worker.waitUntilEnded()
        #expect(fires.value == 1 && timer.isValid == repeats)
        try await onFreshThread { loop in
            loop.add(timer, forMode: .default)
            #expect(loop.run(mode: .default, for: .seconds(2)) == .finished)
        }
        #expect(fires.value == (repeats ? 2 : 1) && !timer.isValid)
    }

    @Test(
        "a timer whose closure moves it to another loop and then ends its thread fires there",
        arguments: [CalloutExitTests.Place.thread, .virtualTime], [true, false])
    func leavesInAMovedTimer(place: Place, repeats: Bool) async throws {
        let worker = try GRunLoop.Thread(name: "leaves in a moved timer")
        let other = LoopThread.running()
        let (loop, otherLoop, fires) = (worker.loop, other.loop, Counter())
        let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: repeats) { timer in
            guard fires.increment() == 1 else { return timer.invalidate() }
            loop.remove(timer, forMode: .default)
            switch place {
            case .thread:
                otherLoop.add(timer, forMode: .default)
                pthread_exit(nil)
            case .virtualTime:
                GRunLoop.withVirtualTime { time in
                    time.loop.add(timer, forMode: .default)
                    pthread_exit(nil)
                }
            }
        }
        loop.add(timer, forMode: .default)
        await worker.waitUntilEnded()
        // With virtual time, the loop that the timer was moved to has ended too.
        if place == .virtualTime { otherLoop.add(timer, forMode: .default) }
        #expect(waitUntil { !timer.isValid })
        other.finish()
        #expect(fires.value == (repeats ? 2 : 1))
    }

    enum Place { case thread, virtualTime }

    @Test("a timer whose closure ends its thread has a next fire date, after the date that it fired for")
    func leavesOnItsGrid() async throws {
        let worker = try GRunLoop.Thread(name: "leaves on its grid")
        let date = GRunLoop.now.advanced(by: .milliseconds(5))
        let timer = GRunLoop.Timer(fireAt: date, interval: .seconds(1000)) { _ in pthread_exit(nil) }
        worker.loop.add(timer, forMode: .default)
        await worker.waitUntilEnded()
        #expect(timer.isValid && timer.fireDate == date.advanced(by: .seconds(1000)))
    }

    @Test("item 123: if a closure sets the timer's next date and then ends its thread, the timer has that date")
    func leavesWithADate() async throws {
        let worker = try GRunLoop.Thread(name: "leaves with a date")
        let date = GRunLoop.now.advanced(by: .seconds(1000))
        let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { timer in
            timer.fireDate = date
            pthread_exit(nil)
        }
        worker.loop.add(timer, forMode: .default)
        await worker.waitUntilEnded()
        #expect(timer.isValid && timer.fireDate == date)
    }

    @Test("a repeating observer whose closure ends its thread is called in another loop", arguments: [true, false])
    func leavesInAnObserver(repeats: Bool) async throws {
        let worker = try GRunLoop.Thread(name: "leaves in an observer")
        let calls = Counter()
        let observer = GRunLoop.Observer(activities: .beforeSources, repeats: repeats) { _, _ in
            if calls.increment() == 1 { pthread_exit(nil) }
        }
        worker.loop.add(observer, forMode: .default)
        worker.loop.async {}
        await worker.waitUntilEnded()
        #expect(calls.value == 1 && observer.isValid == repeats)
        try await onFreshThread { loop in
            loop.keepAlive()
            loop.add(observer, forMode: .default)
            loop.run(mode: .default, for: .zero)
        }
        #expect(calls.value == (repeats ? 2 : 1))
    }

    @Test("observers whose closures nest runs are called in another loop after the inner closure ends the thread")
    func leavesInNestedObservers() async throws {
        let calls = Counter()
        let outer = GRunLoop.Observer(activities: .beforeTimers) { _, _ in
            guard calls.increment() == 1 else { return }
            GRunLoop.current.run(mode: "M", for: .seconds(20))
        }
        let inner = GRunLoop.Observer(activities: .beforeSources) { _, _ in
            if calls.increment() == 2 { pthread_exit(nil) }
        }
        let thread = startThread {
            let loop = GRunLoop.current
            for mode in [.default, "M"] as [GRunLoop.Mode] { loop.keepAlive(mode) }
            loop.add(outer, forMode: .default)
            loop.add(inner, forMode: "M")
            loop.run(mode: .default)
        }
        join(thread)
        #expect(calls.value == 2)
        try await onFreshThread { loop in
            loop.keepAlive()
            for observer in [outer, inner] { loop.add(observer, forMode: .default) }
            loop.run(mode: .default, for: .zero)
        }
        #expect(calls.value == 4)
    }

    @Test("after one closure of an idle queue ends its thread, the other closures run in another loop")
    func leavesInIdleWork() async throws {
        let worker = try GRunLoop.Thread(name: "leaves in idle work")
        let (trace, queue) = (Recorder(), GRunLoop.IdleQueue())
        queue.enqueue { pthread_exit(nil) }
        queue.enqueue { trace("another") }
        worker.loop.add(queue, forMode: .default)
        await worker.waitUntilEnded()
        #expect(trace.lines == [] && queue.count == 1)
        try await onFreshThread { loop in
            loop.add(queue, forMode: .default)
            #expect(loop.run(mode: .default, for: .seconds(2)) == .finished)
        }
        #expect(trace.lines == ["another"])
    }

    @Test(
        "any item whose closure ends its thread is called in another loop, even if the closure moved it there",
        arguments: Movable.Kind.allCases, [true, false])
    func leaves(in kind: Movable.Kind, isMoved: Bool) async throws {
        let worker = try GRunLoop.Thread(name: "leaves")
        let other = LoopThread.running()
        let (loop, otherLoop) = (worker.loop, other.loop)
        let (calls, item) = (Counter(), Shared<Movable?>(nil))
        let movable = try Movable(kind) {
            guard let item = item.value else { return }
            guard calls.increment() == 1 else { return item.invalidate() }
            if isMoved {
                item.remove(loop)
                item.add(otherLoop)
            }
            pthread_exit(nil)
        }
        item.value = movable
        movable.add(loop)
        movable.rouse()
        loop.async {}
        await worker.waitUntilEnded()
        if !isMoved { movable.add(otherLoop) }
        movable.rouse()
        otherLoop.async {}
        #expect(waitUntil { !movable.isValid() })
        other.finish()
        #expect(calls.value == 2)
    }

    @Test("item 233: if a perform ends the thread, callers that wait for it or for an enclosing perform get an error")
    func leavesInAnAwaitedPerform() async throws {
        let worker = try GRunLoop.Thread(name: "leaves in an awaited perform")
        let loop = worker.loop
        let (isNested, refusals) = (Flag(), Counter())
        let wait: @Sendable (@escaping @Sendable () -> Void) -> Void = { body in
            do { try loop.performAndWait(inModes: [.default, "M"], body) } catch { refusals.increment() }
        }
        let outer = startThread {
            wait {
                isNested.set()
                loop.keepAlive("M")
                loop.run(mode: "M")
            }
        }
        #expect(isNested.wait())
        let inner = startThread { wait { pthread_exit(nil) } }
        await worker.waitUntilEnded()
        #expect(refusals.wait(for: 2))
        for thread in [outer, inner] { join(thread) }
    }

    @Test("if the handler of a message port ends its thread, the client that waits for the reply gets an error")
    func leavesInAReply() async throws {
        let worker = try GRunLoop.Thread(name: "leaves in a reply")
        let name = RuntimeDirectory.newName("leaves")
        let port = try GRunLoop.MessagePort(replying: name) { _ in pthread_exit(nil) }
        try worker.loop.add(port, forMode: .default)
        let failure = try await onFreshThread { _ in
            let remote = try GRunLoop.RemoteMessagePort.lookUp(name)
            return Result { () throws(GRunLoop.MessageRequestError) in
                try remote.request(1, sendTimeout: .seconds(1), receiveTimeout: .seconds(20)).data.count
            }
        }
        #expect(failure == .failure(.unanswered))
        await worker.waitUntilEnded()
        #expect(port.isValid)
        port.invalidate()
    }
}
