// SPDX-License-Identifier: Apache-2.0
// Scenario stall: a callout that blocks the loop is reported, with the item's label and the function at fault.

import GRunLoop
import GRunLoopDiagnostics
import Glibc

/// The main loop draws frames every 16 ms, sends questions to a worker, and tracks a drag in a separate mode. One
/// timer's closure takes 300 ms (items 275 and 276). To draw a timeline of this scenario, run `gloop-demo run stall
/// --timeline run.html`.
enum Stall {
    static let scenario = Scenario(
        "stall", "A timer that takes 300 ms is reported while it runs; --timeline draws it.",
        expected: """
            monitor | a timer "autosave" does not return, in saveEverything
            monitor | a timer "autosave" has returned
            main    | frames in the tracking mode: yes
            main    | the worker has answered: yes
            """, body: run)

    private static func run(_ log: Recorder) throws {
        let loop = GRunLoop.main
        let tracking: GRunLoop.Mode = "demo.stall.tracking"
        let monitor = try GRunLoop.StallMonitor(loop, threshold: .milliseconds(150)) { report in
            guard report.callout == .timer, let label = report.label else { return }
            let place = report.frames.contains { $0.description.contains("saveEverything") }
            let what = report.isOver ? "has returned" : "does not return, in " + (place ? "saveEverything" : "?")
            log.line("monitor", "a timer \"\(label)\" \(what)")
        }
        let frames = Shared(0)
        let frame = timer("frame", every: .milliseconds(16)) {
            frames.increment()
            keepBusy(for: .milliseconds(3))
        }
        for mode in [.default, tracking] { loop.add(frame, forMode: mode) }
        let worker = Worker(asking: loop)
        let poll = timer("poll the worker", every: .milliseconds(45)) {
            worker.ask()
            keepBusy(for: .milliseconds(5))
        }
        let autosave = timer("autosave", every: nil) { saveEverything() }
        let tracked = Shared(0)
        let drag = timer("drag", every: nil) {
            let before = frames.value
            loop.run(mode: tracking, for: .milliseconds(80))
            tracked.value = frames.value - before
        }
        let all = [(poll, 10), (autosave, 120), (drag, 450)]
        for (timer, delay) in all {
            timer.fireDate = GRunLoop.now.advanced(by: .milliseconds(delay))
            loop.add(timer, forMode: .default)
        }
        loop.run(for: .milliseconds(600))
        for timer in [frame] + all.map(\.0) { timer.invalidate() }
        worker.end()
        monitor.stop()
        log.line("main", "frames in the tracking mode: \(tracked.value > 0 ? "yes" : "no")")
        log.line("main", "the worker has answered: \(worker.answers.value > 0 ? "yes" : "no")")
    }

    /// Makes a timer with a label. If the interval is nil, the timer fires once.
    private static func timer(
        _ label: String, every interval: Duration?, _ body: @escaping @Sendable () -> Void
    ) -> GRunLoop.Timer {
        let timer = GRunLoop.Timer(interval: interval ?? .zero, repeats: interval != nil) { _ in body() }
        timer.label = label
        return timer
    }

    /// A worker with its own loop on another thread. The worker sends its answers to the main loop.
    private final class Worker: Sendable {
        let answers = Shared(0)
        private let thread: LoopThread
        private let source: GRunLoop.Source

        init(asking loop: GRunLoop) {
            source = GRunLoop.Source { [answers] in
                keepBusy(for: .milliseconds(8))
                loop.async { answers.increment() }
            }
            source.label = "a question"
            thread = LoopThread { [source] loop in
                loop.add(source, forMode: .default)
                loop.run()
            }
            let own = thread.loop
            _ = wait { own.isWaiting }
        }

        func ask() {
            source.signal()
            thread.loop.wakeUp()
        }

        func end() {
            source.invalidate()
            thread.join()
        }
    }
}

/// This function makes its calls in a loop. If it made one call at its end, that tail call would remove the function
/// from the stack, and the report could not name it.
@inline(never) private func saveEverything() { for _ in 0..<10 { keepBusy(for: .milliseconds(30)) } }

private func keepBusy(for span: Duration) { linger(until: GRunLoop.now.advanced(by: span)) }
