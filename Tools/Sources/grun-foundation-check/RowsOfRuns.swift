// SPDX-License-Identifier: Apache-2.0
// Properties of runs that begin before the serving or continue after it, nest, end, or are forked. No run may spin.

import CGRunGIO
import CoreFoundation
import Foundation
import GRunLoop
import GRunLoopFoundation
import Glibc
import Synchronization

extension Rows {
    static let ofRuns: [Row] = [
        Row(name: "timer-cancelled", check: timerCancelled), Row(name: "items-for-later", check: itemsForLater),
        Row(name: "signal-alone", check: signalAlone), Row(name: "main-actor", check: mainActor),
        Row(name: "private-mode-long", check: privateModeLong),
        Row(name: "notification-in-mode", check: notificationInMode),
        Row(name: "late-mode", check: lateMode), Row(name: "late-common-mode", check: lateCommonMode),
        Row(name: "nested-limits", check: { nestedLimits([300, 150, 50]) }),
        Row(name: "nested-limits-passed", check: { nestedLimits([100, 150, 200]) }),
        Row(name: "limit-in-turn", check: limitInTurn),
        Row(name: "end-in-wait", check: { endInWait(elsewhere: false) }),
        Row(name: "end-in-wait-elsewhere", check: { endInWait(elsewhere: true) }),
        Row(name: "serve-in-self-check", check: serveInSelfCheck),
        Row(name: "run-before-serve", check: runBeforeServe),
        Row(name: "run-until-before-serve", check: runUntilBeforeServe), Row(name: "fork", check: forkedChild),
        Row(name: "loaded-later", check: loadedLater), Row(name: "loaded-again", check: loadedAgain),
    ]

    private static let names = Atomic(0)

    /// Returns a mode that Core Foundation does not know yet.
    static func newMode() -> RunLoop.Mode {
        RunLoop.Mode(rawValue: "of the check \(names.add(1, ordering: .relaxed).newValue)")
    }

    static func run(_ mode: RunLoop.Mode, for seconds: Double) -> CFRunLoopRunResult {
        guard mode != .default else { return CFRunLoopRunInMode(kCFRunLoopDefaultMode, seconds, false) }
        return CFRunLoopRunInMode(name(of: mode), seconds, false)
    }

    static func name(of mode: RunLoop.Mode) -> CFString {
        CFStringCreateWithCString(nil, mode.rawValue, CFStringBuiltInEncodings.UTF8.rawValue)
    }

    /// A timer that keeps a mode of Core Foundation from being finished.
    static func farTimer(in mode: RunLoop.Mode) -> Foundation.Timer {
        let timer = Foundation.Timer(fire: Date(timeIntervalSinceNow: 3600), interval: 0, repeats: false) { _ in }
        RunLoop.current.add(timer, forMode: mode)
        return timer
    }

    // MARK: No spinning

    /// The only timer of a mode is cancelled before it fires.
    static func timerCancelled() -> Outcome {
        let used: [Double]? = onMain { done in
            let mode = newMode()
            func cancel(in mode: RunLoop.Mode) {
                let timer = Foundation.Timer(fire: Date(timeIntervalSinceNow: 0.02), interval: 0, repeats: false) { _ in
                }
                RunLoop.main.add(timer, forMode: mode)
                // By now the timer is armed, in a mode that GRunLoop watches.
                GRunLoop.main.run(mode: GRunLoop.Mode(mode), for: .zero)
                timer.invalidate()
            }
            cancel(in: mode)
            let before = MainThread.processorTime()
            GRunLoop.main.run(mode: GRunLoop.Mode(mode), for: .milliseconds(200))
            let ofPrivate = MainThread.processorTime() - before
            cancel(in: .default)
            DispatchQueue.global().asyncAfter(deadline: .now() + 0.03) {
                let before = MainThread.processorTime()
                usleep(200_000)
                done([ofPrivate, MainThread.processorTime() - before])
            }
        }
        guard let used else { return .fails("never") }
        let figure = String(format: "%.1f ms of 200 in a private mode, %.1f in default", used[0], used[1])
        return Outcome(used.allSatisfy { $0 < MainThread.idleLimit }, figure)
    }

