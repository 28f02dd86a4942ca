// SPDX-License-Identifier: Apache-2.0
// A client of the library, as scripts/clients compiles it in both language modes: every public type and most calls,
// beside Foundation, which has types of the same names.

import Dispatch
import Foundation
import GRunLoop

@main struct Client {
    @MainActor static func main() async {
        GRunLoop.driveAsyncMain()
        items()
        await asynchronous()
        virtualTime()
    }

    @MainActor private static func items() {
        let loop = GRunLoop.main
        let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: false) { timer in precondition(timer.isValid) }
        loop.add(timer, forMode: .common)
        let source = GRunLoop.Source { @MainActor in touch() }
        loop.add(source, forMode: .default)
        source.signal()
        let observer = GRunLoop.Observer(activities: [.beforeWaiting, .exit]) { _, activity in
            precondition(!activity.isEmpty)
        }
        loop.add(observer, forMode: .default)
        let descriptor = GRunLoop.DescriptorSource(descriptor: FileHandle.standardInput.fileDescriptor) { _, _ in }
        try? loop.add(descriptor, forMode: "private")
        loop.perform { @MainActor in touch() }
        loop.perform(inModes: [.default]) { @MainActor in touch() }
        loop.async { @MainActor in touch() }
        loop.async(inModes: [.default]) { @MainActor in touch() }
        try? loop.performOnThread { @MainActor in touch() }
        loop.perform { MainActor.assumeIsolated { touch() } }
        loop.async { DispatchQueue.main.async { touch() } }
        let result = loop.run(for: .milliseconds(5), returningAfterSourceHandled: false)
        precondition(result == .timedOut && touched > 6)
        // Foundation's own run loop is used in the same file.
        _ = RunLoop.current.run(mode: RunLoop.Mode.default, before: Date())
        precondition(Foundation.Thread.isMainThread)
        source.invalidate()
        observer.invalidate()
        descriptor.invalidate()
    }

    @MainActor private static var touched = 0
    @MainActor private static func touch() { touched += 1 }

    private actor Resident {
        private nonisolated let executor: GRunLoop.Executor
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
        private var count = 0

        init(on loop: GRunLoop) { executor = GRunLoop.Executor(loop, label: "Resident") }

        func increment() -> Int {
            count += 1
            return count
        }
    }

    @MainActor private static func asynchronous() async {
        do {
            let worker = try GRunLoop.Thread(name: "client")
            let resident = Resident(on: worker.loop)
            let count = await resident.increment()
            precondition(count == 1)
            let here = await worker.loop.run { GRunLoop.current === worker.loop }
            precondition(here)
            try await worker.loop.sleep(for: .milliseconds(1), tolerance: .milliseconds(1))
            try await worker.loop.clock.sleep(until: worker.loop.clock.now.advanced(by: .milliseconds(1)))
            var ticks = 0
            for await _ in worker.loop.ticks(every: .milliseconds(1)) {
                ticks += 1
                if ticks == 3 { break }
            }
            let beat = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { _ in }
            worker.loop.add(beat, forMode: .default)
            for await activity in worker.loop.activities(.all) where !activity.isEmpty { break }
            let pipe = Pipe()
            pipe.fileHandleForWriting.write(Data([1]))
            let descriptor = pipe.fileHandleForReading.fileDescriptor
            for try await ready in worker.loop.readiness(of: descriptor) where ready == .readable { break }
            let channel = GRunLoop.Channel<Int>(capacity: 1)
            precondition(channel.trySend(1) == .enqueued && channel.trySend(2) == .full)
            let port = GRunLoop.Port(capacity: 1)
            let (isFirstSent, isSecondSent) = (port.trySend(.init(id: 1)), port.trySend(.init(id: 2)))
            precondition(isFirstSent && !isSecondSent)
            await withTaskExecutorPreference(worker.loop.executor) { touchElsewhere() }
            worker.stop()
            await worker.waitUntilEnded()
        } catch {
            fatalError("\(error)")
        }
    }

    nonisolated private static func touchElsewhere() {}

    private static func virtualTime() {
        let fired = GRunLoop.withVirtualTime { time in
            let timer = GRunLoop.Timer(fireAt: time.now.advanced(by: .seconds(3600))) { _ in }
            time.loop.add(timer, forMode: .default)
            time.advance(by: .seconds(3600))
            return !timer.isValid
        }
        precondition(fired)
    }
}
