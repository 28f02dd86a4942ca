// SPDX-License-Identifier: Apache-2.0
// The gain of a program: the same measurements before the program uses this library and after that.

import CGRunGLib
import Foundation

public enum Gain {
    /// With `--check`, measures on another thread while the program serves its main loop. Then prints a line, and ends
    /// the process.
    ///
    /// - Parameter nested: calls its closure as the program calls a handler that opens a dialog.
    public static func measureIfAsked(
        nested: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = { onIdle($0) }
    ) {
        guard CommandLine.arguments.contains("--check") else { return }
        Thread.detachNewThread {
            usleep(300_000)
            let facts = [
                ("wake-ups", wakeUps()), ("latency", latency()), ("actor", jobs()), ("timer", timer()),
                ("glib", idleCallbacks()), ("nested", blocksInADialog(nested)),
            ]
            print(facts.map { "\($0)=\($1)" }.joined(separator: " "))
            exit(0)
        }
    }

    /// How often the idle main thread wakes up in a second.
    private static func wakeUps() -> Int {
        let before = switchesOfMainThread()
        sleep(1)
        return switchesOfMainThread() - before
    }

    private static func switchesOfMainThread() -> Int {
        let status = try? String(contentsOfFile: "/proc/self/task/\(getpid())/status", encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
        return line.flatMap { Int($0.split(separator: "\t")[1]) } ?? 0
    }

    private static func latency() -> Int {
        medianTime { done in DispatchQueue.main.async(execute: done) }
    }

    private static func idleCallbacks() -> Int {
        medianTime { done in onIdle(priority: G_PRIORITY_DEFAULT, done) }
    }

    /// The median time until the main thread calls a closure, in microseconds; -1 if it calls none.
    private static func medianTime(_ enqueue: (@escaping @Sendable () -> Void) -> Void) -> Int {
        let latencies = Latencies()
        for _ in 0..<40 {
            usleep(.random(in: 0...20_000))
            let done = DispatchSemaphore(value: 0)
            let start = DispatchTime.now()
            enqueue {
                latencies.add(since: start)
                done.signal()
            }
            guard done.wait(timeout: start + 1) == .success else { break }
        }
        return latencies.microseconds(0.5).map { Int($0) } ?? -1
    }

    /// How many of 10 jobs of the main actor run.
    private static func jobs() -> Int {
        let count = Count()
        for _ in 0..<10 { Task { @MainActor in count.increment() } }
        usleep(300_000)
        return count.value
    }

    /// How often a timer of Foundation's fires in a second, if it should fire 50 times.
    private static func timer() -> Int {
        let count = Count()
        let isOver = Count()
        let timer = Timer(timeInterval: 0.02, repeats: true) { timer in
            if isOver.value > 0 { timer.invalidate() } else { count.increment() }
        }
        RunLoop.main.add(timer, forMode: .default)
        sleep(1)
        isOver.increment()
        return count.value
    }

    /// How many of 10 blocks of the main queue run while a handler of the program runs a loop of its own.
    private static func blocksInADialog(
        _ nested: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) -> Int {
        let (count, inDialog) = (Count(), Number())
        let isOver = DispatchSemaphore(value: 0)
        nested {
            Thread.detachNewThread { for _ in 0..<10 { DispatchQueue.main.async { count.increment() } } }
            MainLoop().run(atMost: 0.3)
            inDialog.set(count.value)
            isOver.signal()
        }
        _ = isOver.wait(timeout: .now() + 3)
        return inDialog.value
    }
}
