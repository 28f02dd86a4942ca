// SPDX-License-Identifier: Apache-2.0
// Scenario hosted-observers: observers are called while GLib's own loop drives.

import GRunLoop

/// A host sleeps in its own poll(). Still, beforeWaiting and afterWaiting bracket each of its sleeps, whatever wakes
/// it. No poll function is replaced. Two sentinels, a first and a last source in the host's context, report when the
/// host is about to sleep and when it has slept. They exist only while somebody observes these two stages. The host
/// counts as one endless run, from the loop's first work under it to the loop's detaching.
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
        // Attaching again starts a new run. If an earlier scenario of the tour ran under a host, entry was reported
        // then.
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

    /// Wakes the host from another thread with a block that ends the host's loop.
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
