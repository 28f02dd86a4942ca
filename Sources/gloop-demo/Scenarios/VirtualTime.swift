// SPDX-License-Identifier: Apache-2.0
// Scenario virtual-time: the timers of eight hours fire in almost no time.

import GRunLoop

/// This scenario runs a loop with a virtual clock. Instead of sleeping, the loop moves this clock to the next date.
/// Tests of code with timers use such a loop.
enum VirtualTime {
    static let scenario = Scenario(
        "virtual-time", "The test moves a loop's clock: hours pass immediately, and each item fires at its date.",
        expected: """
            00:00 | advance by 8 hours
            02:00 | every 2 hours
            03:30 | timer
            03:30 | the block that it enqueued
            04:00 | every 2 hours
            05:00 | a task that slept for 5 hours on the loop's clock
            06:00 | every 2 hours
            08:00 | every 2 hours
            08:00 | end
            """, body: run)

    private static func run(_ log: Recorder) {
        let real = GRunLoop.now
        GRunLoop.withVirtualTime { time in
            let loop = time.loop
            let midnight = time.now
            let note: @Sendable (String) -> Void = { what in
                let minutes = midnight.duration(to: loop.clock.now).nanoseconds / 60_000_000_000
                log.line("\(twoDigits(minutes / 60)):\(twoDigits(minutes % 60))", what)
            }
            let timer = GRunLoop.Timer(interval: .seconds(3 * 3600 + 1800), repeats: false) { _ in
                note("timer")
                loop.perform { note("the block that it enqueued") }
            }
            let repeating = GRunLoop.Timer(interval: .seconds(2 * 3600), repeats: true) { _ in note("every 2 hours") }
            for timer in [timer, repeating] { loop.add(timer, forMode: .default) }
            Task(executorPreference: loop.executor) {
                try await loop.sleep(for: .seconds(5 * 3600))
                note("a task that slept for 5 hours on the loop's clock")
            }
            note("advance by 8 hours")
            time.advance(by: .seconds(8 * 3600))
            note("end")
        }
        log.note("8 hours in \(milliseconds(real.duration(to: GRunLoop.now)))")
    }

    private static func twoDigits(_ number: Int64) -> String {
        (number < 10 ? "0" : "") + "\(number)"
    }
}
