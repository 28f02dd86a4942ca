// SPDX-License-Identifier: Apache-2.0
// Work that has to arrive while one loop drives inside another.

import CGRunGIO
import CoreFoundation
import Foundation
import GRunLoop
import GRunLoopFoundation
import Glibc
import Synchronization

extension Rows {
    static let ofDriving: [Row] = [
        Row(name: "common-before-serve", check: commonBeforeServe),
        Row(name: "perform-in-dialog", check: performInDialog), Row(name: "wake-up-in-dialog", check: wakeUpInDialog),
        Row(name: "observer-performs", check: observerPerforms), Row(name: "stop-in-dialog", check: stopInDialog),
        Row(name: "stops-in-dialog", check: stopsInDialog), Row(name: "is-waiting", check: isWaiting),
        Row(name: "last-observer", check: lastObserver),
        Row(name: "serve-again-in-wait", check: serveAgainInWait), Row(name: "end-in-turn", check: endInTurn),
        Row(name: "mode-without-name", check: modeWithoutName), Row(name: "tokens-kept", check: tokensKept),
        Row(name: "thread-exits-in-wait", check: threadExitsInWait),
    ]

    /// Made common before the loop is served.
    static let earlyMode = RunLoop.Mode(rawValue: "common before it was served")

    private static func commonBeforeServe() -> Outcome {
        allServed(onMain { done in done(shared(earlyMode)) })
    }

    // MARK: A GLib loop in a callout of Foundation's run

    /// Runs a GLib loop until `quit` is called, for a second at most. Returns the time in milliseconds.
    private static func dialog(_ begin: (_ quit: @escaping @Sendable () -> Void) -> Void) -> Double {
        nonisolated(unsafe) let nested = g_main_loop_new(nil, 0)
        let start = milliseconds()
        begin { g_main_loop_quit(nested) }
        inGLib(after: 1000) { g_main_loop_quit(nested) }
        g_main_loop_run(nested)
        // The GLib loop is never released, because its timeout comes after the end.
        return milliseconds() - start
    }

    /// Calls `body` in a block of a Foundation run, which lasts two seconds at most.
    private static func inRun(_ body: @escaping @Sendable () -> Double) -> Double? {
        onMain { done in
            nonisolated(unsafe) var took = Double.infinity
            let far = farTimer(in: .default)
            RunLoop.main.perform {
                took = body()
                CFRunLoopStop(CFRunLoopGetMain())
            }
            _ = run(.default, for: 2)
            far.invalidate()
            done(took)
        }
    }

    private static func soon(_ took: Double?) -> Outcome {
        guard let took else { return .fails("never") }
        let figure = String(format: "after %.1f ms", took)
        return took < 100 ? .holds(figure) : took < 900 ? .late(figure) : .fails(figure)
    }

    private static func performInDialog() -> Outcome {
        soon(inRun { dialog { quit in inGLib(after: 10) { RunLoop.main.perform { quit() } } } })
    }

    /// Another thread signals a version-0 source during a dialog, in a block that was enqueued during a wait.
    private static func wakeUpInDialog() -> Outcome {
        let source = MainSource()
        defer { source.invalidate() }
        let took: Double? = onMain { done in
            nonisolated(unsafe) var took = Double.infinity
            let far = farTimer(in: .default)
            DispatchQueue.global().asyncAfter(deadline: .now() + 0.02) {
                RunLoop.main.perform {
                    took = dialog { quit in
                        source.call(quit)
                        DispatchQueue.global().asyncAfter(deadline: .now() + 0.02) {
                            source.signal()
                            source.wakeLoop()
                        }
                    }
                    CFRunLoopStop(CFRunLoopGetMain())
                }
            }
            _ = run(.default, for: 2)
            far.invalidate()
            done(took)
        }
        return soon(took)
    }

    /// A stop in a pass of the dialog's loop is meant for the run around the dialog.
    private static func stopInDialog() -> Outcome {
        let ends: [Double]? = onMain { done in
            let far = farTimer(in: .default)
            let start = milliseconds()
            RunLoop.main.perform {
                let timer = Foundation.Timer(fire: Date(timeIntervalSinceNow: 0.02), interval: 0, repeats: false) { _ in
                    CFRunLoopStop(CFRunLoopGetMain())
                }
                RunLoop.main.add(timer, forMode: .default)
                _ = dialog { quit in inGLib(after: 60) { quit() } }
            }
            let result = run(.default, for: 2)
            far.invalidate()
            done([milliseconds() - start, Double(result.rawValue)])
        }
        guard let ends else { return .fails("never") }
        let figure = String(format: "ended by %.0f after %.1f ms", ends[1], ends[0])
        guard ends[1] == Double(CFRunLoopRunResult.stopped.rawValue), ends[0] > 59 else { return .fails(figure) }
        return ends[0] < 120 ? .holds(figure) : ends[0] < 1000 ? .late(figure) : .fails(figure)
    }

