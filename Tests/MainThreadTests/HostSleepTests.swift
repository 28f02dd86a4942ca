// SPDX-License-Identifier: Apache-2.0
// Every sleep of a host lies between beforeWaiting and afterWaiting: counted by a poll function that only these tests
// install.

import CGRunGLib
import Dispatch
import GRunLoop
import Glibc
import TestSupport
import XCTest

/// What a recording poll function and a pair of observers have seen. Main thread only.
private final class SleepCount {
    nonisolated(unsafe) static var current: SleepCount?

    var sleeps = 0
    var unbracketed = 0
    var pairs = 0
    /// Those in which the host was not asked to sleep, or something was ready before they began.
    var extraPairs = 0
    var sharedPairs = 0
    /// Those of passes that had something to serve at once: the host was not even asked to sleep (item 44).
    var passPairs = 0
    private var pollsInPair = 0
    private var isOpen = false
    private var sleepsInPair = 0
    /// Polls that were allowed to sleep. One that finds at once what came after beforeWaiting is a sleep as well, cut
    /// short.
    private var waitsInPair = 0
    private var wasReady = false
    private var records: [GPollFD] = []

    func note(_ activity: GRunLoop.Activity) {
        if activity == .beforeWaiting {
            XCTAssertFalse(isOpen, "beforeWaiting twice in a row")
            pairs += 1
            isOpen = true
            sleepsInPair = 0
            waitsInPair = 0
            pollsInPair = 0
            wasReady = g_poll(&records, guint(records.count), 0) > 0
        } else {
            XCTAssertTrue(isOpen, "afterWaiting without beforeWaiting")
            isOpen = false
            if pollsInPair == 0 { passPairs += 1 } else if waitsInPair == 0 || wasReady { extraPairs += 1 }
            if sleepsInPair > 1 { sharedPairs += 1 }
        }
    }

    func notePoll(_ records: UnsafeBufferPointer<GPollFD>, mayWait: Bool, slept: Bool) {
        self.records = Array(records)
        pollsInPair += 1
        if mayWait { waitsInPair += 1 }
        guard slept else { return }
        sleeps += 1
        if isOpen { sleepsInPair += 1 } else { unbracketed += 1 }
    }

    /// A poll that may sleep and did, for more than 50 us. A thread that only lost the processor has not slept.
    static let poll: GPollFunc = { records, count, timeout in
        let (start, switches) = (GRunLoop.now, voluntarySwitches())
        let result = g_poll(records, count, timeout)
        let slept =
            timeout != 0 && start.duration(to: GRunLoop.now) > .microseconds(50) && voluntarySwitches() > switches
        SleepCount.current?.notePoll(
            UnsafeBufferPointer(start: records, count: Int(count)), mayWait: timeout != 0, slept: slept)
        return result
    }
}

/// How often the calling thread has given up the processor itself.
private func voluntarySwitches() -> Int {
    var usage = rusage()
    // RUSAGE_THREAD.
    getrusage(.init(1), &usage)
    return usage.ru_nvcsw
}

final class HostSleepTests: MainThreadTestCase {
    /// Counts the sleeps of `body`, and checks what must hold of them.
    ///
    /// - Parameter mostExtra: how many of the pairs may be without a wait, or of a moment in which something was ready
    ///   already: it came between the host's last look and beforeWaiting. On an idle machine it is one in a hundred, on
    ///   a busy one few more.
    private func count(_ what: String, atLeast expected: Int, mostExtra: Double = 0.05, _ body: () throws -> Void)
        rethrows
    {
        freshHostedRun()
        let count = SleepCount()
        SleepCount.current = count
        g_main_context_set_poll_func(nil, SleepCount.poll)
        let observer = GRunLoop.Observer(activities: [.beforeWaiting, .afterWaiting]) { _, activity in
            SleepCount.current?.note(activity)
        }
        loop.add(observer, forMode: .common)
        defer {
            observer.invalidate()
            g_main_context_set_poll_func(nil, g_poll)
            SleepCount.current = nil
        }
        // Where others take the processor away there are fewer in the same time.
        for _ in 0..<10 where count.sleeps <= expected { try body() }
        print(
            "hosted: \(what): \(count.sleeps) sleeps, \(count.unbracketed) without beforeWaiting, \(count.pairs) "
                + "pairs, \(count.extraPairs) without a reason and \(count.passPairs) of passes that had something to "
                + "serve, \(count.sharedPairs) with several"
        )
        XCTAssertEqual(count.unbracketed, 0, what)
        XCTAssertEqual(count.sharedPairs, 0, what)
        XCTAssertLessThanOrEqual(Double(count.extraPairs), max(2, mostExtra * Double(count.pairs)), what)
        XCTAssertGreaterThan(count.sleeps, expected, what)
    }