    /// A due timer, a block, a signalled source and wake-ups in a mode that no code runs.
    static func itemsForLater() -> Outcome {
        let fired = Atomic(0)
        let done: Bool? = onMain { done in
            let mode = newMode()
            let timer = Foundation.Timer(fire: Date(), interval: 0.01, repeats: true) { _ in
                fired.add(1, ordering: .relaxed)
            }
            RunLoop.main.add(timer, forMode: mode)
            RunLoop.main.perform(inModes: [mode]) { fired.add(1, ordering: .relaxed) }
            var context = CFRunLoopSourceContext()
            context.perform = { _ in }
            let source = CFRunLoopSourceCreate(nil, 0, &context)
            CFRunLoopAddSource(CFRunLoopGetMain(), source, name(of: mode))
            CFRunLoopSourceSignal(source)
            CFRunLoopWakeUp(CFRunLoopGetMain())
            done(true)
        }
        usleep(50_000)
        let count = fired.load(ordering: .relaxed)
        return Outcome(done == true && count == 0, "called \(count) of them")
    }

    // MARK: Signals

    /// A source is signalled on the loop's own thread in a GLib callback, without a wake-up.
    static func signalAlone() -> Outcome { signalled(100) { source in inGLib { source.signal() } } }

    // MARK: Objects that are loaded later

    private typealias WakeUp = @convention(c) (CFRunLoop) -> Void

    /// Loads an object that calls CFRunLoopWakeUp itself. Returns nil if LOADED_LATER names none.
    private static func load() -> (library: UnsafeMutableRawPointer, wakeUp: WakeUp)? {
        guard let path = ProcessInfo.processInfo.environment["LOADED_LATER"] else { return nil }
        guard let library = dlopen(path, RTLD_LAZY), let symbol = dlsym(library, "wake_up") else {
            fail("\(path) cannot be loaded")
        }
        return (library, unsafeBitCast(symbol, to: WakeUp.self))
    }

    /// The object's wake-ups are noticed after the next time that Foundation's loop is served.
    static func loadedLater() -> Outcome {
        guard let (library, wakeUp) = load() else { return .holds("not tried: LOADED_LATER names no object") }
        defer { dlclose(library) }
        let before = perform()
        guard before.holds else { return before }
        return signalled(100) { source in
            source.signal()
            source.wakeLoop(by: wakeUp)
        }
    }

    /// A thread loads and unloads an object repeatedly, and calls it, while the loop is served. The object's slots are
    /// set after the dynamic linker has set them.
    static func loadedAgain() -> Outcome {
        let isOver = Atomic(false)
        let rounds = Atomic(0)
        let ended = DispatchSemaphore(value: 0)
        Foundation.Thread {
            while !isOver.load(ordering: .relaxed), let (library, wakeUp) = load() {
                CFRunLoopGetMain().map { wakeUp($0) }
                dlclose(library)
                rounds.add(1, ordering: .relaxed)
            }
            ended.signal()
        }.start()
        let outcome = measured(2000) { done in RunLoop.main.perform { done() } }
        isOver.store(true, ordering: .relaxed)
        ended.wait()
        let figure = outcome.figure + "; loaded \(rounds.load(ordering: .relaxed)) times"
        // Both threads compete for a processor.
        return outcome.isLate ? .holds(figure) : Outcome(outcome.holds, figure)
    }

    // MARK: Modes that come later

    struct Counts: Sendable {
        var took = 0.0, glib = 0, ours = 0, queued = 0
        var figure: String {
            String(format: "%.0f ms; GLib %d, ours %d, queue %d", took, glib, ours, queued)
        }
    }

