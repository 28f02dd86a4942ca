// SPDX-License-Identifier: Apache-2.0
// Every sleep of a host lies between beforeWaiting and afterWaiting. A poll function of these tests counts the sleeps.

import CGRunGLib
import Dispatch
import GRunLoop
import Glibc
import TestSupport
import XCTest

/// Counts by a recording poll function and two observers. Main thread only.
private final class SleepCount {
    nonisolated(unsafe) static var current: SleepCount?

    var sleeps = 0
    var unbracketed = 0
    var pairs = 0
    /// Pairs without a wait, and pairs in which something was ready before they began.
    var extraPairs = 0
    var sharedPairs = 0
    /// Pairs of passes that served an item immediately, without a poll of the host (item 44).
    var passPairs = 0
    private var pollsInPair = 0
    private var isOpen = false
    private var sleepsInPair = 0
    /// Polls that were allowed to sleep. If something became ready after beforeWaiting, such a poll is a sleep that was
    /// cut short.
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

    /// Records a poll. It has slept if it could, took more than 50 us, and gave up the processor voluntarily.
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

/// How often the calling thread has given up the processor voluntarily.
private func voluntarySwitches() -> Int {
    var usage = rusage()
    // RUSAGE_THREAD.
    getrusage(.init(1), &usage)
    return usage.ru_nvcsw
}

final class HostSleepTests: MainThreadTestCase {
    /// Counts the sleeps of `body`, and checks what must hold of them.
    ///
    /// - Parameter mostExtra: the share of pairs that may have no wait, or begin when something is ready already. Its
    ///   source became ready after the host's last look. On an idle machine this is 1% of the pairs, on a busy one a
    ///   little more.
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
        // On a busy machine there are fewer sleeps in the same time.
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

    /// While `body` runs, there are timers of the loop, timeouts and idle work of the host, a descriptor, and another
    /// thread that wakes the host.
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

    /// A loop of the host in a callout, a callout in one of its callbacks, and so on, and back out again.
    func testForeignLoopsNested() throws {
        try count("nested foreign loops", atLeast: 100) {
            try withEvents {
                nest(depth: 3)
                iterateHost(for: .milliseconds(100))
            }
        }
    }

    /// Runs in a host callback, and a loop of the host in a callout of such a run.
    func testRunsOfOursInside() throws {
        // A run also sends the pair for a wait that ends immediately (item 44).
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

/// Idle work as in a GTK program: a callback at priority 200.
private func idleOnce() {
    g_idle_add({ _ in 0 }, nil)
}

/// Each level iterates for a while, runs the next level in a callout of the loop or the host, and iterates again.
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