    /// Timers of ours, timeouts and idle work of the host's, a descriptor, and another thread that wakes it: for as
    /// long as `body` takes.
    private func withEvents(_ body: () throws -> Void) throws {
        let pipe = Pipe()
        let timers = [7, 11].map { GRunLoop.Timer(interval: .milliseconds($0), repeats: true) { _ in } }
        for timer in timers { loop.add(timer, forMode: .common) }
        let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in pipe.drain() }
        try loop.add(descriptor, forMode: .common)
        let foreign = GLibSource.timeout(nil, milliseconds: 9) {
            idleOnce()
            return true
        }
        let isDone = Flag()
        let waker = startThread { [loop] in
            var turn = 0
            while !isDone.wait(timeout: .milliseconds(3)) {
                turn += 1
                switch turn % 4 {
                case 0: loop.async {}
                case 1: pipe.send()
                case 2: DispatchQueue.main.async {}
                default: loop.wakeUp()
                }
            }
        }
        defer {
            isDone.set()
            join(waker)
            for timer in timers { timer.invalidate() }
            descriptor.invalidate()
            foreign.destroy()
        }
        try body()
    }

    func testPlainHost() throws {
        try count("plain GLib", atLeast: 100) {
            try withEvents { iterateHost(for: .milliseconds(1000)) }
        }
    }

    /// A loop of the host's in a callout of ours, in one of its callbacks, and so on, and back out again.
    func testForeignLoopsNested() throws {
        try count("nested foreign loops", atLeast: 100) {
            try withEvents {
                nest(depth: 3)
                iterateHost(for: .milliseconds(100))
            }
        }
    }

    /// Runs of ours in a host's callback, and a loop of the host's in a callout of such a run.
    func testRunsOfOursInside() throws {
        // A run of ours sends the pair for a wait that ends at once as well (item 44).
        try count("runs of ours inside", atLeast: 100, mostExtra: 0.15) {
            try withEvents {
                for round in 0..<4 {
                    inHostCallback {
                        if round % 2 == 1 {
                            let timer = GRunLoop.Timer(interval: .milliseconds(5), repeats: false) { _ in
                                iterateHost(for: .milliseconds(50))
                            }
                            GRunLoop.main.add(timer, forMode: .default)
                        }
                        GRunLoop.main.run(for: .milliseconds(80))
                    }
                    iterateHost(for: .milliseconds(50))
                }
            }
        }
    }
}

/// Idle work of a GTK program: a callback at priority 200.
private func idleOnce() {
    g_idle_add({ _ in 0 }, nil)
}

/// Each level iterates for a while, has the next one run in a callout, ours or the host's, and iterates again.
private func nest(depth: Int) {
    iterateHost(for: .milliseconds(80))
    guard depth > 0 else { return }
    if depth % 2 == 1 {
        let isDone = Shared(false)
        let timer = GRunLoop.Timer(interval: .milliseconds(2), repeats: false) { _ in
            nest(depth: depth - 1)
            isDone.value = true
        }
        GRunLoop.main.add(timer, forMode: .common)
        iterateHost { isDone.value }
    } else {
        inHostCallback { nest(depth: depth - 1) }
    }
    iterateHost(for: .milliseconds(40))
}
