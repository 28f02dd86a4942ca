// SPDX-License-Identifier: Apache-2.0
// A million jobs from eight threads, on the main loop's executor and the main dispatch queue.

import Dispatch
import GRunLoop
import Glibc
import TestSupport

/// Needs its own process, because the main loop keeps its executor, which keeps the loop's modes alive.
func millionJobs() {
    for isHosted in [false, true] { JobStress().run(isHosted: isHosted) }
}

private struct JobStress {
    private static let threads = 8

    /// The number of all jobs. Under a sanitizer, where jobs are slow, it is smaller.
    private static let jobs = getenv("GRUN_STRESS_JOBS").flatMap { Int(String(cString: $0)) } ?? 1_000_000

    /// The jobs that have arrived. Used on the main thread only.
    private final class Ledger: @unchecked Sendable {
        /// The expected number, for each thread and each way.
        private(set) var next = [[Int]](repeating: [0, 0], count: JobStress.threads)
        private(set) var disorder = 0
        var elsewhere = 0

        func note(_ thread: Int, _ way: Int, _ number: Int) {
            if next[thread][way] != number { disorder += 1 }
            next[thread][way] = number + 1
            if threadID != getpid() { elsewhere += 1 }
        }

        func has(_ count: Int, from thread: Int) -> Bool { next[thread] == [count, count] }
        var sum: Int { next.joined().reduce(0, +) }
    }

    private let loop = GRunLoop.main

    /// Each job must come once, in the order of its thread, while timers and sources go on. Each thread waits for its
    /// own jobs at times, so a lost wake-up is noticed. The loop must sleep at the end.
    func run(isHosted: Bool) {
        let ledger = Ledger()
        let executor = loop.executor
        let each = Self.jobs / Self.threads / 2
        let burst = 250
        let timerFires = Counter()
        let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { _ in timerFires.increment() }
        loop.add(timer, forMode: .common)
        let performs = Counter()
        let source = loop.source(.common) { performs.increment() }
        defer { source.invalidate() }

        let running = Shared(Self.threads)
        let workers = (0..<Self.threads).map { thread in
            startThread { [loop] in
                let caughtUp = DispatchSemaphore(value: 0)
                var number = 0
                while number < each {
                    for _ in 0..<min(burst, each - number) {
                        let (own, isLast) = (number, (number + 1) % burst == 0 || number + 1 == each)
                        Task(executorPreference: executor) {
                            ledger.note(thread, 0, own)
                            if isLast, ledger.has(own + 1, from: thread) { caughtUp.signal() }
                        }
                        DispatchQueue.main.async {
                            ledger.note(thread, 1, own)
                            if isLast, ledger.has(own + 1, from: thread) { caughtUp.signal() }
                        }
                        number += 1
                    }
                    source.signal()
                    loop.wakeUp()
                    if caughtUp.wait(timeout: .now() + 60) == .timedOut { break }
                }
                running.update { $0 -= 1 }
                loop.wakeUp()
            }
        }
        if isHosted {
            iterateHost { running.value == 0 }
        } else {
            while running.value > 0 { loop.run(for: .milliseconds(100), returningAfterSourceHandled: false) }
        }
        for worker in workers { join(worker) }
        timer.invalidate()

        let expected = each * Self.threads * 2
        let went = timerFires.value > 0 && performs.value > 0 ? "went on" : "starved"
        say(
            "hosted \(isHosted): \(ledger.sum == expected ? "every job" : "\(ledger.sum) of \(expected) jobs"), "
                + "\(ledger.disorder) out of order, \(ledger.elsewhere) elsewhere, timers and sources \(went), "
                + "\(wakeUpsWhileIdle(isHosted)) wake-ups afterwards")
    }

    /// Returns the number of wake-ups in 200 ms without any work.
    private func wakeUpsWhileIdle(_ isHosted: Bool) -> Int {
        let wakeUps = Counter()
        let hasEnded = Flag()
        if isHosted {
            for _ in 0..<4 { settleHost() }
        } else {
            while loop.run(for: .zero, returningAfterSourceHandled: true) == .handledSource {}
        }
        let observer = loop.on(.afterWaiting, .common) { _ in wakeUps.increment() }
        defer { observer.invalidate() }
        let timer = GRunLoop.Timer(interval: .milliseconds(200), repeats: false) { [loop] _ in
            hasEnded.set()
            loop.stop()
        }
        loop.add(timer, forMode: .common)
        if isHosted { iterateHost { hasEnded.isSet } } else { loop.run(for: .seconds(10)) }
        // The timer's own wake-up does not count.
        return wakeUps.value - 1
    }
}
