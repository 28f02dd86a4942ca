// SPDX-License-Identifier: Apache-2.0
// Scenario actor-on-a-loop: an actor that lives on the run loop of a worker thread, beside sources and timers.

import GRunLoop

/// An example of an actor on a loop: a decoder that uses a library. The library works on one thread only, and calls its
/// callbacks on this thread.
private actor Decoder {
    private nonisolated let executor: GRunLoop.Executor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private var frames = 0

    init(on loop: GRunLoop) {
        executor = GRunLoop.Executor(loop, label: "Decoder")
    }

    func decode() -> Int {
        frames += 1
        return frames
    }

    /// A callback of the library on the loop's thread. This callback accesses the actor's state directly, without
    /// scheduling a job of the actor.
    nonisolated func frameArrived() -> Int {
        assumeIsolated { decoder in
            decoder.frames += 1
            return decoder.frames
        }
    }

    /// A job that makes a nested run of the loop. The nested run executes the actor's other jobs.
    func decodeModally(_ loop: GRunLoop, _ log: Recorder) {
        Task { log.line("nested run", "a job of the same actor", "frame \(decode())") }
        runNested(loop)
        log.line("job with a nested run", "ends after it", "\(frames) frames")
    }

    private nonisolated func runNested(_ loop: GRunLoop) {
        loop.run(for: .patience, returningAfterSourceHandled: true)
    }
}

enum ActorOnALoop {
    static let scenario = Scenario(
        "actor-on-a-loop", "An actor runs on a worker's run loop; that loop's callouts are isolated to the actor.",
        expected: """
            await decoder.decode() | on the thread of the loop | frame 1
            timer callout          | assumeIsolated holds      | frame 2
            nested run             | a job of the same actor   | frame 3
            job with a nested run  | ends after it             | 3 frames
            await loop.run { }     | on the thread of the loop | 42
            the main thread        | is it isolated there?     | false
            """, body: run)

    private static func run(_ log: Recorder) throws {
        let worker = try GRunLoop.Thread(name: "decoder")
        Task { @MainActor in
            await use(worker.loop, log)
            await worker.stopAndWait()
            GRunLoop.main.stop()
        }
        GRunLoop.main.run(for: .patience)
    }

    @MainActor private static func use(_ loop: GRunLoop, _ log: Recorder) async {
        let isThere: @Sendable () -> String = {
            loop.executor.isIsolatingCurrentContext() == true ? "on the thread of the loop" : "elsewhere"
        }
        let decoder = Decoder(on: loop)
        let frame = await decoder.decode()
        log.line("await decoder.decode()", await loop.run(isThere), "frame \(frame)")
        await withCheckedContinuation { continuation in
            let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: false) { _ in
                log.line("timer callout", "assumeIsolated holds", "frame \(decoder.frameArrived())")
                continuation.resume()
            }
            loop.add(timer, forMode: .default)
        }
        await decoder.decodeModally(loop, log)
        let answer = await loop.run { 6 * 7 }
        log.line("await loop.run { }", await loop.run(isThere), "\(answer)")
        log.line("the main thread", "is it isolated there?", "\(loop.executor.isIsolatingCurrentContext() ?? true)")
    }
}
