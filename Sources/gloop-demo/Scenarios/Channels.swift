// SPDX-License-Identifier: Apache-2.0
// Scenario channel: threads send values to a loop through a channel with a limit, and undelivered values are returned.

import GRunLoop
import Glibc

/// Four threads send through one channel, and the values of each thread arrive in the order in which this thread sent
/// them. A full channel refuses a value without blocking. When a channel is invalidated, accepted values that were not
/// delivered are returned to the program.
enum Channels {
    static let scenario = Scenario(
        "channel", "Four threads send values to the loop: in order, with a limit, and without loss.",
        expected: """
            threads | sent 4000 values through a channel with room for 64
            loop    | got 4000, each thread's in its order
            loop    | full when it sends to itself: refused, and nobody waits
            task    | for await got 10, on the loop's thread
            closed  | 3 were delivered, 7 given back, and no more is taken
            """, body: run)

    private static let mode: GRunLoop.Mode = "channel"
    private static let (threads, each) = (4, 1000)

    private static func run(_ log: Recorder) {
        fromThreads(log)
        toItself(log)
        toATask(log)
        closed(log)
    }

    private static func fromThreads(_ log: Recorder) {
        let loop = GRunLoop.main
        let channel = GRunLoop.Channel<(thread: Int, number: Int)>(capacity: 64)
        let next = Shared([Int](repeating: 0, count: threads))
        let isInOrder = Shared(true)
        channel.receive(on: loop, inModes: [mode]) { value in
            if next.value[value.thread] != value.number { isInOrder.value = false }
            var all = next.value
            all[value.thread] = value.number + 1
            next.value = all
            if all.reduce(0, +) == threads * each { loop.stop() }
        }
        let workers = (0..<threads).map { thread in
            WorkerThread {
                for number in 0..<each { while channel.trySend((thread, number)) == .full { sched_yield() } }
            }
        }
        loop.run(mode: mode, for: .patience)
        for worker in workers { worker.join() }
        channel.invalidate()
        log.line("threads", "sent \(threads * each) values through a channel with room for \(channel.capacity)")
        log.line(
            "loop", "got \(next.value.reduce(0, +)), \(isInOrder.value ? "each thread's in its order" : "mixed up")")
    }

    private static func toItself(_ log: Recorder) {
        let loop = GRunLoop.main
        let channel = GRunLoop.Channel<Int>(capacity: 2)
        defer { channel.invalidate() }
        let results = Shared<[GRunLoop.SendResult]>([])
        channel.receive(on: loop, inModes: [mode]) { value in
            if value == 1 { results.value = (2...4).map { channel.trySend($0) } }
        }
        _ = channel.trySend(1)
        loop.run(mode: mode, for: .zero)
        let isFull = results.value == [.enqueued, .enqueued, .full]
        log.line("loop", isFull ? "full when it sends to itself: refused, and nobody waits" : "\(results.value)")
    }

    private static func toATask(_ log: Recorder) {
        let loop = GRunLoop.main
        let channel = GRunLoop.Channel<Int>()
        Task(executorPreference: loop.executor) {
            var (count, isThere) = (0, true)
            for await _ in channel.elements(on: loop) {
                count += 1
                if !isMainThread { isThere = false }
            }
            log.line("task", "for await got \(count), \(isThere ? "on the loop's thread" : "elsewhere")")
            loop.stop()
        }
        let worker = WorkerThread {
            for number in 1...10 { _ = channel.trySend(number) }
            channel.close()
        }
        loop.run(for: .patience)
        worker.join()
    }

    private static func closed(_ log: Recorder) {
        let loop = GRunLoop.main
        let (delivered, returned) = (Shared(0), Shared(0))
        let channel = GRunLoop.Channel<Int>(undelivered: { _ in returned.increment() })
        channel.receive(on: loop, inModes: [mode]) { value in
            delivered.increment()
            if value == 3 { channel.invalidate() }
        }
        for value in 1...10 { _ = channel.trySend(value) }
        loop.run(mode: mode, for: .zero)
        let end = channel.trySend(11) == .closed ? "no more is taken" : "more is taken"
        log.line("closed", "\(delivered.value) were delivered, \(returned.value) given back, and \(end)")
    }
}
