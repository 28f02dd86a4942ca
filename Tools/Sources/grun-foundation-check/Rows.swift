// SPDX-License-Identifier: Apache-2.0
// Work that has to arrive.

import CGRunGIO
import Foundation
import GRunLoop
import GRunLoopFoundation
import Glibc
import Synchronization

struct Row: Sendable {
    let name: String
    let check: @Sendable () -> Outcome
}

enum Rows {
    static let all: [Row] = [
        Row(name: "timer", check: timer), Row(name: "timer-from-thread", check: timerFromThread),
        Row(name: "timer-common", check: timerCommon), Row(name: "timer-moved", check: timerMoved),
        Row(name: "perform", check: perform), Row(name: "perform-in-glib", check: performInGLib),
        Row(name: "notification-asap", check: { notification(.asap) }),
        Row(name: "notification-when-idle", check: { notification(.whenIdle) }),
        Row(name: "operation-queue", check: operationQueue), Row(name: "process", check: process),
        Row(name: "wait-until-exit", check: waitUntilExit), Row(name: "file-handle", check: fileHandle),
        Row(name: "run-until", check: runUntil), Row(name: "run-until-flag", check: runUntilFlag),
        Row(name: "run-now", check: runNow), Row(name: "nested-glib", check: nestedGLib),
        Row(name: "nested-all", check: nestedAll), Row(name: "ambient-mode", check: ambientMode),
        Row(name: "private-mode", check: privateMode), Row(name: "busy", check: busy),
        Row(name: "window", check: window),
    ]

    /// Makes the work `count` times, one after the other, from this thread.
    static func measured(
        _ count: Int, _ name: String = "", _ cause: (@escaping @Sendable () -> Void) -> Void
    ) -> Outcome {
        var delay = Delay()
        for _ in 0..<count {
            usleep(300)
            let arrived = DispatchSemaphore(value: 0)
            let start = milliseconds()
            cause { arrived.signal() }
            guard arrived.wait(timeout: .now() + 3) == .success else {
                return Outcome(false, "lost after \(delay.all.count)")
            }
            delay.add(since: start)
        }
        return inTime(delay.late, String(format: "%d, 99%% within %.3f ms", count, delay.late))
    }

    /// Whether the main queue, which does not involve Foundation, is late as well.
    static func isMachineBusy() -> Bool {
        (0..<3).contains { _ in
            var delay = Delay()
            for _ in 0..<100 {
                usleep(300)
                let start = milliseconds()
                DispatchQueue.main.sync {}
                delay.add(since: start)
            }
            return delay.late > 2
        }
    }

    private static func inTime(_ milliseconds: Double, _ figure: String) -> Outcome {
        milliseconds < 5 ? .holds(figure) : .late(figure)
    }

    // MARK: Timers

    static func timer() -> Outcome {
        let delays: [Double]? = onMain { done in
            nonisolated(unsafe) var (due, delays) = (milliseconds() + 5, [Double]())
            _ = Foundation.Timer.scheduledTimer(withTimeInterval: 0.005, repeats: true) { timer in
                delays.append(milliseconds() - due)
                due += 5
                if delays.count == 60 {
                    timer.invalidate()
                    done(delays)
                }
            }
        }
        guard let delays else { return Outcome(false, "never") }
        let late = Delay(all: delays).late
        return inTime(late, String(format: "60 fires, 99%% within %.3f ms", late))
    }

    static func timerFromThread() -> Outcome {
        measured(100) { done in
            RunLoop.main.add(
                Foundation.Timer(fire: Date(), interval: 0, repeats: false) { _ in done() }, forMode: .default)
        }
    }

    static func timerCommon() -> Outcome {
        measured(100) { done in
            RunLoop.main.add(
                Foundation.Timer(fire: Date(), interval: 0, repeats: false) { _ in done() }, forMode: .common)
        }
    }

