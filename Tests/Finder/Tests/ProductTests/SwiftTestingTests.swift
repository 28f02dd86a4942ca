// SPDX-License-Identifier: Apache-2.0
// GRunLoopTesting under Swift Testing.

import CGtk
import Dispatch
import Foundation
import GRunLoop
import GRunLoopTesting
import Synchronization
import Testing

func isOnMainThread() -> Bool { Thread.isMainThread }

/// Records the texts of the failures that the closure causes, which are expected.
@MainActor func failures(of body: @MainActor () async -> Void) async -> [String] {
    let texts = Mutex<[String]>([])
    await withKnownIssue {
        await body()
    } matching: { issue in
        texts.withLock { $0 += issue.comments.map(\.rawValue) }
        return true
    }
    return texts.withLock(\.self)
}

@MainActor @Suite(.mainLoop) struct Product {
    @MainActor @Suite struct MainThread {
        @Test func afterEachAwait() async throws {
            #expect(isOnMainThread())
            try await Task.sleep(for: .milliseconds(1))
            #expect(isOnMainThread())
            try await GRunLoop.main.sleep(for: .milliseconds(1))
            #expect(isOnMainThread())
            #expect(GRunLoop.main.currentMode == .default)
        }

        @Test func aClassicDispatchBlock() async {
            await withCheckedContinuation { continuation in
                DispatchQueue.main.async { continuation.resume() }
            }
            #expect(isOnMainThread())
        }

        @Test func aTimerOfFoundation() async {
            await withCheckedContinuation { continuation in
                _ = Timer.scheduledTimer(withTimeInterval: 0.001, repeats: false) { _ in continuation.resume() }
            }
            #expect(isOnMainThread())
        }

        @Test func aTimeoutOfGLib() async {
            await withCheckedContinuation { continuation in
                g_timeout_add(
                    1,
                    { data in
                        if let data {
                            Unmanaged<Held>.fromOpaque(data).takeRetainedValue().continuation.resume()
                        }
                        return 0
                    }, Unmanaged.passRetained(Held(continuation)).toOpaque())
            }
            #expect(isOnMainThread())
        }

        @Test nonisolated func otherActorsAreElsewhere() async {
            #expect(!isOnMainThread())
            #expect(await MainActor.run { isOnMainThread() })
        }

        @Test func aNestedRun() {
            #expect(GRunLoop.main.run(for: .milliseconds(1)) == .timedOut)
        }
    }

    @MainActor @Suite struct Waiting {
        @Test func eventuallyWaits() async {
            var count = 0
            let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { @MainActor _ in count += 1 }
            GRunLoop.main.add(timer, forMode: .common)
            #expect(await eventually { count >= 5 })
            timer.invalidate()
        }

        /// A thread changes the state without waking the main loop. The check looks again.
        @Test func eventuallyLooksAgain() async {
            let flag = Flag()
            Thread.detachNewThread {
                usleep(20_000)
                flag.set()
            }
            await eventually { flag.isSet }
        }

        @Test func eventuallySaysWhatIsPending() async {
            let timer = GRunLoop.Timer(interval: .seconds(7), repeats: false) { _ in }
            timer.label = "autosave"
            GRunLoop.main.add(timer, forMode: .common)
            let texts = await failures { await eventually(within: .milliseconds(5)) { false } }
            timer.invalidate()
            #expect(texts.count == 1)
            #expect(texts[0].hasPrefix("the condition did not hold within 0.005 seconds. Pending in the main loop: "))
            #expect(texts[0].contains("timer \"autosave\" due in 6.9"))
        }

        @Test func eventuallyThrowsWhatTheConditionThrows() async {
            await #expect(throws: CancellationError.self) { try await eventually { throw CancellationError() } }
        }

        @Test func eventuallyEndsWithItsTask() async {
            let begin = ContinuousClock.now
            let texts = await failures {
                let task = Task { await eventually { false } }
                await Task.yield()
                task.cancel()
                #expect(await task.value == false)
            }
            #expect(texts.first?.hasPrefix("the condition did not hold when the test was cancelled") == true)
            #expect(ContinuousClock.now - begin < .seconds(5))
        }