    /// Another thread stops the run around a dialog, at any point of the passes that the dialog's loop makes.
    private static func stopsInDialog() -> Outcome {
        let isOver = Atomic(false)
        let stormed = DispatchSemaphore(value: 0)
        nonisolated(unsafe) let loop = CFRunLoopGetMain()
        DispatchQueue.global().async {
            while !isOver.load(ordering: .relaxed) {
                RunLoop.main.perform {}
                CFRunLoopWakeUp(loop)
                usleep(30)
            }
            stormed.signal()
        }
        let stopped: Int? = onMain(within: 30) { done in
            nonisolated(unsafe) let far = farTimer(in: .default)
            nonisolated(unsafe) var stopped = 0
            for round in 0..<200 {
                RunLoop.main.perform {
                    DispatchQueue.global().async {
                        usleep(UInt32(round * 17 % 2000))
                        CFRunLoopStop(loop)
                    }
                    nonisolated(unsafe) let nested = g_main_loop_new(nil, 0)
                    inGLib(after: 3) { g_main_loop_quit(nested) }
                    g_main_loop_run(nested)
                }
                if run(.default, for: 1) == .stopped { stopped += 1 }
            }
            far.invalidate()
            done(stopped)
        }
        isOver.store(true, ordering: .relaxed)
        stormed.wait()
        guard let stopped else { return .fails("never") }
        return Outcome(stopped == 200, "\(stopped) of 200 runs stopped")
    }

    // MARK: What Core Foundation reports and does before it sleeps

    /// Another thread wakes the loop only if it waits.
    private static func isWaiting() -> Outcome {
        let count = Atomic(0)
        let source = MainSource { count.add(1, ordering: .relaxed) }
        defer { source.invalidate() }
        DispatchQueue.global().asyncAfter(deadline: .now() + 0.02) {
            for _ in 0..<20 {
                source.signal()
                if source.isLoopWaiting { source.wakeLoop() }
                usleep(10_000)
            }
        }
        let _: Bool? = onMain { done in
            _ = run(.default, for: 0.3)
            done(true)
        }
        let called = count.load(ordering: .relaxed)
        return Outcome(called >= 15, orLate: called > 0, "\(called) of 20 signals")
    }

    /// An observer with the last order before the sleep, which was added after GRunLoop's own observer.
    private static func lastObserver() -> Outcome {
        let took: Double? = onMain { done in
            nonisolated(unsafe) var first = Double.infinity
            let start = milliseconds()
            let before = CFRunLoopActivity.beforeWaiting.rawValue
            let observer = CFRunLoopObserverCreateWithHandler(nil, before, true, .max) { _, _ in
                first = min(first, milliseconds() - start)
            }
            CFRunLoopAddObserver(CFRunLoopGetMain(), observer, kCFRunLoopDefaultMode)
            let far = farTimer(in: .default)
            _ = run(.default, for: 0.3)
            far.invalidate()
            CFRunLoopObserverInvalidate(observer)
            done(first)
        }
        return soon(took)
    }

    // MARK: No spinning

    /// An observer enqueues a block in each pass. The block must run in that pass.
    private static func observerPerforms() -> Outcome {
        nonisolated(unsafe) var blocks = 0
        let before = CFRunLoopActivity.beforeTimers.rawValue
        nonisolated(unsafe) let observer = CFRunLoopObserverCreateWithHandler(nil, before, true, 0) { _, _ in
            RunLoop.main.perform { blocks += 1 }
        }
        let used: Double? = onMain { done in
            CFRunLoopAddObserver(CFRunLoopGetMain(), observer, kCFRunLoopDefaultMode)
            RunLoop.main.perform {}
            DispatchQueue.global().asyncAfter(deadline: .now() + 0.03) {
                let start = MainThread.processorTime()
                usleep(200_000)
                done(MainThread.processorTime() - start)
            }
        }
        let _: Bool? = onMain { done in
            CFRunLoopObserverInvalidate(observer)
            done(true)
        }
        guard let used else { return .fails("never") }
        return Outcome(
            used < MainThread.idleLimit && blocks > 0, String(format: "%d blocks, %.1f ms of 200", blocks, used))
    }

