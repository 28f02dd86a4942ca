// SPDX-License-Identifier: Apache-2.0
// Code for the main queue or the main actor runs on the main thread, in runs and under a host.

import Dispatch
import GRunLoop
import Glibc
import TestSupport
import XCTest

final class MainActorTests: MainThreadTestCase {
    private enum Driver: CaseIterable {
        case ours, host
    }

    /// Drives the main loop until the condition holds.
    private func drive(_ driver: Driver, until condition: @escaping @Sendable () -> Bool) {
        switch driver {
        case .ours: while !condition() { loop.run(for: .milliseconds(20), returningAfterSourceHandled: true) }
        case .host: iterateHost(until: condition)
        }
    }

    /// Ends the program if this is not the main thread.
    private nonisolated static func checkMain() {
        dispatchPrecondition(condition: .onQueue(.main))
        MainActor.assumeIsolated {}
    }

    /// A slow thread passes closures to the main actor, or releases them. It may hold a closure's box longer than the
    /// main thread does. The closure still ends on the main thread, in one pass.
    func testClosuresOfASlowThread() {
        let count = 200
        let (passes, called, gone) = (Counter(), Counter(), Counter())
        temporary(GRunLoop.Observer(activities: .beforeTimers) { _, _ in passes.increment() })
        let thread = startThread {
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(threadID), 19)
            for number in 1...count {
                GRunLoop.asyncOnMain { called.increment() }
                _ = called.wait(for: number)
                _ = GRunLoop.Source { @MainActor [witness = Witness { gone.increment() }] in
                    withExtendedLifetime(witness) {}
                }
                _ = gone.wait(for: number)
            }
            GRunLoop.main.stop()
        }
        loop.run()
        join(thread)
        XCTAssertEqual([called.value, gone.value], [count, count])
        XCTAssertLessThanOrEqual(passes.value, 2 * count + 10)
    }

    /// Any thread may pass a block marked @MainActor. The main loop calls and releases the block.
    func testBlocksOfTheMainActor() {
        let (trace, gone) = (Recorder(), Counter())
        let thread = startThread { [loop] in
            let witness = { Witness { gone.increment() } }
            loop.perform { @MainActor [held = witness()] in withExtendedLifetime(held) { trace("perform") } }
            loop.async { @MainActor [held = witness()] in withExtendedLifetime(held) { trace("async") } }
            try? loop.performOnThread { @MainActor [held = witness()] in
                Self.checkMain()
                withExtendedLifetime(held) { trace("performOnThread") }
                GRunLoop.main.stop()
            }
        }
        loop.run()
        join(thread)
        XCTAssertEqual(trace.lines, ["perform", "async", "performOnThread"])
        // If the other thread held the last reference to a closure, the closure still has to be released here.
        let end = GRunLoop.now.advanced(by: Patience.normal)
        while gone.value < 3, GRunLoop.now < end { loop.run(for: .milliseconds(1)) }
        XCTAssertEqual(gone.value, 3)
    }

    /// Work of the main dispatch queue: blocks, delayed blocks, synchronous blocks, timers, descriptors, work items,
    /// groups.
    func testDispatch() throws {
        for driver in Driver.allCases {
            let trace = Recorder()
            let note: @Sendable (String) -> Void = { what in
                Self.checkMain()
                trace("\(what), main thread: \(threadID == getpid())")
            }
            let pipe = Pipe()
            let timer = DispatchSource.makeTimerSource(queue: .main)
            timer.schedule(deadline: .now() + .milliseconds(1))
            timer.setEventHandler { note("timer source") }
            timer.resume()
            let readable = DispatchSource.makeReadSource(fileDescriptor: pipe.readEnd, queue: .main)
            readable.setEventHandler {
                pipe.drain()
                note("read source")
            }
            readable.resume()
            let worker = startThread {
                DispatchQueue.main.async { note("async") }
                DispatchQueue.main.sync { note("sync") }
                DispatchQueue.main.asyncAfter(deadline: .now() + .milliseconds(1)) { note("asyncAfter") }
                let group = DispatchGroup()
                DispatchQueue.global().async(group: group) {}
                group.notify(queue: .main) { note("notify") }
                pipe.send()
            }
            let all = ["async", "sync", "asyncAfter", "notify", "timer source", "read source"]
            drive(driver) { trace.lines.count == all.count }
            join(worker)
            timer.cancel()
            readable.cancel()
            XCTAssertEqual(Set(trace.lines), Set(all.map { "\($0), main thread: true" }), "\(driver)")
        }
    }

    /// Swift concurrency: tasks, sleeps, continuations, async sequences, and callouts that inherit the main actor's
    /// isolation.
    func testMainActor() throws {
        for driver in Driver.allCases {
            let trace = Recorder()
            let note: @Sendable (String) -> Void = { what in
                Self.checkMain()
                trace("\(what), main thread: \(threadID == getpid())")
            }
            Task.detached { await MainActor.run { note("MainActor.run") } }
            Task { @MainActor in
                note("task")
                try? await Task.sleep(for: .milliseconds(1))
                note("after a sleep")
                await withCheckedContinuation { continuation in DispatchQueue.global().async { continuation.resume() } }
                note("after a continuation")
                let (stream, feed) = AsyncStream.makeStream(of: Int.self)
                Task.detached {
                    for number in 0..<3 { feed.yield(number) }
                    feed.finish()
                }
                for await number in stream { note("element \(number)") }
                try? await GRunLoop.main.sleep(for: .milliseconds(1))
                note("after a sleep on the loop")
            }
            source { note("source") }.signal()
            after(.zero) { note("timer") }
            loop.async { note("block") }
            once(.beforeTimers) { note("observer") }
            let foreign = GLibSource.timeout(nil, milliseconds: 1) {
                note("GLib's timeout")
                return false
            }
            let all = [
                "MainActor.run", "task", "after a sleep", "after a continuation", "element 0", "element 1", "element 2",
                "after a sleep on the loop", "source", "timer", "block", "observer", "GLib's timeout",
            ]
            drive(driver) { trace.lines.count == all.count }
            withExtendedLifetime(foreign) {}
            XCTAssertEqual(Set(trace.lines), Set(all.map { "\($0), main thread: true" }), "\(driver)")
        }
    }

    /// The main thread releases a closure of the main actor, on whatever thread its item was invalidated or released.
    func testClosuresGoOnTheMainThread() {
        let trace = Recorder()
        func witness() -> Witness { Witness { trace(threadID == getpid() ? "main" : "elsewhere") } }
        func timer(_ held: Witness) -> GRunLoop.Timer {
            GRunLoop.Timer(interval: .seconds(3600), repeats: false) { @MainActor _ in withExtendedLifetime(held) {} }
        }
        func source(_ held: Witness) -> GRunLoop.Source {
            GRunLoop.Source { @MainActor in withExtendedLifetime(held) {} }
        }
        let items = Shared<(GRunLoop.Timer?, GRunLoop.Source?)>((timer(witness()), source(witness())))
        if let timer = items.value.0 { loop.add(timer, forMode: .default) }
        onPlainThread {
            items.value.0?.invalidate()
            items.value = (nil, nil)
        }
        XCTAssertEqual(trace.lines, [])
        loop.run(for: .zero)
        XCTAssertEqual(trace.lines, ["main", "main"])
    }
}
