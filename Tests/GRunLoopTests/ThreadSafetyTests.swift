// SPDX-License-Identifier: Apache-2.0
// The calls that other threads may make: part 1.14, item 197.

import GRunLoop
import GRunLoopDiagnostics
import Glibc
import TestSupport
import Testing

@Suite struct ThreadSafetyTests {
    @Test("item 197: items, blocks, wake-ups and queries work on every thread: many concurrent calls lose nothing")
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
                        // Limits the number of open descriptors, so that the process does not run out of them.
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
        "items 197, 211: calls for the loop's own thread end the process elsewhere, and the message names the thread",
        arguments: WrongThread.calls.indices)
    func calledElsewhere(number: Int) async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [number] in
            let thread = LoopThread.running()
            WrongThread.calls[number].make(thread.loop)
        }
        let errors = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        let name = WrongThread.calls[number].name
        #expect(errors.contains("GRunLoop.\(name): called on another thread than the loop's own"), "\(errors)")
        #expect(errors.contains("call this function on the loop's thread with async(inModes:_:)"), "\(errors)")
    }
}

private enum WrongThread {
    struct Call: Sendable {
        let name: String
        let make: @Sendable (GRunLoop) -> Void

        init(_ name: String, _ make: @escaping @Sendable (GRunLoop) -> Void) {
            self.name = name
            self.make = make
        }
    }

    static let calls: [Call] = [
        Call("run") { $0.run() },
        Call("run") { $0.run(mode: "here", for: .zero) },
        Call("run(until:)") { $0.run(until: GRunLoop.distantPast) },
        Call("run(mode:before:)") { $0.run(mode: "here", before: GRunLoop.distantPast) },
        Call("acceptInput") { $0.acceptInput(forMode: "here", before: GRunLoop.distantPast) },
        Call("limitDate") { _ = $0.limitDate(forMode: "here") },
        Call("perform(after:)") { $0.perform(after: .zero) {} },
        Call("perform(order:)") { $0.perform(order: 0, inModes: ["here"]) {} },
        Call("cancelPerforms") { $0.cancelPerforms(target: Witness {}) },
        Call("push(ambientMode:)") { _ = try? $0.push(ambientMode: "here") },
        Call("PushedMode.pop") { loop in
            let pushed = try? loop.performAndWait { try GRunLoop.current.push(ambientMode: "here") }
            pushed?.pop()
        },
        Call("detach") { $0.detach() },
        Call("attach") { $0.attach() },
        Call("startTracing") { $0.startTracing(GRunLoop.Trace()) },
        Call("stopTracing") { $0.stopTracing() },
    ]
}
