// SPDX-License-Identifier: Apache-2.0
// Scenario hosted-observers: observers while GLib's own loop drives.

import GRunLoop

/// A host sleeps in its own poll(), and yet beforeWaiting and afterWaiting bracket every one of its sleeps, whoever it
/// is that wakes it. No poll function is replaced: two sentinels, a first and a last source in the host's context, tell
/// when it is about to sleep and when it has slept. They are there only while somebody observes these two stages. The
/// host is one endless run, from the first thing that the loop does in it to the loop's detaching.
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
        // A fresh start: entry was told already if anything of the tour ran under a host before.
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

    /// Another thread wakes the host with a block, which ends it.
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