        @Test func eventuallyAsksOnceWithoutALimit() async {
            var count = 0
            let texts = await failures {
                await eventually(within: .zero) {
                    count += 1
                    return false
                }
            }
            #expect(count == 1)
            #expect(texts.count == 1)
        }

        @Test func settleWaitsForEveryKind() async {
            var done: Set<String> = []
            let source = GRunLoop.Source { @MainActor in done.insert("source") }
            GRunLoop.main.add(source, forMode: .common)
            source.signal()
            GRunLoop.main.async { @MainActor in done.insert("block") }
            DispatchQueue.main.async { done.insert("dispatch") }
            Task {
                for _ in 0..<20 { await Task.yield() }
                done.insert("task")
            }
            Task {
                await Task.detached { _ = (0..<1000).reduce(0, +) }.value
                done.insert("task of another thread")
            }
            #expect(await GRunLoop.main.settle())
            source.invalidate()
            #expect(done == ["source", "block", "dispatch", "task", "task of another thread"])
        }

        @Test func settleFailsIfTheLoopIsAlwaysBusy() async {
            let source = GRunLoop.Source {}
            let observer = GRunLoop.Observer(activities: .beforeSources) { _, _ in source.signal() }
            GRunLoop.main.add(source, forMode: .common)
            GRunLoop.main.add(observer, forMode: .common)
            let texts = await failures { await GRunLoop.main.settle(within: .milliseconds(20)) }
            observer.invalidate()
            source.invalidate()
            #expect(texts.first?.hasPrefix("the main loop is still busy after 0.02 seconds") == true)
        }

        @Test func onlyTheMainLoopSettles() async throws {
            let worker = try GRunLoop.Thread(name: "worker")
            let texts = await failures { await worker.loop.settle() }
            await worker.stopAndWait()
            #expect(texts == ["settle: only GRunLoop.main can settle"])
        }
    }

    @MainActor @Suite struct Stalls {
        @Test func aStallFails() async {
            let texts = await failures {
                await expectNoStall(over: .milliseconds(20)) {
                    let end = ContinuousClock.now.advanced(by: .milliseconds(500))
                    while ContinuousClock.now < end {}
                }
            }
            #expect(texts.count == 1)
            #expect(texts.first?.contains("aStallFails") == true)
        }

        @Test func twoStallsAreTwoFailures() async {
            let texts = await failures {
                await expectNoStall(over: .milliseconds(20)) {
                    for _ in 0..<2 {
                        let end = ContinuousClock.now.advanced(by: .milliseconds(500))
                        while ContinuousClock.now < end {}
                        await GRunLoop.main.settle()
                    }
                }
            }
            #expect(texts.count == 2)
            #expect(texts.allSatisfy { $0.contains("has returned after") }, "\(texts)")
        }

        @Test func waitingIsNoStall() async throws {
            let result = try await expectNoStall(over: .milliseconds(500)) {
                try await GRunLoop.main.sleep(for: .milliseconds(20))
                return 1
            }
            #expect(result == 1)
        }
    }

    /// The trait is given again here. A test still has one turn.
    @MainActor @Suite(.mainLoop) struct VirtualTime {
        @Test func moves() async {
            let real = ContinuousClock.now
            await withVirtualTime { time in
                let begin = time.now
                var dates: [GRunLoop.Instant] = []
                let timer = GRunLoop.Timer(interval: .seconds(600), repeats: true) { @MainActor _ in
                    dates.append(GRunLoop.now)
                }
                GRunLoop.main.add(timer, forMode: .common)
                await time.advance(by: .seconds(1800))
                #expect(dates == [600, 1200, 1800].map { begin + .seconds($0) })
                #expect(time.now == begin + .seconds(1800))
                await time.advance(to: begin)
                await time.advance(by: .seconds(-5))
                #expect(time.now == begin + .seconds(1800))
                timer.invalidate()
            }
            #expect(ContinuousClock.now - real < .seconds(60))
            #expect(abs((GRunLoop.now - .now) / .seconds(1)) < 1)
        }

