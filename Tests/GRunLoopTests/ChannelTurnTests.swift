// SPDX-License-Identifier: Apache-2.0
// A task that receives from a channel takes an element in each of its turns, whatever the time slice.

import CGRunGLib
import GRunLoop
import TestSupport
import Testing

/// A task on the loop that receives all elements.
private struct Receiving {
    let count = Counter()
    private let channel = GRunLoop.Channel<Int>()

    init(_ number: Int, on loop: GRunLoop) {
        let (channel, count) = (channel, count)
        Task(executorPreference: loop.executor) {
            for await _ in channel.elements(on: loop) { count.increment() }
        }
        // Lets the task begin to wait.
        loop.run(for: .zero)
        for number in 0..<number { #expect(channel.trySend(number) == .enqueued) }
    }
}

@Suite("Channels: turns of a task") struct ChannelTurnTests {
    @Test("with a time slice of zero, a task takes one element in each turn", arguments: [true, false])
    func zero(isHosted: Bool) async throws {
        try await onFreshThread(timeSlice: .zero) { loop in
            let receiving = Receiving(50, on: loop)
            // One pass wakes the task. Each element takes one pass, and so does the job that each element enqueues.
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

    @Test("a task takes one element in each turn, beside blocks and timers that each use up the slice")
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
        "in virtual time no clock affects in which passes elements arrive",
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
                // One pass wakes the task, and one runs its job.
                #expect(passes.value == 2)
            }
        }
    }
}
