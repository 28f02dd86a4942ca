// SPDX-License-Identifier: Apache-2.0
// Scenario hosted-observers: observers are called while GLib's own loop drives.

import GRunLoop

/// A host sleeps in its own poll(). The loop still calls observers of beforeWaiting before each sleep, and observers of
/// afterWaiting after each sleep, whatever wakes the host. The host's poll function is not replaced. Instead two
/// sentinels, the first and the last source in the host's context, report the sleep's beginning and end. The sentinels
/// exist only while an observer observes beforeWaiting or afterWaiting. For observers, the host counts as one endless
/// run. This run begins with the loop's first work under the host, and ends when the loop is detached.
enum HostedObservers {
    static let scenario = Scenario(
        "hosted-observers", "Under g_main_loop_run, beforeWaiting and afterWaiting bracket each sleep of the host.",
        expected: """
            GSources of ours  | GRunLoop
            entry
            beforeTimers
            beforeSources
            beforeWaiting
                              | the host sleeps, a timer of ours wakes it
            afterWaiting
            timer             | GSources of ours: GRunLoop, GRunLoop first, GRunLoop last
            beforeTimers
            beforeSources
            beforeWaiting
                              | the host sleeps, a source of its own wakes it
            afterWaiting
            GTimeoutSource
            beforeTimers
            beforeSources
            beforeWaiting
                              | the host sleeps, another thread wakes it
            afterWaiting
            block
            beforeTimers
            beforeSources
            detach
            exit
            GSources of ours  | none
            GSources of ours  | GRunLoop
            """, body: run)

    private static func run(_ log: Recorder) {
        let loop = GRunLoop.main
        // Start a new run by detaching and attaching. Otherwise an earlier scenario of the tour may have begun the run,
        // and entry would not be reported again.
        loop.detach()
        loop.attach()
        log.line("GSources of ours", sourcesOfOurs)

        let wakers = Shared(["a timer of ours", "a source of its own", "another thread"])
        let observer = GRunLoop.Observer(activities: .all) { _, activity in
            log.line(activity.description)
            guard activity == .beforeWaiting, let waker = wakers.value.first else { return }
            wakers.update { $0.removeFirst() }
            log.line("", "the host sleeps, \(waker) wakes it")
        }
        loop.add(observer, forMode: .default)
        defer { observer.invalidate() }

        let worker = Shared<WorkerThread?>(nil)
        Host.run { quit in
            let timer = GRunLoop.Timer(interval: .milliseconds(2), repeats: false) { _ in
                log.line("timer", "GSources of ours: \(sourcesOfOurs)")
                GLibSource.addTimeout(milliseconds: 2) {
                    log.line("GTimeoutSource")
                    worker.value = wake(loop, log, quit)
                    return false
                }
            }
            loop.add(timer, forMode: .default)
        }
        worker.value?.join()

        log.line("detach")
        loop.detach()
        log.line("GSources of ours", sourcesOfOurs)
        loop.attach()
        log.line("GSources of ours", sourcesOfOurs)
    }

    private static func wake(_ loop: GRunLoop, _ log: Recorder, _ quit: @escaping @Sendable () -> Void) -> WorkerThread
    {
        WorkerThread {
            guard wait(until: { log.lines.last?[1].contains("another thread") == true && loop.isWaiting }) else {
                return quit()
            }
            loop.async {
                log.line("block")
                quit()
            }
        }
    }

    private static var sourcesOfOurs: String {
        let names = Host.sources.filter { $0.hasPrefix("GRunLoop") }
        return names.isEmpty ? "none" : names.joined(separator: ", ")
    }
}