    /// Foundation runs a mode for 300 ms. GLib, a timer of GRunLoop in that mode and the main queue share the run.
    static func shared(_ mode: RunLoop.Mode) -> Counts {
        nonisolated(unsafe) var (ours, queued) = (0, 0)
        let ticks = GLibTicks(milliseconds: 10)
        let timer = GRunLoop.Timer(interval: .milliseconds(10), repeats: true) { _ in ours += 1 }
        GRunLoop.main.add(timer, forMode: GRunLoop.Mode(mode))
        let far = farTimer(in: mode)
        DispatchQueue.global().async {
            for _ in 0..<20 {
                usleep(10_000)
                DispatchQueue.main.async { queued += 1 }
            }
        }
        let start = milliseconds()
        let end = Date(timeIntervalSinceNow: 0.3)
        while Date() < end { _ = RunLoop.main.run(mode: mode, before: end) }
        let took = milliseconds() - start
        timer.invalidate()
        far.invalidate()
        return Counts(took: took, glib: ticks.end(), ours: ours, queued: queued)
    }

    /// In a run of a private mode, everything else waits.
    static func lateMode() -> Outcome {
        guard let counts: Counts = onMain({ done in done(shared(newMode())) }) else { return .fails("never returned") }
        guard counts.ours > 0, counts.took >= 299 else { return .fails(counts.figure) }
        return counts.ours >= 15 && counts.took < 330 ? .holds(counts.figure) : .late(counts.figure)
    }

    static func lateCommonMode() -> Outcome {
        allServed(
            onMain { done in
                let mode = newMode()
                CFRunLoopAddCommonMode(CFRunLoopGetMain(), name(of: mode))
                done(shared(mode))
            })
    }

    static func allServed(_ counts: Counts?) -> Outcome {
        guard let counts else { return .fails("never returned") }
        let served = [counts.ours, counts.glib, counts.queued]
        guard served.allSatisfy({ $0 > 0 }), counts.took >= 299 else { return .fails(counts.figure) }
        return served.allSatisfy { $0 >= 15 } && counts.took < 330 ? .holds(counts.figure) : .late(counts.figure)
    }

    /// A name of 2,000 bytes.
    static func privateModeLong() -> Outcome {
        let calls: Int? = onMain { done in
            nonisolated(unsafe) var calls = 0
            let mode = RunLoop.Mode(rawValue: newMode().rawValue + String(repeating: "m", count: 2000))
            RunLoop.main.perform(inModes: [mode]) { calls += 1 }
            RunLoop.main.add(
                Foundation.Timer(fire: Date(), interval: 0, repeats: false) { _ in calls += 1 }, forMode: mode)
            GRunLoop.main.run(mode: GRunLoop.Mode(mode), for: .milliseconds(50))
            done(calls)
        }
        return Outcome(calls == 2, "\(calls ?? 0) of a block and a timer, in our run of the mode")
    }

    /// A notification waits for the idle time of a common mode, while another one waits for the default mode.
    static func notificationInMode() -> Outcome {
        let (inDefault, inMode) = (Notification.Name("in default"), Notification.Name("in a mode"))
        let posted = Mutex<[String]>([])
        let tokens = [inDefault, inMode].map {
            NotificationCenter.default.addObserver(forName: $0, object: nil, queue: nil) { notification in
                posted.withLock { $0.append(notification.name.rawValue) }
            }
        }
        defer { tokens.forEach { NotificationCenter.default.removeObserver($0) } }
        let seen: [[String]]? = onMain { done in
            let mode = newMode()
            // Foundation observes the default mode and the common ones.
            CFRunLoopAddCommonMode(CFRunLoopGetMain(), name(of: mode))
            let queue = NotificationQueue.default
            queue.enqueue(Notification(name: inMode), postingStyle: .whenIdle, coalesceMask: [], forModes: [mode])
            queue.enqueue(
                Notification(name: inDefault), postingStyle: .whenIdle, coalesceMask: [], forModes: [.default])
            inGLib(after: 30) {
                let before = posted.withLock { $0 }
                GRunLoop.main.run(mode: GRunLoop.Mode(mode), for: .milliseconds(50))
                done([before, posted.withLock { $0 }])
            }
        }
        return Outcome(seen == [["in default"], ["in default", "in a mode"]], "\(seen ?? [])")
    }