    static func timerMoved() -> Outcome {
        measured(100) { done in
            let timer = Foundation.Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in done() }
            RunLoop.main.add(timer, forMode: .common)
            timer.fireDate = Date()
        }
    }

    // MARK: Blocks, notifications, operations

    static func perform() -> Outcome { measured(500) { done in RunLoop.main.perform { done() } } }

    static func performInGLib() -> Outcome {
        measured(200) { done in inGLib { RunLoop.main.perform { done() } } }
    }

    static func notification(_ style: NotificationQueue.PostingStyle) -> Outcome {
        let name = Notification.Name("check")
        let called = Mutex<(@Sendable () -> Void)?>(nil)
        let token = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in
            called.withLock { $0 }?()
        }
        defer { NotificationCenter.default.removeObserver(token) }
        return measured(100) { done in
            called.withLock { $0 = done }
            inGLib { NotificationQueue.default.enqueue(Notification(name: name), postingStyle: style) }
        }
    }

    static func operationQueue() -> Outcome {
        measured(200) { done in OperationQueue.main.addOperation { done() } }
    }

    // MARK: Processes and files

    static func process() -> Outcome {
        let outcome = measured(10) { done in
            inGLib {
                let process = Process()
                process.executableURL = URL(fileURLWithPath: "/bin/true")
                // The handler is called on a queue. The row checks that the run loop goes on.
                process.terminationHandler = { _ in RunLoop.main.perform { done() } }
                try? process.run()
            }
        }
        // The time to start a process does not count.
        return outcome.isLate ? .holds(outcome.figure) : outcome
    }

    static func waitUntilExit() -> Outcome {
        let ticks: Int? = onMain { done in
            let ticks = GLibTicks(milliseconds: 10)
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/sleep")
            process.arguments = ["0.3"]
            try? process.run()
            process.waitUntilExit()
            done(ticks.end())
        }
        return Outcome(
            (ticks ?? 0) > 15, orLate: (ticks ?? 0) > 0,
            "GLib's timer of 10 ms meanwhile: \(ticks.map(String.init) ?? "never returned")")
    }

    static func fileHandle() -> Outcome {
        let text: String? = onMain { done in
            let pipe = Pipe()
            let reader = pipe.fileHandleForReading
            let token = Token()
            token.value = NotificationCenter.default.addObserver(
                forName: FileHandle.readCompletionNotification, object: reader, queue: nil
            ) { note in
                let data = note.userInfo?[NSFileHandleNotificationDataItem] as? Data ?? Data()
                token.value.map { NotificationCenter.default.removeObserver($0) }
                withExtendedLifetime(pipe) { done(String(decoding: data, as: UTF8.self)) }
            }
            reader.readInBackgroundAndNotify()
            DispatchQueue.global().asyncAfter(deadline: .now() + 0.05) {
                pipe.fileHandleForWriting.write(Data("there".utf8))
            }
        }
        return Outcome(text == "there", text ?? "never")
    }

    // MARK: Runs of Foundation's loop

    static func runUntil() -> Outcome {
        let counts: [Int]? = onMain { done in
            let ticks = GLibTicks(milliseconds: 10)
            nonisolated(unsafe) var (ours, theirs, queued) = (0, 0, 0)
            let timer = GRunLoop.Timer(interval: .milliseconds(10), repeats: true) { _ in ours += 1 }
            GRunLoop.main.add(timer, forMode: .common)
            let guest = Foundation.Timer.scheduledTimer(withTimeInterval: 0.01, repeats: true) { _ in theirs += 1 }
            DispatchQueue.global().async {
                for _ in 0..<20 {
                    usleep(10_000)
                    DispatchQueue.main.async { queued += 1 }
                }
            }
            let start = milliseconds()
            RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.3))
            let took = Int(milliseconds() - start)
            timer.invalidate()
            guest.invalidate()
            done([took, ticks.end(), ours, theirs, queued])
        }
        guard let counts else { return Outcome(false, "never returned") }
        let figure =
            "\(counts[0]) ms; GLib \(counts[1]), ours \(counts[2]), Foundation's \(counts[3]), queue \(counts[4])"
        guard counts[0] >= 299, counts.allSatisfy({ $0 > 0 }) else { return .fails(figure) }
        return counts[0] < 330 && counts[1...].allSatisfy { $0 >= 15 } ? .holds(figure) : .late(figure)
    }

    static func runUntilFlag() -> Outcome {
        let took: Double? = onMain { done in
            nonisolated(unsafe) var flag = false
            DispatchQueue.global().asyncAfter(deadline: .now() + 0.05) { DispatchQueue.main.async { flag = true } }
            let start = milliseconds()
            while !flag { _ = RunLoop.main.run(mode: .default, before: .distantFuture) }
            done(milliseconds() - start)
        }
        guard let took else { return .fails("never returned") }
        let figure = String(format: "%.1f ms", took)
        return took < 80 ? .holds(figure) : .late(figure)
    }

    static func runNow() -> Outcome {
        let took: Double? = onMain { done in
            let start = milliseconds()
            for _ in 0..<1000 { _ = RunLoop.main.run(mode: .default, before: Date()) }
            done(milliseconds() - start)
        }
        return Outcome(took != nil, String(format: "%.1f us each", took ?? .infinity))
    }

    static func nestedGLib() -> Outcome {
        let fires: Int? = onMain { done in
            _ = Foundation.Timer.scheduledTimer(withTimeInterval: 0.01, repeats: false) { _ in
                nonisolated(unsafe) let nested = g_main_loop_new(nil, 0)
                nonisolated(unsafe) var fires = 0
                let inner = Foundation.Timer.scheduledTimer(withTimeInterval: 0.01, repeats: true) { _ in
                    fires += 1
                    if fires == 10 { g_main_loop_quit(nested) }
                }
                g_main_loop_run(nested)
                inner.invalidate()
                done(fires)
            }
        }
        return Outcome(fires == 10, "\(fires ?? 0) fires of a timer in a GLib loop in a timer")
    }

    static func nestedAll() -> Outcome {
        let trace: [String]? = onMain { done in
            nonisolated(unsafe) var trace: [String] = []
            RunLoop.main.perform {
                trace.append("Foundation")
                inGLib {
                    trace.append("GLib")
                    nonisolated(unsafe) let nested = g_main_loop_new(nil, 0)
                    RunLoop.main.perform {
                        trace.append("Foundation in GLib")
                        let source = GRunLoop.Source { trace.append("ours in all") }
                        GRunLoop.main.add(source, forMode: .default)
                        source.signal()
                        // A pass may end early, with the slice of earlier passes.
                        while trace.last == "Foundation in GLib" {
                            GRunLoop.main.run(mode: .default, for: .milliseconds(10))
                        }
                        source.invalidate()
                        g_main_loop_quit(nested)
                    }
                    g_main_loop_run(nested)
                    trace.append("out")
                }
                RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.1))
                done(trace)
            }
        }
        let expected = ["Foundation", "GLib", "Foundation in GLib", "ours in all", "out"]
        return Outcome(trace == expected, "\(trace ?? [])")
    }

    // MARK: Modes

    static func ambientMode() -> Outcome {
        let counts: [Int]? = onMain { done in
            nonisolated(unsafe) var (default_, common, tracking) = (0, 0, 0)
            try? GRunLoop.main.addCommonMode(.tracking)
            func timer(_ mode: RunLoop.Mode, _ body: @escaping @Sendable () -> Void) -> Foundation.Timer {
                let timer = Foundation.Timer(fire: Date(), interval: 0.01, repeats: true) { _ in body() }
                RunLoop.main.add(timer, forMode: mode)
                return timer
            }
            nonisolated(unsafe) let timers = [
                timer(.default) { default_ += 1 }, timer(.common) { common += 1 },
                timer(RunLoop.Mode(.tracking)) { tracking += 1 },
            ]
            let token = try? GRunLoop.main.push(ambientMode: .tracking)
            nonisolated(unsafe) var performed = 0
            RunLoop.main.perform { performed += 1 }
            nonisolated(unsafe) let nested = g_main_loop_new(nil, 0)
            inGLib(after: 205) { g_main_loop_quit(nested) }
            g_main_loop_run(nested)
            let during = [default_, performed, common, tracking]
            token?.pop()
            inGLib(after: 50) {
                timers.forEach { $0.invalidate() }
                done(during + [default_, performed])
            }
        }
        guard let counts else { return Outcome(false, "never") }
        let comes =
            counts[0] == 0 && counts[1] == 0 && counts[2] > 0 && counts[3] > 0 && counts[4] > 0 && counts[5] == 1
        return Outcome(
            comes && counts[2] > 10 && counts[3] > 10, orLate: comes,
            "default \(counts[0]), common \(counts[2]), tracking \(counts[3]); afterwards default \(counts[4])")
    }

    static func privateMode() -> Outcome {
        let fires: Int? = onMain { done in
            nonisolated(unsafe) var fires = 0
            let mode = RunLoop.Mode(rawValue: "of the check")
            RunLoop.main.perform(inModes: [mode]) { fires += 1 }
            let timer = Foundation.Timer(fire: Date(timeIntervalSinceNow: 0.01), interval: 0, repeats: false) { _ in
                fires += 1
            }
            RunLoop.main.add(timer, forMode: mode)
            GRunLoop.main.run(mode: GRunLoop.Mode(mode), for: .milliseconds(50))
            done(fires)
        }
        return Outcome(fires == 2, "\(fires ?? 0) of a block and a timer, in our run of the mode")
    }

    // MARK: Fairness, and what is ignored

    static func busy() -> Outcome {
        let counts: [Int]? = onMain { done in
            let ticks = GLibTicks(milliseconds: 10)
            nonisolated(unsafe) var (over, performs) = (false, 0)
            @Sendable func again() {
                performs += 1
                if !over { RunLoop.main.perform { again() } }
            }
            RunLoop.main.perform { again() }
            inGLib(after: 300) {
                over = true
                done([ticks.end(), performs])
            }
        }
        guard let counts else { return Outcome(false, "GLib starved") }
        let figure = "GLib's timer of 10 ms in 300: \(counts[0]); \(counts[1]) blocks"
        return counts[0] >= 20 ? .holds(figure) : counts[0] >= 3 ? .late(figure) : .fails(figure)
    }

    /// Makes wake-ups that Core Foundation ignores: in a block of a pass that is about to end.
    static func window() -> Outcome {
        var lost = 0
        var worst = 0.0
        for round in 0..<5_000 {
            let arrived = DispatchSemaphore(value: 0)
            RunLoop.main.perform {
                RunLoop.main.perform {
                    let end = milliseconds() + Double(round % 40) / 1000
                    while milliseconds() < end {}
                }
            }
            let pause = milliseconds() + Double(round % 61) / 1000
            while milliseconds() < pause {}
            let start = milliseconds()
            RunLoop.main.perform { arrived.signal() }
            if arrived.wait(timeout: .now() + 2) != .success { lost += 1 }
            worst = max(worst, milliseconds() - start)
        }
        return Outcome(lost == 0, String(format: "5000, lost %d, the latest after %.3f ms", lost, worst))
    }
}

private final class Token: @unchecked Sendable {
    var value: (any NSObjectProtocol)?
}

/// A GLib timeout on the main thread.
final class GLibTicks: @unchecked Sendable {
    private var count = 0
    private var id: UInt32 = 0

    init(milliseconds: UInt32) {
        id = g_timeout_add(
            milliseconds,
            {
                object($0, GLibTicks.self).count += 1
                return 1
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    func end() -> Int {
        g_source_remove(id)
        return count
    }
}
