// SPDX-License-Identifier: Apache-2.0
// A task that receives from a channel takes an element in each of its turns, whatever the time slice.

import CGRunGLib
import GRunLoop
import TestSupport
import Testing

/// A task on the loop that receives all that is sent.
private struct Receiving {
    let count = Counter()
    private let channel = GRunLoop.Channel<Int>()

    init(_ number: Int, on loop: GRunLoop) {
        let (channel, count) = (channel, count)
        Task(executorPreference: loop.executor) {
            for await _ in channel.elements(on: loop) { count.increment() }
        }
        // The task begins to wait.
        loop.run(for: .zero)
        for number in 0..<number { #expect(channel.trySend(number) == .enqueued) }
    }
}

@Suite("Channels: turns of a task") struct ChannelTurnTests {
    @Test("a slice of zero is one element a turn", arguments: [true, false])
    func zero(isHosted: Bool) async throws {
        try await onFreshThread(timeSlice: .zero) { loop in
            let receiving = Receiving(50, on: loop)
            // A pass to wake the task, one for each element, and as many for what each of them enqueues.
            for _ in 0..<300 where receiving.count.value < 50 {
                if isHosted {
                    try #require(loop.homeContext).withPointer { _ = g_main_context_iteration($0, 0) }
                } else {
                    loop.run(for: .zero)
                }
            }
            #expect(receiving.count.value == 50)
        }
    }

    @Test("beside blocks and timers that each use up the slice, a task has an element in each of its turns")
    func starved() async throws {
        try await onFreshThread(timeSlice: .microseconds(200)) { loop in
            let blocks = Counter()
            @Sendable func enqueue() {
                loop.perform {
                    work(for: .microseconds(300))
                    if blocks.increment() < 400 { enqueue() } else { loop.stop() }
                }
            }
            let timer = GRunLoop.Timer(interval: .microseconds(100), repeats: true) { _ in
                work(for: .microseconds(300))
            }
            loop.add(timer, forMode: .default)
            let receiving = Receiving(20, on: loop)
            enqueue()
            loop.on(.beforeTimers) { _ in if receiving.count.value == 20 { loop.stop() } }
            #expect(loop.run(for: Patience.normal) == .stopped)
            #expect(receiving.count.value == 20, "\(blocks.value) blocks")
            timer.invalidate()
        }
    }

    @Test(
        "in virtual time the passes in which elements come depend on no clock",
        arguments: [Duration.zero, .seconds(1)])
    func virtual(slice: Duration) async throws {
        try await onFreshThread { _ in
            GRunLoop.withVirtualTime { time in
                time.loop.timeSlice = slice
                let receiving = Receiving(50, on: time.loop)
                let passes = Counter()
                time.loop.on(.beforeSources) { _ in if receiving.count.value < 50 { passes.increment() } }
                time.advance(by: .milliseconds(1))
                #expect(receiving.count.value == 50)
                // The wake-up of the task, and its job.
                #expect(passes.value == 2)
            }
        }
    }
}
