// SPDX-License-Identifier: Apache-2.0
// Two loops and many threads share items, and query them while everything changes.

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite("Concurrency: loops") struct ConcurrencyLoopsTests {
    private static let modes: [GRunLoop.Mode] = [.default, .common, "M", "N"]

    @Test(
        "a timer or observer that threads move between two loops is in one loop at most, and its calls never overlap"
    )
    func betweenLoops() async throws {
        try await onFreshThread { _ in
            let threads = [LoopThread.running(), LoopThread.running()]
            let loops = threads.map(\.loop)
            let (inside, overlaps) = (Shared(Array(repeating: 0, count: 8)), Counter())
            let call = { @Sendable (index: Int) in
                let depth = inside.update { counts -> Int in
                    counts[index] += 1
                    return counts[index]
                }
                if depth > 1 { overlaps.increment() }
                // Waits long enough for other threads to move the item to the other loop meanwhile.
                usleep(30)
                inside.update { $0[index] -= 1 }
            }
            let timers = (0..<4).map { index in
                GRunLoop.Timer(fireAt: GRunLoop.now, interval: .microseconds(100)) { _ in call(index) }
            }
            let observers = (4..<8).map { index in GRunLoop.Observer(activities: .beforeTimers) { _, _ in call(index) }
            }
            concurrently(4) { worker in
                // The loops log refused items.
                _ = capturingLog {
                    var random = SeededRandom(seed: UInt64(worker) + 20)
                    for _ in 0..<800 {
                        let index = Int.random(in: 0..<4, using: &random)
                        let loop = loops[Int.random(in: 0..<2, using: &random)]
                        let mode = Self.modes[Int.random(in: 0..<3, using: &random)]
                        switch Int.random(in: 0..<5, using: &random) {
                        case 0: loop.add(timers[index], forMode: mode)
                        case 1: loop.add(observers[index], forMode: mode)
                        case 2: for mode in Self.modes { loop.remove(timers[index], forMode: mode) }
                        case 3: for mode in Self.modes { loop.remove(observers[index], forMode: mode) }
                        default: timers[index].fireDate = GRunLoop.now
                        }
                    }
                }
            }
            for index in 0..<4 {
                let timerLoops = loops.filter { loop in
                    Self.modes.contains { loop.contains(timers[index], forMode: $0) }
                }
                let observerLoops = loops.filter { loop in
                    Self.modes.contains { loop.contains(observers[index], forMode: $0) }
                }
                #expect(timerLoops.count <= 1)
                #expect(observerLoops.count <= 1)
                timers[index].invalidate()
                observers[index].invalidate()
                for loop in loops {
                    for mode in Self.modes {
                        #expect(!loop.contains(timers[index], forMode: mode))
                        #expect(!loop.contains(observers[index], forMode: mode))
                    }
                }
            }
            #expect(overlaps.value == 0)
            for thread in threads { thread.finish() }
        }
    }

    @Test("queries are safe on any thread while everything changes")
    func questions() async throws {
        try await onFreshThread { _ in
            let thread = LoopThread.running()
            let loop = thread.loop
            let enough = Flag()
            let timer = GRunLoop.Timer(fireAt: GRunLoop.now, interval: .microseconds(200)) { _ in
                loop.perform(inModes: ["M"]) {}
                loop.run(mode: "M", for: .zero)
            }
            loop.add(timer, forMode: .common)
            let asker = startThread {
                while !enough.isSet {
                    _ = (loop.currentMode, loop.isWaiting, loop.allModes.count, loop.nextFireDate(forMode: .default))
                    _ = (
                        loop.description.count, timer.description.count, timer.fireDate, timer.validFireDate,
                        timer.tolerance
                    )
                    _ = (loop.contexts(forMode: .default).count, loop.homeContext)
                }
            }
            concurrently(2) { worker in
                for number in 0..<200 {
                    let observer = loop.on(.all, number % 2 == 0 ? .common : .default) { _ in }
                    let mode = GRunLoop.Mode("N \(number % 7)")
                    let source = loop.source(mode) {}
                    loop.wakeUp()
                    _ = (observer.description.count, source.description.count, source.isSignalled)
                    observer.invalidate()
                    source.invalidate()
                    if worker == 0, number % 50 == 0 { try? loop.addCommonMode(mode) }
                }
            }
            enough.set()
            pthread_join(asker, nil)
            thread.finish()
            #expect(loop.currentMode == nil)
        }
    }
}
