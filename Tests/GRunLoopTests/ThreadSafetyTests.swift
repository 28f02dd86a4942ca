// SPDX-License-Identifier: Apache-2.0
// Which calls other threads may make: part 1.14, item 197.

import GRunLoop
import GRunLoopDiagnostics
import Glibc
import TestSupport
import Testing

@Suite struct ThreadSafetyTests {
    @Test("item 197: items, blocks, wake-ups and questions are for every thread: many at once lose nothing")
    func manyThreads() async throws {
        try await onFreshThread { _ in
            let thread = LoopThread.running()
            let loop = thread.loop
            try loop.addCommonMode("second")
            let ran = Counter()
            let performed = Counter()
            let fired = Counter()
            let read = Counter()
            let rounds = 200
            let workers = (0..<4).map { worker in
                startThread {
                    let ownRead = Counter()
                    for round in 0..<rounds {
                        let source = GRunLoop.Source(order: round % 7) { performed.increment() }
                        loop.add(source, forMode: round % 2 == 0 ? .default : .common)
                        source.signal()
                        loop.wakeUp()
                        let timer = GRunLoop.Timer(interval: .microseconds(round * 10), repeats: false) { _ in
                            fired.increment()
                        }
                        loop.add(timer, forMode: .default)
                        timer.fireDate = GRunLoop.now.advanced(by: .microseconds(round))
                        let observer = GRunLoop.Observer(activities: .all) { _, _ in }
                        loop.add(observer, forMode: .common)
                        let pipe = Pipe()
                        pipe.send()
                        let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { source, _ in
                            source.invalidate()
                            withExtendedLifetime(pipe) {}
                            read.increment()
                            ownRead.increment()
                        }
                        try? loop.add(descriptor, forMode: round % 2 == 0 ? .common : .default)
                        loop.async { ran.increment() }
                        _ = loop.currentMode
                        _ = loop.isWaiting
                        _ = loop.allModes
                        _ = loop.nextFireDate(forMode: .default)
                        _ = loop.contains(source, forMode: .common)
                        if round % 20 == worker { _ = loop.description }
                        // Not so many descriptors at a time that the process runs out of them.
                        _ = waitUntil { !source.isSignalled && round < ownRead.value + 32 }
                        source.invalidate()
                        observer.invalidate()
                    }
                }
            }
            for worker in workers { pthread_join(worker, nil) }
            #expect(ran.wait(for: 4 * rounds))
            #expect(performed.wait(for: 4 * rounds))
            #expect(fired.wait(for: 4 * rounds))
            #expect(read.wait(for: 4 * rounds))
            thread.finish()
            #expect(ran.value == 4 * rounds && performed.value == 4 * rounds)
            #expect(fired.value == 4 * rounds && read.value == 4 * rounds)
        }
    }

    @Test(
        "item 197: running is for the loop's own thread: elsewhere it is refused, and the message says where to call it"
    )
    func runningElsewhere() async throws {
        try await onFreshThread { _ in
            let thread = LoopThread.running()
            let loop = thread.loop
            let ran = Counter()
            // Nothing of this may run here.
            loop.perform(inModes: ["here"]) { ran.increment() }
            let calls: [(String, (GRunLoop) -> Bool)] = [
                ("run(mode:for:)", { $0.run(mode: "here", for: .zero) == .finished }),
                ("run(mode:before:)", { $0.run(mode: "here", before: GRunLoop.distantPast) == false }),
                ("runUntilStopped", { $0.runUntilStopped() == .finished }),
                ("acceptInput", { $0.acceptInput(forMode: "here", before: GRunLoop.distantPast) == () }),
                ("limitDate", { $0.limitDate(forMode: "here") == nil }),
                ("run(mode:before:)", { $0.run(until: GRunLoop.distantFuture) == () }),
                ("run(mode:before:)", { $0.run() == () }),
                ("perform(after:)", { ($0.perform(after: .zero) { ran.increment() }, true).1 }),
                ("perform(order:)", { $0.perform(order: 0, inModes: ["here"]) { ran.increment() } == () }),
                ("startTracing", { $0.startTracing(GRunLoop.Trace()) == () }),
            ]
            for (name, call) in calls {
                let (isRefused, messages) = capturingLog { call(loop) }
                #expect(isRefused, "\(name)")
                #expect(
                    messages.count == 1
                        && messages[0].hasPrefix("critical: GRunLoop.\(name): called on another thread"),
                    "\(messages)")
                #expect(messages.allSatisfy { $0.contains("async(inModes:_:)") })
            }
            #expect(ran.value == 0)
            thread.finish()
        }
    }
}
