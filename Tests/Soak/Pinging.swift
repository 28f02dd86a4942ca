// SPDX-License-Identifier: Apache-2.0
// Sends one event at a time to a sleeping loop, so that no later event hides a lost one.

import CGRunGLib
import Dispatch
import GRunLoop
import Glibc
import TestSupport

extension Producer {
    private enum Way: CaseIterable {
        case async, performAndWake, perform, slowPerforms, job, mainQueue, callback, signal, addTimer,
            addTolerantTimer, moveTimer, event, addDescriptor, addContext, wakeUp,
            idleWork, addIdleQueue, idle
    }

    /// Pings until the date. No other thread gives the loop events.
    func ping(_ consumer: Consumer, until end: Int64) {
        let answers = Counted()
        // A mode's first descriptor, and events while a mode has none, end a sleep in another way than a further
        // descriptor.
        let kit = PingKit(number, consumer, answers, watches: dice.chance(50))
        var wanted = 0
        while nanoseconds() < end, Findings.isEmpty {
            let way = dice.pick(Way.allCases)
            if way == .mainQueue && !consumer.isMain || way == .event && !kit.watches { continue }
            // Sends at any point of the loop's way to sleep.
            let (waits, pause) = (dice.chance(60), dice.number(0...40))
            if waits { _ = waitUntil(timeout: .milliseconds(2)) { consumer.loop.isWaiting } }
            let start = nanoseconds()
            while nanoseconds() < start + Int64(pause) * 1000 {}
            wanted += 1
            send(way, kit)
            waitFor("a ping of producer \(number) by \(way), number \(wanted), to \(consumer.name)", on: consumer) {
                answers.value >= wanted
            }
            if answers.value > wanted {
                Findings.add("delivered twice: a ping of producer \(number) by \(way) to \(consumer.name)")
            }
            Census.shared.pings.add()
        }
        kit.end()
        if answers.value > wanted {
            Findings.add("delivered twice: a ping of producer \(number) to \(consumer.name), after the last one")
        }
    }

    private func send(_ way: Way, _ kit: PingKit) {
        let (loop, producer, consumer, answers) = (kit.consumer.loop, number, kit.consumer, kit.answers)
        let since = nanoseconds()
        let answer = { @Sendable (kind: Kind) in
            consumer.enter(kind, owedSince: since, producer)
            answers.add()
        }
        switch way {
        case .async: loop.async { answer(.blockCommon) }
        case .performAndWake:
            loop.perform { answer(.blockDefault) }
            loop.wakeUp()
        case .perform: try? loop.performOnThread { answer(.perform) }
        case .slowPerforms:
            // These performs take longer than a slice, and no other event makes the loop continue with the rest.
            for index in 0..<3 {
                try? loop.performOnThread {
                    spin(for: .milliseconds(3))
                    if index == 2 { answer(.perform) }
                }
            }
        case .job: Task(executorPreference: loop.executor) { answer(.job) }
        case .mainQueue: DispatchQueue.main.async { answer(.mainQueue) }
        case .callback:
            consumer.home.withPointer { context in
                Callbacks.idle(in: context) {
                    answer(.callback)
                    return false
                }
            }
        case .signal:
            kit.source.signal()
            loop.wakeUp()
        case .addTimer: loop.after(.zero, .common) { answer(.timer) }
        case .addTolerantTimer:
            let timer = GRunLoop.Timer(interval: .zero, repeats: false, tolerance: .milliseconds(1)) { _ in
                answer(.timer)
            }
            loop.add(timer, forMode: .common)
        case .moveTimer: kit.timer.fireDate = GRunLoop.now
        case .event: kit.event.makeReady()
        case .addDescriptor: loop.onEvent { answer(.descriptor) }
        case .addContext:
            guard let context = g_main_context_new() else { return Findings.add("no context") }
            let pointer = ContextPointer(context)
            Callbacks.idle(in: context) {
                loop.remove(GRunLoop.Context(pointer.context), forMode: .common)
                answer(.callback)
                return false
            }
            loop.add(GRunLoop.Context(context), forMode: .common)
            g_main_context_unref(context)
        case .idleWork: consumer.idleQueue.enqueue { answer(.idleWork) }
        case .addIdleQueue:
            let queue = GRunLoop.IdleQueue()
            queue.enqueue { [weak queue] in
                queue?.invalidate()
                answer(.idleWork)
            }
            loop.add(queue, forMode: .common)
        case .idle:
            Task(executorPreference: loop.executor) {
                try? await loop.waitUntilIdle()
                answer(.idleWork)
            }
        case .wakeUp:
            // Blocks and signals that do not wake the loop wait for this event.
            loop.perform(inModes: [.common]) {}
            kit.source.signal()
            loop.wakeUp()
        }
    }
}

extension GRunLoop {
    /// Calls `body` once in the common modes, by a descriptor that is ready already.
    func onEvent(_ body: @escaping @Sendable () -> Void) {
        let event = EventDescriptor()
        event.makeReady()
        let source = DescriptorSource(descriptor: event.descriptor) { source, _ in
            source.invalidate()
            _ = event.consume()
            body()
        }
        try? add(source, forMode: .common)
    }
}

private struct ContextPointer: @unchecked Sendable {
    let context: OpaquePointer
    init(_ context: OpaquePointer) { self.context = context }
}

/// The items that stay in the loop while it is pinged.
private final class PingKit: Sendable {
    let consumer: Consumer
    let answers: Counted
    let source: GRunLoop.Source
    let timer: GRunLoop.Timer
    let event = EventDescriptor()
    let watches: Bool
    private let descriptor: GRunLoop.DescriptorSource

    init(_ producer: Int, _ consumer: Consumer, _ answers: Counted, watches: Bool) {
        (self.consumer, self.answers, self.watches) = (consumer, answers, watches)
        source = GRunLoop.Source {
            consumer.enter(.source, owedSince: nanoseconds(), producer)
            answers.add()
        }
        timer = GRunLoop.Timer(fireAt: GRunLoop.distantFuture, interval: .seconds(3600)) { timer in
            timer.fireDate = GRunLoop.distantFuture
            consumer.enter(.timer, owedSince: nanoseconds(), producer)
            answers.add()
        }
        descriptor = GRunLoop.DescriptorSource(descriptor: event.descriptor) { [event] _, _ in
            consumer.enter(.descriptor, owedSince: nanoseconds(), producer)
            for _ in 0..<event.consume() { answers.add() }
        }
        consumer.loop.add(source, forMode: .common)
        consumer.loop.add(timer, forMode: .common)
        if watches { try? consumer.loop.add(descriptor, forMode: .common) }
    }

    func end() {
        source.invalidate()
        timer.invalidate()
        descriptor.invalidate()
        consumer.barrier()
    }
}
