// SPDX-License-Identifier: Apache-2.0
// The end of a channel: each accepted element is delivered or passed to undelivered, once and without a lock.

import GRunLoop
import Glibc
import TestSupport
import Testing

private typealias Channel = GRunLoop.Channel

/// A channel of numbers that records its undelivered elements.
private func numbers(capacity: Int = .max, lost: Shared<[Int]>) -> GRunLoop.Channel<Int> {
    GRunLoop.Channel(capacity: capacity) { number in lost.update { $0.append(number) } }
}

@Suite("Channels that end") struct ChannelEndTests {
    @Test("a closed channel delivers nothing, and passes its elements to undelivered, in order")
    func closed() async throws {
        try await onFreshThread { loop in
            let lost = Shared<[Int]>([])
            let channel = numbers(lost: lost)
            channel.receive(on: loop) { _ in Issue.record("delivered") }
            for number in 1...100 { _ = channel.trySend(number) }
            #expect(channel.isOpen)
            channel.invalidate()
            #expect(lost.value == Array(1...100) && !channel.isOpen && channel.count == 0)
            #expect(channel.trySend(101) == .closed && !loop.contains(channel, forMode: .common))
            channel.invalidate()
            channel.close()
            #expect(loop.run(mode: .default, for: .zero) == .finished && lost.value.count == 100)
        }
    }

    @Test("a channel that is closed in its closure, also in a nested run, delivers no more and then passes on the rest")
    func closedInTheClosure() async throws {
        try await onFreshThread { loop in
            for nests in [false, true] {
                let (lost, found) = (Shared<[Int]>([]), Shared<[Int]>([]))
                let channel = numbers(lost: lost)
                channel.receive(on: loop) { number in
                    found.update { $0.append(number) }
                    if nests, number == 1 {
                        _ = channel.trySend(6)
                        loop.run(mode: .default, for: .zero)
                    }
                    if number == 2 { channel.invalidate() }
                    #expect(lost.value.isEmpty, "not while the closure is on the stack")
                }
                for number in 1...5 { _ = channel.trySend(number) }
                loop.run(mode: .default, for: .zero)
                #expect(found.value == [1, 2] && lost.value == (nests ? [3, 4, 5, 6] : [3, 4, 5]))
            }
        }
    }

    @Test("if another thread closes the channel while its closure runs, the loop passes the rest to undelivered")
    func closedMeanwhile() {
        let (lost, isIn, isClosed) = (Shared<[Int]>([]), Flag(), Flag())
        let loser = Shared<pid_t>(0)
        let channel = Channel<Int>(undelivered: { number in
            lost.update { $0.append(number) }
            loser.value = threadID
        })
        for number in 1...3 { _ = channel.trySend(number) }
        let thread = LoopThread { loop in
            channel.receive(on: loop) { number in
                #expect(number == 1)
                isIn.set()
                isClosed.wait()
            }
            loop.run(for: .seconds(30))
        }
        #expect(isIn.wait())
        channel.invalidate()
        #expect(lost.value.isEmpty && channel.trySend(4) == .closed)
        isClosed.set()
        thread.join()
        #expect(lost.value == [2, 3] && loser.value == thread.kernelID)
    }

    @Test("a finished channel delivers its elements, and then leaves its modes")
    func finished() async throws {
        try await onFreshThread { loop in
            let (lost, found) = (Shared<[Int]>([]), Shared<[Int]>([]))
            let channel = numbers(lost: lost)
            for number in 1...3 { _ = channel.trySend(number) }
            channel.close()
            #expect(channel.trySend(4) == .closed && !channel.isOpen)
            channel.receive(on: loop) { number in found.update { $0.append(number) } }
            #expect(loop.run(for: .seconds(5)) == .finished)
            #expect(found.value == [1, 2, 3] && lost.value.isEmpty)
            let empty = Channel<Int>()
            empty.receive(on: loop) { _ in }
            empty.close()
            #expect(!loop.contains(empty, forMode: .common))
            let unused = Channel<Int>()
            unused.close()
            unused.receive(on: loop) { _ in }
            #expect(loop.run(for: .seconds(5)) == .finished)
        }
    }

    @Test("a channel that is released with elements delivers them; in no mode it passes them to undelivered")
    func letGo() async throws {
        try await onFreshThread { loop in
            let (lost, found) = (Shared<[Int]>([]), Shared<[Int]>([]))
            let core = Weak<Witness>()
            func send(_ names: [GRunLoop.Mode]?) {
                let witness = Witness {}
                core.object = witness
                let channel = Channel<Int>(undelivered: { number in
                    lost.update { $0.append(number) }
                    withExtendedLifetime(witness) {}
                })
                for number in 1...3 { _ = channel.trySend(number) }
                if let names {
                    channel.receive(on: loop, inModes: names) { number in found.update { $0.append(number) } }
                }
            }
            send(nil)
            #expect(lost.update { $0.removeAll() } == () && core.object == nil)
            send(nil)
            #expect(lost.value == [1, 2, 3] && core.object == nil)
            lost.value = []
            send([])
            #expect(lost.value == [1, 2, 3] && found.value.isEmpty && core.object == nil)
            lost.value = []
            send([.common])
            #expect(core.object != nil, "the loop holds it")
            #expect(loop.run(for: .seconds(5)) == .finished)
            #expect(lost.value.isEmpty && found.value == [1, 2, 3] && core.object == nil)
        }
    }