    /// A task of the main actor continues in a run of Foundation's loop.
    static func mainActor() -> Outcome {
        let result: [Int]? = onMain { done in
            nonisolated(unsafe) var steps = 0
            let task = Task { @MainActor in
                while !Task.isCancelled {
                    try? await Task.sleep(for: .milliseconds(10))
                    steps += 1
                }
            }
            let start = milliseconds()
            RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.3))
            let took = Int(milliseconds() - start)
            task.cancel()
            done([steps, took])
        }
        guard let result else { return .fails("never returned") }
        let figure = "\(result[0]) sleeps of 10 ms in \(result[1]) ms"
        return result[0] >= 10 ? .holds(figure) : result[0] > 0 ? .late(figure) : .fails(figure)
    }

    // MARK: Limits

    /// Nests runs in GLib callbacks, each starting 20 ms after the outer one. Each must end at its limit, or when the
    /// inner run has ended.
    static func nestedLimits(_ limits: [Double]) -> Outcome {
        // Times since the beginning of the outermost run.
        let ends: [Double]? = onMain { done in
            let far = farTimer(in: .default)
            nonisolated(unsafe) var ends = limits.map { _ in 0.0 }
            nonisolated(unsafe) var results: [CFRunLoopRunResult] = []
            let start = milliseconds()
            @Sendable func level(_ depth: Int) {
                if depth + 1 < limits.count { inGLib(after: 20) { level(depth + 1) } }
                results.append(run(.default, for: limits[depth] / 1000))
                ends[depth] = milliseconds() - start
            }
            level(0)
            far.invalidate()
            done(results.allSatisfy { $0 == .timedOut } ? ends : [])
        }
        guard let ends else { return .fails("never returned") }
        guard !ends.isEmpty else { return .fails("not at a limit") }
        var due = limits.indices.map { Double($0) * 20 + limits[$0] }
        for depth in due.indices.dropLast().reversed() { due[depth] = max(due[depth], due[depth + 1]) }
        let figure =
            "ended after "
            + zip(ends, due).map { String(format: "%.1f ms (due %.0f)", $0, $1) }.joined(separator: ", ")
        guard zip(ends, due).allSatisfy({ $0 > $1 - 2 && $0 < $1 + 1000 }) else { return .fails(figure) }
        return zip(ends, due).allSatisfy { $0 < $1 + 15 } ? .holds(figure) : .late(figure)
    }

    /// A source of GRunLoop is handled until after the limit of Foundation's run. No wake-up may be left in the mode.
    static func limitInTurn() -> Outcome {
        let results: [CFRunLoopRunResult]? = onMain { done in
            let mode = newMode()
            let far = farTimer(in: mode)
            let source = GRunLoop.Source {
                let end = milliseconds() + 60
                while milliseconds() < end {}
            }
            GRunLoop.main.add(source, forMode: GRunLoop.Mode(mode))
            // From here on GRunLoop knows the mode.
            GRunLoop.main.run(mode: GRunLoop.Mode(mode), for: .zero)
            DispatchQueue.global().asyncAfter(deadline: .now() + 0.02) {
                source.signal()
                GRunLoop.main.wakeUp()
            }
            let first = run(mode, for: 0.05)
            far.invalidate()
            source.invalidate()
            done([first, run(mode, for: 0)])
        }
        guard let results else { return .fails("never returned") }
        return Outcome(
            results == [.timedOut, .finished],
            "the run: \(results[0].rawValue), one of the empty mode: \(results[1].rawValue), of 3 and 1")
    }

    // MARK: Ends and beginnings in a run

    /// The serving ends during a wait of Foundation's loop on a worker. The run must continue with its own wait.
    static func endInWait(elsewhere: Bool) -> Outcome {
        var outcome = Outcome.fails("not tried")
        // A delay of 100 ms may happen by chance once, but hardly in each try.
        for _ in 0..<3 where !outcome.holds { outcome = endInWaitOnce(elsewhere: elsewhere) }
        return outcome
    }

    private static func endInWaitOnce(elsewhere: Bool) -> Outcome {
        struct Times: Sendable {
            var block = 0.0, timer = 0.0, took = 0.0, isServing = true
        }
        let times: Times? = onWorker { context in
            guard let serving = try? GRunLoop.current.serve(.current) else { return nil }
            nonisolated(unsafe) var times = Times()
            let far = farTimer(in: .default)
            nonisolated(unsafe) let (runLoop, loop) = (RunLoop.current, CFRunLoopGetCurrent())
            let start = milliseconds()
            if elsewhere {
                DispatchQueue.global().asyncAfter(deadline: .now() + 0.05) { serving.cancel() }
            } else {
                inGLib(of: context, after: 50) { serving.cancel() }
            }
            DispatchQueue.global().asyncAfter(deadline: .now() + 0.1) {
                runLoop.perform { times.block = milliseconds() - start }
                // Nothing else wakes Core Foundation for a block then.
                CFRunLoopWakeUp(loop)
            }
            let timer = Foundation.Timer(fire: Date(timeIntervalSinceNow: 0.2), interval: 0, repeats: false) { _ in
                times.timer = milliseconds() - start
            }
            runLoop.add(timer, forMode: .default)
            _ = run(.default, for: 0.3)
            times.took = milliseconds() - start
            times.isServing = serving.isServing
            far.invalidate()
            return times
        }
        guard let times else { return .fails("never returned") }
        let figure = String(
            format: "a block of 100 ms after %.1f, a timer of 200 after %.1f, the limit of 300 after %.1f%@",
            times.block,
            times.timer, times.took, times.isServing ? ", served still" : "")
        // Each event must come at its own time, and not together with the next one.
        let holds =
            times.block >= 98 && times.block < times.timer - 20 && times.timer >= 198 && times.timer < times.took - 20
            && times.took >= 298 && times.took < 400
        return Outcome(holds && !times.isServing, figure)
    }

    /// The self-check of serve() calls a queued block of Foundation, and the block starts and ends a serving.
    static func serveInSelfCheck() -> Outcome {
        let said: String? = onWorker { _ in
            nonisolated(unsafe) var inner = "not called"
            RunLoop.current.perform {
                do {
                    let serving = try GRunLoop.current.serve(.current)
                    inner = serving.isServing ? "" : "a token that does not serve"
                    serving.cancel()
                } catch { inner = "inside: \(error)" }
            }
            do {
                let serving = try GRunLoop.current.serve(.current)
                guard inner.isEmpty else { return inner }
                guard serving.isServing else { return "ended by the token of inside" }
                nonisolated(unsafe) var arrived = false
                RunLoop.current.perform { arrived = true }
                GRunLoop.current.run(for: .milliseconds(50))
                serving.cancel()
                return !arrived ? "a block was lost" : serving.isServing ? "served still" : ""
            } catch { return "\(error)" }
        }
        guard let said else { return .fails("never returned") }
        return Outcome(said.isEmpty, said.isEmpty ? "served, and ended by the last token" : said)
    }

    /// A run calls the block that starts the serving. A block of an observer at that run's exit must wait until later.
    static func runBeforeServe() -> Outcome {
        let said: String? = onWorker { context in
            nonisolated(unsafe) var (serving, ticks, isAfter) = (GRunLoop.Serving?.none, 0, false)
            nonisolated(unsafe) let far = farTimer(in: .default)
            RunLoop.current.perform {
                serving = try? GRunLoop.current.serve(.current)
                // Added here and not earlier, because a pass of the self-check has an exit as well.
                let exit = CFRunLoopActivity.exit.rawValue
                let observer = CFRunLoopObserverCreateWithHandler(nil, exit, false, 0) { _, _ in
                    CFRunLoopPerformBlock(CFRunLoopGetCurrent(), kCFRunLoopDefaultMode) { isAfter = true }
                }
                CFRunLoopAddObserver(CFRunLoopGetCurrent(), observer, kCFRunLoopDefaultMode)
            }
            inGLib(of: context, after: 30) { ticks += 1 }
            // Runs until a source is handled, because a time limit would wake the loop and hide a missing wake-up.
            let result = CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1, true)
            guard serving != nil else { return "not served" }
            guard ticks > 0, result == .handledSource else { return "GLib \(ticks), it ended by \(result.rawValue)" }
            guard !isAfter else { return "in the run, not after it" }
            GRunLoop.current.run(for: .milliseconds(50))
            serving?.cancel()
            far.invalidate()
            return isAfter ? "" : "what was queued at its exit was lost"
        }
        guard let said else { return .fails("never returned") }
        return Outcome(said.isEmpty, said.isEmpty ? "GLib is served in it, what its exit queued afterwards" : said)
    }

    static func runUntilBeforeServe() -> Outcome {
        let said: String? = onWorker { context in
            nonisolated(unsafe) var (serving, ticks, blocks) = (GRunLoop.Serving?.none, 0, 0)
            nonisolated(unsafe) let far = farTimer(in: .default)
            RunLoop.current.perform {
                serving = try? GRunLoop.current.serve(.current)
                RunLoop.current.perform { blocks += 1 }
            }
            inGLib(of: context, after: 30) { ticks += 1 }
            let start = milliseconds()
            RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.1))
            let took = milliseconds() - start
            guard serving != nil else { return "not served" }
            guard took < 300 else { return "it ended after \(took) ms" }
            guard ticks == 1, blocks == 1 else { return "GLib \(ticks), a block \(blocks) of 1" }
            RunLoop.current.perform { blocks += 1 }
            GRunLoop.current.run(for: .milliseconds(50))
            serving?.cancel()
            far.invalidate()
            return blocks == 2 ? "" : "a block after it was lost"
        }
        guard let said else { return .fails("never returned") }
        return Outcome(said.isEmpty, said.isEmpty ? "in it and after it" : said)
    }

    // MARK: Forks

    /// The main thread of a served program's forked child: Core Foundation drives its loop again, without a message.
    /// The child lacks the thread that ends runs at their limit, so a timer ends the run.
    static func forkedChild() -> Outcome {
        let result: (Int32, String)? = onMain(within: 8) { done in
            let errors = Pipe()
            let end = errors.fileHandleForWriting.fileDescriptor
            let status = inChild {
                dup2(end, STDERR_FILENO)
                nonisolated(unsafe) var blocks = 0
                let timer = Foundation.Timer(fire: Date(timeIntervalSinceNow: 0.05), interval: 0, repeats: false) { _ in
                    CFRunLoopStop(CFRunLoopGetCurrent())
                }
                RunLoop.current.add(timer, forMode: .default)
                RunLoop.current.perform { blocks += 1 }
                return run(.default, for: 1e10) == .stopped && blocks == 1
            }
            try? errors.fileHandleForWriting.close()
            done((status, String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self)))
        }
        guard let (status, said) = result else { return .fails("never") }
        let lines = said.split(separator: "\n").map(String.init)
        let first = lines.first.map { "; it said \(lines.count) lines: \($0)" } ?? ""
        return Outcome(status == 0 && said.isEmpty, "the child ran its loop for 50 ms: status \(status)\(first)")
    }
}

/// Returns the result of `body` on a new thread, whose GRunLoop is in the given GLib context. Returns nil after a
/// timeout.
func onWorker<Value: Sendable>(
    within limit: Double = 5, _ body: @escaping @Sendable (OpaquePointer?) -> Value?
) -> Value? {
    let result = Mutex<Value?>(nil)
    let ready = DispatchSemaphore(value: 0)
    Foundation.Thread {
        let context = g_main_context_new()
        g_main_context_push_thread_default(context)
        let value = body(context)
        g_main_context_pop_thread_default(context)
        g_main_context_unref(context)
        result.withLock { $0 = value }
        ready.signal()
    }.start()
    return ready.wait(timeout: .now() + limit) == .success ? result.withLock { $0 } : nil
}
