// SPDX-License-Identifier: Apache-2.0
// Other threads beside a host: they change its poll records, post to the sleeping loop, or iterate its context.

import CGRunGLib
import Dispatch
import GRunLoop
import Glibc
import TestSupport
import XCTest

/// Adds a poll record to GLib's default context and removes it again. A thread that polls the context then skips
/// check().
private func disturbDefaultContext(_ record: UnsafeMutablePointer<GPollFD>) {
    g_main_context_add_poll(nil, record, 0)
    g_main_context_remove_poll(nil, record)
}

private func withRecord(of descriptor: Int32, _ body: (UnsafeMutablePointer<GPollFD>) -> Void) {
    var record = GPollFD(fd: descriptor, events: gushort(G_IO_IN.rawValue), revents: 0)
    withUnsafeMutablePointer(to: &record) { body($0) }
}

final class HostThreadTests: MainThreadTestCase {
    /// T1: another thread adds and removes descriptors of GLib and of the loop 100,000 times while the host polls.
    /// Every kind of event arrives once.
    func testDescriptorsComeAndGo() throws {
        let changes = 100_000
        let pipe = Pipe()
        let (sent, received, posted, queued, fired) = (Shared(0), Counter(), Counter(), Counter(), Counter())
        let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
            for _ in 0..<pipe.drain().utf8.count { received.increment() }
        }
        try loop.add(descriptor, forMode: .default)
        temporary(GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { _ in fired.increment() })
        let isOver = Flag()
        let worker = startThread { [loop] in
            let idle = Pipe()
            withRecord(of: idle.readEnd) { record in
                for change in 1...changes {
                    if change % 4 == 0 {
                        let source = GRunLoop.DescriptorSource(descriptor: idle.readEnd) { _, _ in }
                        try? loop.add(source, forMode: .default)
                        source.invalidate()
                    } else {
                        disturbDefaultContext(record)
                    }
                    guard change % 100 == 0 else { continue }
                    pipe.send()
                    loop.async { posted.increment() }
                    DispatchQueue.main.async { queued.increment() }
                    sent.update { $0 += 1 }
                }
            }
            isOver.set()
            loop.wakeUp()
        }
        let span = elapsed {
            iterateHost {
                isOver.isSet && received.value == sent.value && posted.value == sent.value && queued.value == sent.value
            }
        }
        join(worker)
        descriptor.invalidate()
        print(
            "hosted: \(changes) descriptors came and went in \(span): \(sent.value) of each event sent, none lost, "
                + "\(fired.value) timer fires"
        )
        XCTAssertEqual(sent.value, changes / 100)
        XCTAssertGreaterThan(fired.value, 0)
    }

    /// Another thread posts 20,000 blocks while a third thread changes the poll set. Each block is served in order,
    /// without any timeout.
    func testPostsWhileThePollSetChanges() {
        let count = 20_000
        let (next, outOfOrder) = (Shared(0), Counter())
        let isOver = Flag()
        let disturber = startThread {
            let idle = Pipe()
            withRecord(of: idle.readEnd) { record in
                while !isOver.isSet { disturbDefaultContext(record) }
            }
        }
        let poster = startThread { [loop] in
            for number in 0..<count {
                loop.async {
                    if next.value != number { outOfOrder.increment() }
                    next.value += 1
                }
                // The host falls asleep between the posts repeatedly.
                if number % 50 == 0 { usleep(200) }
            }
        }
        iterateHost { next.value == count }
        isOver.set()
        join(poster)
        join(disturber)
        XCTAssertEqual(outOfOrder.value, 0)
    }

    /// A foreign loop in a callout serves blocks that its own callbacks and other threads post to the loop.
    func testPostsOfAForeignLoopInACallout() {
        let count = 2000
        let (own, foreign, queued) = (Counter(), Counter(), Counter())
        let poster = startThread { [loop] in
            for _ in 0..<count { loop.async { foreign.increment() } }
        }
        let isDone = Flag()
        after(.zero) { [loop] in
            let idle = GLibSource.idle(nil, priority: 200) {
                loop.async { own.increment() }
                DispatchQueue.main.async { queued.increment() }
                return own.value < 200
            }
            iterateHost { own.value >= 200 && queued.value >= 200 && foreign.value == count }
            idle.destroy()
            isDone.set()
        }
        iterateHost { isDone.isSet }
        join(poster)
    }

    /// T9: another thread iterates the loop's context while a descriptor of the loop is readable. That thread neither
    /// spins nor runs callouts. After it has released the context, the loop's own thread runs them.
    func testAnotherThreadIterates() throws {
        let pipe = Pipe()
        let calls = Recorder()
        let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
            pipe.drain()
            calls("descriptor")
        }
        try loop.add(descriptor, forMode: .default)
        observe(calls)
        iterateHost { calls.lines.last == "beforeWaiting" }
        for round in 1...3 {
            _ = calls.take()
            let iterations = Counter()
            let thread = startThread {
                let isOver = Flag()
                let end = GLibSource.timeout(nil, milliseconds: 500) {
                    isOver.set()
                    return false
                }
                while !isOver.isSet {
                    g_main_context_iteration(nil, 1)
                    iterations.increment()
                }
                end.destroy()
            }
            pipe.send()
            loop.async { calls("block") }
            DispatchQueue.main.async { calls("main queue") }
            after(.milliseconds(5)) { calls("timer") }
            join(thread)
            print(
                "hosted: another thread iterated the context for 0.5 s: \(iterations.value) iterations, round \(round)")
            XCTAssertLessThan(iterations.value, 10)
            XCTAssertEqual(calls.take(), [], "callouts on a thread that is not the loop's")
            iterateHost { Set(["descriptor", "block", "main queue", "timer"]).isSubset(of: calls.lines) }
        }
        descriptor.invalidate()
    }

    /// While another thread owns the context, a run serves the loop's own items. The context's sources wait.
    func testOurRunWhileAnotherThreadOwnsTheContext() {
        let owner = ContextOwner(nil)
        let trace = Recorder()
        let idle = GLibSource.idle(nil) {
            trace("idle")
            return false
        }
        after(.milliseconds(2)) {
            trace("timer")
            GRunLoop.main.stop()
        }
        XCTAssertEqual(loop.run(mode: .default, for: .seconds(10)), .stopped)
        XCTAssertEqual(trace.lines, ["timer"])
        owner.letGo()
        iterateHost { trace.lines.count == 2 }
        XCTAssertEqual(trace.lines, ["timer", "idle"])
        idle.destroy()
    }

    /// Another thread invalidates a source during its callout. The callout finishes, and its captures are released
    /// once.
    func testInvalidatedInItsCallout() throws {
        let ends = Counter()
        let calls = Counter()
        let pipe = Pipe()
        func runOnce() throws {
            let (one, other) = (Witness { ends.increment() }, Witness { ends.increment() })
            let own = Shared<GRunLoop.Source?>(nil)
            let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { source, _ in
                calls.increment()
                onPlainThread { source.invalidate() }
                withExtendedLifetime(one) {}
            }
            let source = GRunLoop.Source {
                calls.increment()
                let source = own.value
                own.value = nil
                onPlainThread { source?.invalidate() }
                withExtendedLifetime(other) {}
            }
            own.value = source
            try loop.add(descriptor, forMode: .default)
            loop.add(source, forMode: .default)
            pipe.send()
            source.signal()
            let before = calls.value
            iterateHost { calls.value == before + 2 }
            settleHost()
            XCTAssertFalse(descriptor.isValid || source.isValid)
        }
        for round in 1...20 {
            try runOnce()
            XCTAssertEqual(calls.value, 2 * round)
            XCTAssertEqual(ends.value, 2 * round)
        }
    }

    /// T8: a host sets its own poll function before or after the loop is attached, and iterates from within that
    /// function.
    func testPollFunctionOfTheHost() {
        enum Count {
            nonisolated(unsafe) static var polls = 0
            nonisolated(unsafe) static var isNested = false
        }
        let poll: GPollFunc = { records, count, timeout in
            Count.polls += 1
            // Polls in slices, like programs that run their own loop around GLib's.
            var left = timeout
            while true {
                let slice = left < 0 || left > 5 ? 5 : left
                let result = g_poll(records, count, slice)
                if result != 0 || timeout == 0 { return result }
                if left >= 0 {
                    left -= slice
                    if left <= 0 { return 0 }
                }
            }
        }
        for isBefore in [true, false] {
            Count.polls = 0
            if isBefore {
                loop.detach()
                g_main_context_set_poll_func(nil, poll)
                loop.attach()
            } else {
                freshHostedRun()
                settleHost()
                g_main_context_set_poll_func(nil, poll)
            }
            let trace = Recorder()
            observe(trace, .default, [.beforeWaiting, .afterWaiting])
            let done = Counter()
            after(.milliseconds(12)) { done.increment() }
            whenAsleep { GRunLoop.main.async { done.increment() } }
            iterateHost { done.value == 2 }
            let pipe = Pipe()
            let readable = GLibSource.readable(nil, pipe.readEnd) {
                pipe.drain()
                done.increment()
                return true
            }
            whenAsleep { pipe.send() }
            iterateHost { done.value == 3 }
            // A run also polls the host's context by the host's function.
            let before = Count.polls
            after(.milliseconds(7)) { done.increment() }
            loop.run(for: .milliseconds(20))
            XCTAssertEqual(done.value, 4)
            XCTAssertGreaterThan(before, 0)
            readable.destroy()
            g_main_context_set_poll_func(nil, g_poll)
        }
    }

    /// T13: a program that is executed inherits none of the loop's descriptors.
    func testExecutedProgramInheritsNothing() throws {
        let pipe = Pipe()
        let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in }
        try loop.add(descriptor, forMode: .default)
        after(.seconds(60)) {}
        DispatchQueue.main.async {}
        settleHost()
        // This process has such descriptors: an epoll, a timer, the main queue's eventfd.
        XCTAssertGreaterThan(anonymousDescriptors(of: "self").count, 2)
        let listing = try XCTUnwrap(popen("ls -l /proc/self/fd", "re"))
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = fread(&buffer, 1, buffer.count, listing), count > 0 {
            text += String(decoding: buffer.prefix(count), as: UTF8.self)
        }
        pclose(listing)
        XCTAssertTrue(text.contains("/proc/"), text)
        XCTAssertFalse(text.contains("anon_inode"), text)
        descriptor.invalidate()
    }

    private func anonymousDescriptors(of process: String) -> [String] {
        var found: [String] = []
        for number in 0..<1024 {
            var buffer = [CChar](repeating: 0, count: 256)
            let count = readlink("/proc/\(process)/fd/\(number)", &buffer, buffer.count)
            guard count > 0 else { continue }
            let name = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if name.hasPrefix("anon_inode") { found.append(name) }
        }
        return found
    }

    /// The host releases its context before the loop's thread ends. The loop keeps the context, and serves its sources
    /// until then.
    func testContextIsGivenUpFirst() {
        let trace = Recorder()
        let thread = startThread {
            let context = g_main_context_new()
            g_main_context_push_thread_default(context)
            let loop = GRunLoop.current
            loop.perform { trace("under the host") }
            XCTAssertEqual(loop.homeContext?.pointer, context)
            settleHost(context)
            g_main_context_pop_thread_default(context)
            g_main_context_unref(context)
            loop.keepAlive()
            loop.perform { trace("afterwards") }
            let idle = GLibSource.idle(loop.homeContext?.pointer) {
                trace("idle")
                return false
            }
            loop.run(for: .milliseconds(2))
            idle.destroy()
        }
        join(thread)
        XCTAssertEqual(trace.lines.sorted(), ["afterwards", "idle", "under the host"])
    }
}
