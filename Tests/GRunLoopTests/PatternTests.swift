// SPDX-License-Identifier: Apache-2.0
// Patterns that programs build on a run loop: part 1.19, items 272 to 276, 278 and 280.

import GRunLoop
import GRunLoopDiagnostics
import Glibc
import TestSupport
import Testing

/// The time for which a thread of this process has had a processor, in nanoseconds.
private func processorTime(of thread: pid_t) -> String? {
    guard let file = fopen("/proc/self/task/\(thread)/schedstat", "r") else { return nil }
    defer { fclose(file) }
    var buffer = [CChar](repeating: 0, count: 128)
    guard fgets(&buffer, Int32(buffer.count), file) != nil else { return nil }
    let text = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return text.split(separator: " ").first.map(String.init)
}

@Suite struct PatternTests {
    @Test("item 272: a source keeps a thread alive that receives performs, idles at no cost, and ends by a flag")
    func keptAlive() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let isOver = Shared(false)
            let worker = LoopThread { loop in
                loop.keepAlive()
                while !isOver.value { loop.run(mode: .default, before: GRunLoop.distantFuture) }
                trace("ends")
            }
            worker.waitUntilAsleep()
            let before = processorTime(of: worker.kernelID)
            usleep(30_000)
            #expect(before != nil && processorTime(of: worker.kernelID) == before)
            try worker.loop.performOnThread { trace("performed") }
            #expect(trace.wait(for: "performed"))
            worker.waitUntilAsleep()
            try worker.loop.performOnThread { isOver.value = true }
            worker.join()
            #expect(trace.lines == ["performed", "ends"])
        }
    }

    @Test("item 278: a loader's thread signals the delegate's source and wakes its loop: callbacks run on that thread")
    func loader() async throws {
        try await onFreshThread { loop in
            let delegateThread = threadID
            let pipe = Pipe()
            let received = Recorder()
            let data = Recorder()
            let delegate = loop.source {
                #expect(threadID == delegateThread)
                for line in data.take() { received(line) }
                if received.lines.last == "end" { loop.stop() }
            }
            let loader = LoopThread.running()
            let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                data(pipe.drain())
                delegate.signal()
                loop.wakeUp()
            }
            try loader.loop.add(source, forMode: .default)
            let sender = startThread {
                for part in ["one", "two", "end"] {
                    precondition(fallsAsleep(loop, thread: delegateThread))
                    pipe.send(part)
                    precondition(received.wait(for: part))
                }
            }
            #expect(loop.run(for: Patience.normal) == .stopped)
            #expect(received.lines == ["one", "two", "end"])
            join(sender)
            source.invalidate()
            loader.finish()
        }
    }

    @Test("item 273: a worker for one operation lasts until the operation's callback stops its loop")
    func operation() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let finished = Shared<GRunLoop.Source?>(nil)
            let worker = LoopThread { loop in
                finished.value = loop.source {
                    trace("callback")
                    loop.stop()
                }
                trace("\(loop.run())")
            }
            worker.whileAsleep {
                trace("operation ends")
                finished.value?.signal()
                worker.loop.wakeUp()
            }
            worker.join()
            #expect(trace.lines == ["operation ends", "callback", "stopped"])
            finished.value = nil
        }
    }

    @Test("item 274: another thread's stop makes run() return, and the worker continues after it")
    func stopFromOutside() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let worker = LoopThread { loop in
                loop.keepAlive()
                trace("\(loop.run())")
                trace("goes on")
            }
            worker.whileAsleep {
                trace("asleep")
                worker.loop.stop()
            }
            worker.join()
            #expect(trace.lines == ["asleep", "stopped", "goes on"])
        }
    }

    @Test("item 275: a monitor distinguishes a stall from a sleep by the last activity that it has seen")
    func stallMonitor() async throws {
        try await onFreshThread { _ in
            let worker = LoopThread.running()
            let loop = worker.loop
            let monitor = StallMonitor(of: loop)
            // Forces a first pass for the observer.
            loop.wakeUp()
            #expect(monitor.activities.wait(for: 4))
            worker.waitUntilAsleep()
            #expect(monitor.watch() == .asleep(.beforeWaiting))

            for kind in ["source", "timer"] {
                let (began, mayEnd) = (Flag(), Flag())
                let callout: @Sendable () -> Void = {
                    began.set()
                    mayEnd.wait()
                }
                if kind == "timer" {
                    loop.after(.zero, .default, callout)
                } else {
                    loop.source(.default, callout).signal()
                    loop.wakeUp()
                }
                began.wait()
                #expect(monitor.watch() == .stalled(kind == "timer" ? .afterWaiting : .beforeSources))
                mayEnd.set()
                worker.waitUntilAsleep()
                #expect(monitor.watch() == .asleep(.beforeWaiting))
            }
            worker.finish()
        }
    }

    @Test("item 276: passes that do not wait still show a monitor that the loop is alive")
    func busyLoop() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let performed = Counter()
            let source = Shared<GRunLoop.Source?>(nil)
            source.value = loop.source {
                if performed.increment() < 3 { source.value?.signal() } else { loop.stop() }
            }
            source.value?.signal()
            trace.observe(loop)
            #expect(loop.run(for: .seconds(60)) == .stopped)
            let pass = ["beforeTimers", "beforeSources"]
            #expect(trace.lines == ["entry"] + pass + pass + pass + ["exit"])
            source.value = nil
        }
    }

    @Test("item 280: a run whose limit passes during a timer's long callout has made one pass")
    func longCallout() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            trace.observe(loop)
            let limit = GRunLoop.now.advanced(by: .milliseconds(500))
            let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { _ in
                trace("timer")
                // The time limit starts with the first pass, which a busy machine may delay.
                while GRunLoop.now < limit.advanced(by: .seconds(1)) { usleep(5_000) }
            }
            loop.add(timer, forMode: .default)
            loop.run(until: limit)
            #expect(
                trace.lines == [
                    "entry", "beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting", "timer", "exit",
                ])
        }
    }
}

/// A watchdog of a loop, as programs write it: an observer of all activities, and a thread that waits for them.
private final class StallMonitor: Sendable {
    enum Finding: Equatable {
        case goesOn
        case asleep(GRunLoop.Activity)
        case stalled(GRunLoop.Activity)
    }

    let activities = Counter()
    private let last = Shared<GRunLoop.Activity>([])

    init(of loop: GRunLoop) {
        let observer = GRunLoop.Observer(activities: .all) { [activities, last] _, activity in
            last.value = activity
            activities.increment()
        }
        loop.add(observer, forMode: .default)
    }

    /// Runs on another thread than the loop's.
    func watch() -> Finding {
        if activities.wait(for: activities.value + 1, timeout: .milliseconds(20)) { return .goesOn }
        let activity = last.value
        return activity == .beforeSources || activity == .afterWaiting ? .stalled(activity) : .asleep(activity)
    }
}