        @Test func beginsWhereTheTestSays() async {
            let start = GRunLoop.now + .seconds(86_400)
            await withVirtualTime(from: start) { time in #expect(time.now == start) }
        }

        /// A task that sleeps on the loop's clock, on another thread.
        @Test func tasksElsewhere() async {
            await withVirtualTime { time in
                let loop = GRunLoop.main
                let sleeper = Task.detached {
                    for _ in 0..<5 { try? await Task.sleep(for: .seconds(60), clock: loop.clock) }
                }
                await time.advance(by: .seconds(300))
                await sleeper.value
            }
        }

        @Test func aNestedRunJumps() async {
            await withVirtualTime { time in
                let begin = time.now
                #expect(runNested(for: .seconds(3600)) == .timedOut)
                #expect(time.now == begin + .seconds(3600))
            }
        }

        @Test func standsStill() async {
            await withVirtualTime { time in
                let begin = time.now
                try? await Task.sleep(for: .milliseconds(20))
                await GRunLoop.main.settle()
                #expect(time.now == begin)
            }
        }

        @Test func cannotBeMovedAfterwards() async {
            var known: MainVirtualTime?
            await withVirtualTime { known = $0 }
            let texts = await failures { await known?.advance(by: .seconds(1)) }
            #expect(texts == ["virtual time is over: the clock cannot be moved after withVirtualTime has returned"])
        }

        @Test func oneAdvanceAtATime() async {
            let texts = await failures {
                await withVirtualTime { time in
                    async let first: Void = time.advance(by: .seconds(1))
                    async let second: Void = time.advance(by: .seconds(1))
                    _ = await (first, second)
                }
            }
            #expect(texts == ["the clock is being moved already: await one advance before the next one"])
        }

        @Test func oneTestAtATime() async {
            var order: [String] = []
            let first = Task {
                await withVirtualTime { time in
                    order.append("first begins")
                    await time.advance(by: .seconds(1))
                    order.append("first ends")
                }
            }
            let second = Task { await withVirtualTime { _ in order.append("second") } }
            await first.value
            await second.value
            let isFirst = order.first == "first begins"
            #expect(
                order
                    == (isFirst ? ["first begins", "first ends", "second"] : ["second", "first begins", "first ends"]))
        }

        /// A nested run without a limit in a callout: only its own callouts may move the clock.
        @Test func anEndlessNestedRunStands() async {
            await withVirtualTime { time in
                var ticks = 0
                let timer = GRunLoop.Timer(interval: .seconds(1), repeats: true) { @MainActor _ in ticks += 1 }
                GRunLoop.main.add(timer, forMode: .common)
                let begin = time.now
                GRunLoop.main.async { @MainActor in
                    let thread = Thread {
                        usleep(20_000)
                        GRunLoop.main.stop()
                    }
                    thread.start()
                    runNested()
                }
                await GRunLoop.main.settle()
                #expect(ticks == 0)
                #expect(time.now == begin)
                timer.invalidate()
            }
        }

