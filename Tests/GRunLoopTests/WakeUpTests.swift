// SPDX-License-Identifier: Apache-2.0
// Waking a loop up: part 1.5, items 67 to 73 and 79 to 81.

import GRunLoop
import Glibc
import TestSupport
import Testing

private let pass = ["beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting"]

@Suite struct WakeUpTests {
    @Test("item 67: a wake-up ends the sleep with afterWaiting, fires nothing and begins a pass; the run continues")
    func sleepingLoop() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let thread = LoopThread { loop in
                trace.observe(loop)
                loop.source { trace("source") }
                loop.after(.seconds(3600)) { trace("timer") }
                trace("\(loop.run(for: .seconds(60), returningAfterSourceHandled: true))")
            }
            thread.waitUntilAsleep()
            #expect(trace.take() == ["entry", "beforeTimers", "beforeSources", "beforeWaiting"])
            thread.loop.wakeUp()
            #expect(trace.wait(forCount: 4))
            thread.waitUntilAsleep()
            #expect(trace.take() == ["afterWaiting", "beforeTimers", "beforeSources", "beforeWaiting"])
            thread.finish()
            #expect(trace.lines == ["afterWaiting", "exit", "stopped"])
        }
    }

    @Test("item 68: a wake-up of a loop that does not run is dropped: the next run sleeps")
    func notRunning() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            loop.keepAlive()
            trace.observe(loop)
            loop.wakeUp()
            onPlainThread { loop.wakeUp() }
            let time = elapsed { #expect(loop.run(for: .milliseconds(20)) == .timedOut) }
            #expect(time >= .milliseconds(20))
            #expect(trace.take() == ["entry"] + pass + ["exit"])
            loop.wakeUp()
            #expect(loop.run(for: .milliseconds(20)) == .timedOut)
            #expect(trace.take() == ["entry"] + pass + ["exit"])
        }
    }

    @Test("item 69: several wake-ups of one sleep count as one")
    func wakeUpsCoalesce() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let thread = LoopThread { loop in
                loop.keepAlive()
                trace.observe(loop)
                loop.run()
            }
            thread.whileAsleep {
                _ = trace.take()
                for _ in 0..<5 { thread.loop.wakeUp() }
            }
            #expect(trace.wait(forCount: 4))
            thread.waitUntilAsleep()
            #expect(trace.take() == ["afterWaiting", "beforeTimers", "beforeSources", "beforeWaiting"])
            thread.finish()
        }
    }

    @Test("item 73: a wake-up that a run of one mode has used does not wake a run of another mode")
    func wakeUpIsTheLoops() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            for mode: GRunLoop.Mode in ["one", "other"] {
                loop.keepAlive(mode)
                trace.observe(loop, mode, prefix: "\(mode) ")
            }
            loop.on(.beforeWaiting, "one", repeats: false) { _ in loop.wakeUp() }
            #expect(loop.runUntilAsleep("one") == .stopped)
            let twoPasses = ["entry"] + pass + pass + ["exit"]
            #expect(trace.take() == twoPasses.map { "one \($0)" })
            #expect(loop.runUntilAsleep("other") == .stopped)
            #expect(trace.take() == (["entry"] + pass + ["exit"]).map { "other \($0)" })
        }
    }

    @Test("item 79: the documentation of wakeUp and stop excludes signal handlers")
    func signalHandlers() throws {
        for (function, file) in [("wakeUp", "Loop/Waking.swift"), ("stop", "Loop/Running.swift")] {
            let lines = try sourceLines(of: file)
            let index = try #require(lines.firstIndex { $0.contains("public func \(function)()") })
            let comment = lines[..<index].reversed().prefix { $0.contains("///") }.joined(separator: " ")
            #expect(comment.contains("not from a signal handler"), "\(function)")
        }
    }

    @Test("item 80: a signal does not end the wait: no afterWaiting, no pass, and the time limit stays")
    func interruptedWait() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let time = Shared(Duration.zero)
            let thread = LoopThread { loop in
                loop.keepAlive()
                trace.observe(loop)
                let start = GRunLoop.now
                trace("\(loop.run(for: .milliseconds(300)))")
                time.value = start.duration(to: GRunLoop.now)
            }
            for _ in 0..<3 { thread.whileAsleep {} }
            thread.join()
            #expect(trace.lines == ["entry"] + pass + ["exit", "timedOut"])
            #expect(time.value >= .milliseconds(300) && time.value < .seconds(10))
        }
    }

    @Test("item 81: isWaiting is true while the loop sleeps, and false in every callout")
    func isWaiting() async throws {
        try await onFreshThread { _ in
            let inCallouts = Shared<[String: Bool]>([:])
            let pipe = Pipe()
            let thread = LoopThread { loop in
                @Sendable func note(_ name: String) {
                    // Checks the flag on the thread itself and on another thread.
                    let other = Shared(false)
                    onPlainThread { other.value = loop.isWaiting }
                    let isWaiting = loop.isWaiting || other.value
                    inCallouts.update { $0[name] = $0[name] == true || isWaiting }
                }
                let observer = GRunLoop.Observer(activities: .all) { _, activity in note("\(activity)") }
                loop.add(observer, forMode: .default)
                loop.after(.zero) { note("timer") }
                loop.source { note("source") }.signal()
                loop.perform { note("block") }
                let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                    note("descriptor")
                    pipe.drain()
                }
                try? loop.add(descriptor, forMode: .default)
                pipe.send()
                loop.run()
            }
            thread.waitUntilAsleep()
            #expect(thread.whileAsleep { thread.loop.isWaiting })
            thread.finish()
            let names = [
                "entry", "beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting", "exit", "timer", "source",
                "block",
                "descriptor",
            ]
            #expect(inCallouts.value.keys.sorted() == names.sorted())
            #expect(inCallouts.value.filter(\.value).keys.sorted() == [])
            #expect(!thread.loop.isWaiting)
        }
    }
}

/// Returns the lines of a file under Sources/GRunLoop.
func sourceLines(of file: String) throws -> [String] {
    let package = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
    let stream = try #require(fopen("\(package)/Sources/GRunLoop/\(file)", "r"))
    defer { fclose(stream) }
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case let count = fread(&buffer, 1, buffer.count, stream), count > 0 { text += buffer.prefix(count) }
    return String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).map(
        String.init)
}
