// SPDX-License-Identifier: Apache-2.0
// Checks that user code is not called under the loop's lock: another thread takes the lock during the callout.

import GRunLoop
import TestSupport

enum LockProbe {
    private final class Job: Sendable {
        let consumer: Consumer
        let place: String
        let done = Flag()

        init(_ consumer: Consumer, _ place: String) {
            self.consumer = consumer
            self.place = place
        }
    }

    private static let jobs = Shared<[Job]>([])
    private static let current = Shared<Job?>(nil)

    /// Starts the thread that makes the calls.
    static func start() {
        _ = startThread {
            while true {
                _ = jobs.wait(timeout: .seconds(3600)) { !$0.isEmpty }
                guard let job = jobs.update({ $0.isEmpty ? nil : $0.removeFirst() }) else { continue }
                current.value = job
                let loop = job.consumer.loop
                // Neither call changes the loop. A wake-up would hide a lost one.
                _ = loop.isWaiting
                _ = loop.ambientMode
                current.value = nil
                job.done.set()
            }
        }
    }

    static func check(_ consumer: Consumer, _ place: String) {
        let job = Job(consumer, place)
        jobs.update { $0.append(job) }
        Census.shared.probes.add()
        // Gives up sooner than the threads that wait for the loop.
        for _ in 0..<20 {
            if job.done.wait(timeout: Settings.patience / 40) { return }
        }
        let stuck = current.value ?? job
        Findings.end("user code under a lock: during \(stuck.place) another thread cannot call \(stuck.consumer.name)")
    }
}