        /// Foundation's run has a limit in real time, which must not move the clock.
        @Test func aNestedRunOfFoundationStands() async {
            await withVirtualTime { time in
                let timer = GRunLoop.Timer(interval: .seconds(1), repeats: true) { _ in }
                GRunLoop.main.add(timer, forMode: .common)
                let begin = time.now
                await withCheckedContinuation { continuation in
                    GRunLoop.main.async { @MainActor in
                        RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.03))
                        continuation.resume()
                    }
                }
                #expect(time.now == begin)
                timer.invalidate()
            }
        }

        @Test func anAdvanceEndsWithVirtualTime() async {
            var task: Task<Void, Never>?
            let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { _ in }
            GRunLoop.main.add(timer, forMode: .common)
            await withVirtualTime { time in
                task = Task { await time.advance(by: .seconds(86_400)) }
                await Task.yield()
                await Task.yield()
            }
            await task?.value
            timer.invalidate()
            #expect(abs((GRunLoop.now - .now) / .seconds(1)) < 1)
        }

        /// Another thread that runs all the time must not make a task miss its steps.
        @Test func besideABusyThread() async {
            await withVirtualTime { time in
                let isOver = Flag()
                Thread.detachNewThread { while !isOver.isSet {} }
                let loop = GRunLoop.main
                let sleeper = Task.detached {
                    for _ in 0..<100 { try? await Task.sleep(for: .seconds(60), clock: loop.clock) }
                }
                await time.advance(by: .seconds(6000))
                let isDone = Flag()
                Task {
                    await sleeper.value
                    isDone.set()
                }
                await eventually { isDone.isSet }
                isOver.set()
            }
        }

        /// Runs in a separate process, so that its messages can be read.
        @Test func aLongWaitIsNoted() async {
            let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { @MainActor in
                await withVirtualTime { _ in try? await Task.sleep(for: .milliseconds(4500)) }
            }
            let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            #expect(text.contains("is in virtual time, but has waited for two seconds of real time"))
        }

        @Test func isNotNested() async {
            let texts = await failures {
                await withVirtualTime { outer in
                    await withVirtualTime { inner in #expect(inner === outer) }
                }
            }
            #expect(texts == ["withVirtualTime is called inside of itself; use the time of the outer call"])
        }

        @Test func throwsWhatTheClosureThrows() async {
            await #expect(throws: CancellationError.self) {
                try await withVirtualTime { _ in throw CancellationError() }
            }
        }
    }

    @MainActor @Suite struct Toolkit {
        /// Runs in a separate process, because GTK is initialised only once.
        @Test func theWrongThread() async {
            let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                await Task.detached { _ = gtk_init_check() }.value
                await MainActor.run {
                    do { try initializeGTK() } catch GTKError.otherThread {} catch { exit(2) }
                }
            }
            let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            #expect(text.contains("which is not the main thread. GTK works on one thread only"))
        }

        @Test func noDisplay() async {
            await #expect(processExitsWith: .success) {
                unsetenv("DISPLAY")
                unsetenv("WAYLAND_DISPLAY")
                await MainActor.run {
                    do { try initializeGTK() } catch GTKError.noDisplay(nil, nil) { return } catch {}
                    exit(2)
                }
            }
        }
    }

    @MainActor @Suite struct Turns {
        static let running = Running()

        /// Two tests with arguments. Without the trait their awaits would interleave. The trait is given twice.
        @Test(.mainLoop, arguments: 0..<3) func first(_ argument: Int) async throws { try await Self.running.check() }
        @Test(.mainLoop, arguments: 0..<3) func second(_ argument: Int) async throws { try await Self.running.check() }
    }

    /// Exit tests run in separate processes of this program, which have a main loop as well.
    @MainActor @Suite struct Exits {
        @Test func theStatusIsKept() async {
            await #expect(processExitsWith: .exitCode(7)) {
                try await GRunLoop.main.sleep(for: .milliseconds(1))
                exit(7)
            }
        }

        @Test func aTrapIsOne() async {
            await #expect(processExitsWith: .failure) { @MainActor in
                GRunLoop.main.async { fatalError("expected") }
                try await GRunLoop.main.sleep(for: .seconds(10))
            }
        }
    }
}

@MainActor private func runNested() { GRunLoop.main.run() }

@MainActor private func runNested(for span: Duration) -> GRunLoop.RunResult { GRunLoop.main.run(for: span) }

/// Counts the tests that run at the same time.
@MainActor final class Running {
    private var count = 0

    func check() async throws {
        count += 1
        try await GRunLoop.main.sleep(for: .milliseconds(5))
        #expect(count == 1)
        count -= 1
    }
}

private final class Held {
    let continuation: CheckedContinuation<Void, Never>
    init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = continuation }
}

private final class Flag: @unchecked Sendable {
    private let lock = NSLock()
    private var value = false

    var isSet: Bool { lock.withLock { value } }
    func set() { lock.withLock { value = true } }
}
