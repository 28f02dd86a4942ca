// SPDX-License-Identifier: Apache-2.0
// The cost of serving Foundation's run loop while it has nothing to do, for callgrind, and the cost of one of its
// blocks beside that in a plain run.

import CGRunGIO
import CoreFoundation
import Foundation
import GRunLoop
import GRunLoopFoundation
import Glibc
import Synchronization

enum Costs {
    /// `costs CASE served|alone COUNT`: makes COUNT operations that do not concern Foundation.
    static func run(_ arguments: [String]) -> Never {
        guard arguments.count == 3, let count = Int(arguments[2]) else {
            print("usage: grun-foundation-check costs pass|iteration|first-descriptor|block served|alone COUNT")
            exit(2)
        }
        let loop = GRunLoop.main
        let serving = arguments[1] == "served" ? try? loop.serve(RunLoop.main) : nil
        if arguments[1] == "served", serving == nil { exit(1) }
        let source = GRunLoop.Source {}
        loop.add(source, forMode: .default)
        // A loop's first descriptor adds one to the host's poll. Foundation's descriptor may be that one.
        if arguments[0] != "first-descriptor" {
            var pipe: [Int32] = [0, 0]
            Glibc.pipe(&pipe)
            try? loop.add(GRunLoop.DescriptorSource(descriptor: pipe[0]) { _, _ in }, forMode: .default)
        }
        switch arguments[0] {
        case "pass":
            for _ in 0..<count {
                source.signal()
                _ = loop.run(mode: .default, for: .zero)
            }
        case "iteration", "first-descriptor":
            for _ in 0..<count { g_main_context_iteration(nil, 0) }
        default:
            chain(count, on: loop)
            _ = loop.run(mode: .default, for: .seconds(600))
        }
        withExtendedLifetime(serving) { exit(0) }
    }

    /// Each block enqueues the next one.
    private static func chain(_ left: Int, on loop: GRunLoop) {
        loop.async { left == 0 ? loop.stop() : chain(left - 1, on: loop) }
    }

    // MARK: A block of Foundation's from another thread

    private struct Target: @unchecked Sendable {
        let runLoop: RunLoop
        let loop: CFRunLoop

        func perform(wakes: Bool, _ body: @escaping @Sendable () -> Void) {
            runLoop.perform(body)
            if wakes { CFRunLoopWakeUp(loop) }
        }
    }

    private final class Runner: Sendable {
        let begin = DispatchSemaphore(value: 0)
        let ready = DispatchSemaphore(value: 0)
        let done = DispatchSemaphore(value: 0)
        let isOver = Atomic(false)
        let target = Mutex<Target?>(nil)

        init(_ run: @escaping @Sendable (Runner) -> Void) {
            Foundation.Thread { [self] in
                // The timer keeps the mode from being empty, so the run does not return.
                RunLoop.current.add(
                    Foundation.Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }, forMode: .default)
                target.withLock { $0 = Target(runLoop: .current, loop: CFRunLoopGetCurrent()) }
                while true {
                    begin.wait()
                    isOver.store(false, ordering: .relaxed)
                    run(self)
                    done.signal()
                }
            }.start()
        }

        /// Returns the median round trip in microseconds.
        func measure(wakes: Bool) -> Double {
            begin.signal()
            ready.wait()
            guard let target = target.withLock({ $0 }) else { return .infinity }
            let delays = (0..<300).map { _ in
                let arrived = DispatchSemaphore(value: 0)
                let start = milliseconds()
                target.perform(wakes: wakes) { arrived.signal() }
                arrived.wait()
                return (milliseconds() - start) * 1000
            }
            target.perform(wakes: wakes) { [self] in
                isOver.store(true, ordering: .relaxed)
                CFRunLoopStop(CFRunLoopGetCurrent())
                GRunLoop.current.stop()
            }
            done.wait()
            return delays.sorted()[delays.count / 2]
        }
    }

    /// Compares a perform on a served thread, in a run of GRunLoop, with one on a thread that only Foundation runs,
    /// where it also needs a wake-up.
    static func perform() -> Outcome {
        let served = Runner { runner in
            guard let serving = try? GRunLoop.current.serve(RunLoop.current) else { return }
            runner.ready.signal()
            while !runner.isOver.load(ordering: .relaxed) {
                _ = GRunLoop.current.run(mode: .default, for: .seconds(1))
            }
            serving.cancel()
        }
        let alone = Runner { runner in
            runner.ready.signal()
            while !runner.isOver.load(ordering: .relaxed) { CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1, false) }
        }
        _ = (served.measure(wakes: false), alone.measure(wakes: true))
        let pairs = (0..<11).map { _ in (served.measure(wakes: false), alone.measure(wakes: true)) }
        let ratios = pairs.map { $0.0 / $0.1 }.sorted()
        let figure = String(
            format: "%.1f us, %.1f in a plain run of Core Foundation's; median of the ratio %.2f",
            pairs.map(\.0).sorted()[5], pairs.map(\.1).sorted()[5], ratios[5])
        return ratios[5] <= 1.5 ? .holds(figure) : .late(figure)
    }
}