    // MARK: Ends and beginnings in a wait

    /// In a wait, a timer of GRunLoop ends the serving and restarts it. GLib must be served for the rest of the run.
    private static func serveAgainInWait() -> Outcome {
        let ticks: Int? = onWorker { context in
            nonisolated(unsafe) var (serving, ticks) = (try? GRunLoop.current.serve(.current), 0)
            let far = farTimer(in: .default)
            let timer = GRunLoop.Timer(interval: .milliseconds(20), repeats: false) { _ in
                serving?.cancel()
                serving = try? GRunLoop.current.serve(.current)
            }
            GRunLoop.current.add(timer, forMode: .default)
            for step in 1...10 { inGLib(of: context, after: UInt32(20 + 10 * step)) { ticks += 1 } }
            let result = run(.default, for: 0.2)
            serving?.cancel()
            far.invalidate()
            return result == .timedOut ? ticks : -1
        }
        return Outcome(ticks == 10, orLate: (ticks ?? 0) > 0, "\(ticks ?? -1) callbacks of GLib's, of 10")
    }

    /// A GLib callback ends the serving, and lasts until after the run's limit. Nothing may be left in the mode.
    private static func endInTurn() -> Outcome {
        let results: [CFRunLoopRunResult]? = onWorker { context in
            guard let serving = try? GRunLoop.current.serve(.current) else { return nil }
            let far = farTimer(in: .default)
            inGLib(of: context, after: 20) {
                let end = milliseconds() + 60
                while milliseconds() < end {}
                serving.cancel()
            }
            let first = run(.default, for: 0.05)
            far.invalidate()
            return [first, run(.default, for: 0)]
        }
        guard let results else { return .fails("never returned") }
        return Outcome(
            results == [.timedOut, .finished],
            "the run: \(results[0].rawValue), one of the empty mode: \(results[1].rawValue), of 3 and 1")
    }

    // MARK: Names, tokens, threads

    private static func modeWithoutName() -> Outcome {
        let fires: Int? = onMain { done in
            nonisolated(unsafe) var fires = 0
            let timer = Foundation.Timer(fire: Date(), interval: 0, repeats: false) { _ in fires += 1 }
            RunLoop.main.add(timer, forMode: RunLoop.Mode(rawValue: ""))
            _ = run(RunLoop.Mode(rawValue: ""), for: 0.05)
            done(fires)
        }
        return Outcome(fires == 1, "\(fires ?? 0) fires in Foundation's own run of it")
    }

    /// Tokens that outlive their threads must not keep descriptors of these threads.
    private static func tokensKept() -> Outcome {
        let before = descriptorCount()
        let tokens = (0..<20).map { _ in
            onWorker { _ -> GRunLoop.Serving? in
                let serving = try? GRunLoop.current.serve(.current)
                GRunLoop.current.run(for: .zero)
                return serving
            }
        }
        usleep(300_000)
        let after = descriptorCount()
        let serving = tokens.count { $0?.isServing != false }
        return Outcome(
            after <= before + 3 && serving == 0, "20 tokens, descriptors \(before) and then \(after)")
    }

    /// Core Foundation leaves descriptors behind if a thread ends inside a run. Serving must not add more.
    private static func threadExitsInWait() -> Outcome {
        let (alone, served) = (descriptorsOfExits(served: false), descriptorsOfExits(served: true))
        guard let alone, let served else { return .fails("it did not end") }
        return Outcome(served <= alone + 3, "20 threads leave \(served) descriptors, not served \(alone)")
    }

    private static func descriptorsOfExits(served: Bool) -> Int? {
        let before = descriptorCount()
        for _ in 0..<20 {
            let ended = DispatchSemaphore(value: 0)
            Foundation.Thread {
                let serving = served ? try? GRunLoop.current.serve(.current) : nil
                let timer = Foundation.Timer(fire: Date(), interval: 0, repeats: false) { _ in
                    ended.signal()
                    Foundation.Thread.exit()
                }
                RunLoop.current.add(timer, forMode: .default)
                let ours = GRunLoop.Timer(interval: .milliseconds(1), repeats: false) { _ in
                    ended.signal()
                    Foundation.Thread.exit()
                }
                if served {
                    timer.fireDate = .distantFuture
                    GRunLoop.current.add(ours, forMode: .default)
                }
                withExtendedLifetime(serving) { _ = run(.default, for: 1) }
            }.start()
            guard ended.wait(timeout: .now() + 5) == .success else { return nil }
        }
        usleep(300_000)
        return descriptorCount() - before
    }
}
