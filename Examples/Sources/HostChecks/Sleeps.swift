// SPDX-License-Identifier: Apache-2.0
// Check: beforeWaiting and afterWaiting bracket every sleep of the host. A poll function that only this check installs
// counts the sleeps.

import CGRunGLib
import Dispatch
import GRunLoop
import Glibc
import Synchronization

/// Main thread only.
private final class SleepCount {
    nonisolated(unsafe) static var current: SleepCount?
    nonisolated(unsafe) static var former: GPollFunc?

    var sleeps = 0
    var unbracketed = 0
    var pairs = 0
    /// Pairs in which the host was asked to sleep, and did not.
    var extraPairs = 0
    var sharedPairs = 0
    var unbalanced = 0
    private var isOpen = false
    private var pollsInPair = 0
    private var sleepsInPair = 0

    func note(_ activity: GRunLoop.Activity) {
        if isOpen == (activity == .beforeWaiting) { unbalanced += 1 }
        isOpen = activity == .beforeWaiting
        if isOpen {
            pairs += 1
            (pollsInPair, sleepsInPair) = (0, 0)
        } else {
            if pollsInPair > 0, sleepsInPair == 0 { extraPairs += 1 }
            if sleepsInPair > 1 { sharedPairs += 1 }
        }
    }

    static let poll: GPollFunc = { records, count, timeout in
        let start = GRunLoop.now
        let result = former?(records, count, timeout) ?? -1
        guard let counts = current else { return result }
        counts.pollsInPair += 1
        guard timeout != 0, start.duration(to: GRunLoop.now) > .microseconds(50) else { return result }
        counts.sleeps += 1
        if counts.isOpen { counts.sleepsInPair += 1 } else { counts.unbracketed += 1 }
        return result
    }
}

extension HostChecks {
    /// Uses timers, a timeout of the host, wake-ups from another thread, an animated window, loops nested to depth 3.
    func checkSleeps() {
        toolkit.setAnimating(true)
        defer { toolkit.setAnimating(false) }
        count("sleeps") { Host.run(milliseconds: 1000) }
        count("sleeps, nested to depth 3") { nest(depth: 3) }
    }

    private func nest(depth: Int) {
        guard depth > 0 else { return Host.run(milliseconds: 300) }
        let loop = MainLoop()
        let timer = GRunLoop.Timer(interval: .milliseconds(150), repeats: false) { [self] _ in
            nest(depth: depth - 1)
            loop.quit()
        }
        GRunLoop.main.add(timer, forMode: .default)
        loop.run()
    }

    private func count(_ what: String, _ body: () -> Void) {
        Watchdog.shared.feed(what)
        let loop = GRunLoop.main
        loop.detach()
        loop.attach()
        let counts = SleepCount()
        SleepCount.current = counts
        SleepCount.former = g_main_context_get_poll_func(nil)
        g_main_context_set_poll_func(nil, SleepCount.poll)
        let observer = GRunLoop.Observer(activities: [.beforeWaiting, .afterWaiting]) { _, activity in
            SleepCount.current?.note(activity)
        }
        loop.add(observer, forMode: .common)
        let timer = GRunLoop.Timer(interval: .milliseconds(7), repeats: true) { _ in }
        loop.add(timer, forMode: .common)
        let timeout = Host.addTimeout(milliseconds: 9) { true }
        withWaker(body)
        Host.remove(timeout)
        timer.invalidate()
        observer.invalidate()
        g_main_context_set_poll_func(nil, SleepCount.former)
        SleepCount.current = nil
        report.fact(
            what,
            counts.unbracketed == 0 && counts.sharedPairs == 0 && counts.unbalanced == 0 && counts.sleeps > 50
                && counts.extraPairs * 20 <= max(40, counts.pairs),
            "\(counts.sleeps) sleeps, \(counts.unbracketed) without beforeWaiting, \(counts.pairs) pairs, "
                + "\(counts.extraPairs) without a sleep, \(counts.sharedPairs) with several")
    }

    private func withWaker(_ body: () -> Void) {
        let stop = Shared()
        let waker = Worker {
            while !stop.isSet {
                usleep(5000)
                GRunLoop.main.async {}
                usleep(5000)
                DispatchQueue.main.async {}
            }
        }
        body()
        stop.set()
        waker.join()
    }
}

/// A flag that threads share.
final class Shared: Sendable {
    private let value = Atomic(false)
    var isSet: Bool { value.load(ordering: .acquiring) }
    func set() { value.store(true, ordering: .releasing) }
}