    @Test("the end of its loop closes a channel, in a mode or not; later elements go to undelivered")
    func loopEnds() {
        let lost = Shared<[Int]>([])
        let (inMode, inNone, late) = (numbers(lost: lost), numbers(lost: lost), numbers(lost: lost))
        let thread = LoopThread { loop in
            inMode.receive(on: loop) { _ in Issue.record("delivered") }
            inNone.receive(on: loop, inModes: []) { _ in Issue.record("delivered") }
            _ = inMode.trySend(1)
            _ = inNone.trySend(2)
        }
        thread.join()
        #expect(lost.value.sorted() == [1, 2] && inMode.trySend(3) == .closed && inNone.trySend(3) == .closed)
        _ = late.trySend(4)
        late.receive(on: thread.loop) { _ in Issue.record("delivered") }
        #expect(lost.value.last == 4 && late.trySend(5) == .closed)
    }

    @Test("a sleeping run of an otherwise empty mode finishes when another thread ends the channel", arguments: 0..<4)
    func endWakes(_ way: Int) async throws {
        try await onFreshThread { _ in
            let held = Shared<Channel<Int>?>(Channel())
            let result = Shared<GRunLoop.RunResult?>(nil)
            let task = Shared<Task<Void, Never>?>(nil)
            let thread = LoopThread { loop in
                if way == 3, let channel = held.value {
                    let elements = channel.elements(on: loop)
                    task.value = Task { for await _ in elements {} }
                    #expect(waitUntil { loop.contains(channel, forMode: .default) })
                } else {
                    held.value?.receive(on: loop) { _ in }
                }
                result.value = loop.run(mode: .default, for: Patience.normal)
            }
            thread.waitUntilAsleep()
            switch way {
            case 0: held.value?.close()
            case 1: held.value?.invalidate()
            case 2: held.value = nil
            default: task.value?.cancel()
            }
            thread.join()
            #expect(result.value == .finished)
        }
    }

    @Test("if a beforeWaiting observer closes the only channel of a mode, the run finishes without a sleep")
    func closedBeforeWaiting() async throws {
        try await onFreshThread { loop in
            let channel = Channel<Int>()
            channel.receive(on: loop) { _ in }
            loop.add(GRunLoop.Observer(activities: .beforeWaiting) { _, _ in channel.close() }, forMode: .default)
            #expect(loop.run(mode: .default, for: Patience.normal) == .finished)
        }
    }

    @Test("if the closure ends its thread, the rest goes to undelivered", .disabled(if: sanitizer == "address"))
    func threadLeaves() {
        let lost = Shared<[Int]>([])
        let channel = numbers(lost: lost)
        let thread = startThread {
            channel.receive(on: .current) { number in if number == 2 { pthread_exit(nil) } }
            for number in 1...5 { _ = channel.trySend(number) }
            GRunLoop.current.run(for: .seconds(30))
        }
        join(thread)
        #expect(lost.value == [3, 4, 5] && channel.trySend(6) == .closed)
    }

    @Test("no lock is held when an element is released: delivered, refused or undelivered")
    func deinits() async throws {
        final class Nosy: Sendable {
            private let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
            deinit { body() }
        }
        try await onFreshThread { loop in
            let (channel, gone) = (Channel<Nosy>(capacity: 2), Counter())
            let call: @Sendable () -> Void = {
                gone.increment()
                _ = (channel.count, channel.isOpen, loop.contains(channel, forMode: .default))
                loop.wakeUp()
            }
            channel.receive(on: loop) { _ in }
            #expect(channel.trySend(Nosy(call)) == .enqueued && channel.trySend(Nosy(call)) == .enqueued)
            #expect(channel.trySend(Nosy(call)) == .full && gone.value == 1)
            loop.run(mode: .default, for: .zero)
            #expect(gone.value == 3)
            #expect(channel.trySend(Nosy(call)) == .enqueued)
            channel.invalidate()
            #expect(gone.value == 4)
            #expect(channel.trySend(Nosy(call)) == .closed && gone.value == 5)
        }
    }

    @Test("a channel is closed while eight threads send: each accepted element is delivered or undelivered, once")
    func closedWhileTheySend() async throws {
        for round in 0..<20 {
            let (accepted, lost, found) = (Shared(0), Shared(0), Shared(0))
            let channel = Channel<Int>(
                capacity: round % 2 == 0 ? .max : 100, undelivered: { number in lost.update { $0 += number } })
            let worker = try GRunLoop.Thread(name: "closed")
            channel.receive(on: worker.loop) { number in
                found.update { $0 += number }
                if round % 4 < 2, number == 500 { channel.invalidate() }
            }
            concurrently(8) { producer in
                var own = 0
                for number in 1...3000 {
                    switch channel.trySend(number) {
                    case .enqueued: own += number
                    case .full: sched_yield()
                    case .closed: break
                    }
                    if producer == 7, number == 1500 { round % 4 < 2 ? channel.close() : channel.invalidate() }
                }
                accepted.update { $0 += own }
            }
            worker.stop()
            await worker.waitUntilEnded()
            #expect(accepted.value == lost.value + found.value)
        }
    }
}
