// SPDX-License-Identifier: Apache-2.0
// Elements of a channel are delivered once and in order, in the modes of the receiver.

import CGRunGLib
import Glibc
import TestSupport
import Testing

@testable import GRunLoop

private typealias Channel = GRunLoop.Channel

extension GRunLoop.Channel {
    fileprivate var sparePieces: Int { core.guarded.spare.pieces.count }
}

@Suite("Channels") struct ChannelTests {
    @Test("elements are delivered in order, in one pass, and count as a handled source")
    func order() async throws {
        try await onFreshThread { loop in
            let channel = Channel<Int>()
            let found = Shared<[Int]>([])
            for number in 0..<50 { #expect(channel.trySend(number) == .enqueued) }
            channel.receive(on: loop) { number in found.update { $0.append(number) } }
            for number in 50..<100 { #expect(channel.trySend(number) == .enqueued) }
            #expect(found.value.isEmpty && channel.count == 100)
            #expect(loop.run(mode: .default, for: .zero, returningAfterSourceHandled: true) == .handledSource)
            #expect(found.value == Array(0..<100) && channel.count == 0)
            #expect(loop.run(mode: .default, for: .zero, returningAfterSourceHandled: true) == .timedOut)
        }
    }

    @Test("a burst from another thread wakes the loop once, and arrives as one batch")
    func burst() async throws {
        let (first, isFree) = (Flag(), Flag())
        let (batches, wakes) = (Shared<[[Int]]>([]), Counter())
        let channel = Channel<Int>()
        let thread = LoopThread { loop in
            channel.receiveBatches(on: loop) { batch in
                var copy: [Int] = []
                for index in batch.indices { copy.append(batch[index]) }
                batches.update { $0.append(copy) }
                first.set()
                isFree.wait()
                if copy.last == 1000 { loop.stop() }
            }
            loop.on(.afterWaiting) { _ in wakes.increment() }
            #expect(loop.run(for: .seconds(30)) == .stopped)
        }
        thread.waitUntilAsleep()
        _ = channel.trySend(0)
        #expect(first.wait())
        for number in 1...1000 { _ = channel.trySend(number) }
        isFree.set()
        thread.join()
        #expect(batches.value == [[0], Array(1...1000)] && wakes.value <= 2)
    }

    @Test("elements that the closure sends arrive in the next pass")
    func sentInTheClosure() async throws {
        try await onFreshThread { loop in
            let channel = Channel<Int>()
            let found = Shared<[Int]>([])
            channel.receive(on: loop) { number in
                found.update { $0.append(number) }
                if number < 3 { #expect(channel.trySend(number + 1) == .enqueued) }
            }
            _ = channel.trySend(0)
            for number in 0...3 {
                #expect(loop.run(mode: .default, for: .zero, returningAfterSourceHandled: true) == .handledSource)
                #expect(found.value.last == number)
            }
            #expect(loop.run(mode: .default, for: .zero) == .timedOut)
        }
    }

    @Test("sending to a full channel returns .full, and blocks neither sender nor loop", arguments: [-7, 0, 1, 3])
    func full(capacity: Int) async throws {
        try await onFreshThread { loop in
            let channel = Channel<Int>(capacity: capacity)
            let room = max(1, capacity)
            #expect(channel.capacity == room)
            let refused = Counter()
            channel.receive(on: loop) { number in
                guard number == 0 else { return }
                for other in 1...room { #expect(channel.trySend(other) == .enqueued) }
                for _ in 0..<3 where channel.trySend(-1) == .full { refused.increment() }
            }
            _ = channel.trySend(0)
            loop.run(mode: .default, for: .zero)
            #expect(refused.value == 3 && channel.count == room)
            loop.run(mode: .default, for: .zero)
            #expect(channel.count == 0 && channel.trySend(1) == .enqueued)
        }
    }

    @Test("memory is allocated when needed, also without a limit, and for elements of size zero")
    func growing() async throws {
        try await onFreshThread { loop in
            let (numbers, signs) = (Channel<(Int, Int, UInt8)>(capacity: .max), Channel<Void>())
            let (sum, count) = (Shared(0), Counter())
            numbers.receive(on: loop) { triple in sum.update { $0 += triple.0 + triple.1 + Int(triple.2) } }
            signs.receive(on: loop) { count.increment() }
            for round in 0..<3 {
                for number in 0..<20_000 { _ = numbers.trySend((number, round, 1)) }
                for _ in 0..<100 { _ = signs.trySend(()) }
                loop.run(mode: .default, for: .zero)
                #expect(sum.value == (0...round).reduce(0) { $0 + 20_000 * ($1 + 1) + 20_000 * 19_999 / 2 })
                #expect(count.value == 100 * (round + 1))
            }
        }
    }

    @Test("a burst allocates memory pieces, is delivered in order, and keeps spare pieces that later elements free")
    func memoryAfterABurst() async throws {
        try await onFreshThread { loop in
            let channel = Channel<Int>()
            let next = Shared(0)
            channel.receive(on: loop) { number in
                next.update {
                    if $0 == number { $0 += 1 }
                }
            }
            for number in 0..<300_000 { _ = channel.trySend(number) }
            loop.run(mode: .default, for: .zero)
            #expect(next.value == 300_000)
            #expect((32...128).contains(channel.sparePieces))
            // Sends one element at a time. Each delivery halves the number of spare pieces.
            for number in 300_000..<300_020 {
                _ = channel.trySend(number)
                loop.run(mode: .default, for: .zero)
            }
            #expect(next.value == 300_020)
            #expect(channel.sparePieces <= 1)
            channel.invalidate()
            #expect(channel.sparePieces == 0)
        }
    }

    // MARK: Modes

    @Test("a channel delivers only in its modes, in whichever of them runs")
    func modes() async throws {
        try await onFreshThread { loop in
            let channel = Channel<Int>()
            let found = Shared<[Int]>([])
            channel.receive(on: loop, inModes: ["one", "two"]) { number in found.update { $0.append(number) } }
            for mode in ["one", "two"] as [GRunLoop.Mode] { #expect(loop.contains(channel, forMode: mode)) }
            #expect(!loop.contains(channel, forMode: .common))
            loop.keepAlive()
            _ = channel.trySend(1)
            loop.run(mode: .default, for: .zero)
            #expect(found.value == [])
            loop.run(mode: "two", for: .zero)
            _ = channel.trySend(2)
            loop.run(mode: "one", for: .zero)
            #expect(found.value == [1, 2])
            #expect(loop.run(mode: "two", for: .zero) == .timedOut, "not twice")
            #expect(found.value == [1, 2])
        }
    }

    @Test("a channel that is removed in its closure delivers no more there; the rest waits until it is added again")
    func removedInTheClosure() async throws {
        try await onFreshThread { loop in
            let channel = Channel<Int>()
            let found = Shared<[Int]>([])
            channel.receive(on: loop, inModes: [.default, "other"]) { number in
                found.update { $0.append(number) }
                if number == 1 { loop.remove(channel, forMode: "other") }
                if number == 3 { loop.remove(channel, forMode: .default) }
            }
            loop.keepAlive()
            for number in 1...5 { _ = channel.trySend(number) }
            loop.run(mode: .default, for: .zero)
            loop.run(mode: .default, for: .zero)
            #expect(found.value == [1, 2, 3], "to leave another mode is no end here")
            _ = channel.trySend(6)
            #expect(loop.run(mode: .default, for: .milliseconds(5)) == .timedOut)
            loop.add(channel, forMode: .default)
            #expect(loop.run(mode: .default, for: .seconds(5), returningAfterSourceHandled: true) == .handledSource)
            // Delivers the rest, and then the later elements.
            loop.run(mode: .default, for: .zero)
            #expect(found.value == Array(1...6))
        }
    }

    @Test("a channel that is removed in a nested run delivers no more in the outer run either")
    func removedBelow() async throws {
        try await onFreshThread { loop in
            let channel = Channel<Int>()
            let found = Shared<[Int]>([])
            channel.receive(on: loop, inModes: [.default]) { number in
                found.update { $0.append(number) }
                if number == 1 { loop.run(mode: .default, for: .zero) }
                if number == 2 { loop.remove(channel, forMode: .default) }
            }
            loop.keepAlive()
            for number in 1...4 { _ = channel.trySend(number) }
            loop.run(mode: .default, for: .zero)
            #expect(found.value == [1, 2])
        }
    }

    @Test("adding a channel with waiting elements wakes the sleeping loop")
    func addedLater() async throws {
        let channel = Channel<Int>()
        let thread = LoopThread { loop in
            loop.keepAlive()
            channel.receive(on: loop, inModes: []) { _ in loop.stop() }
            #expect(loop.run(for: .seconds(30)) == .stopped)
        }
        thread.waitUntilAsleep()
        _ = channel.trySend(1)
        thread.loop.add(channel, forMode: .default)
        thread.join()
    }

    // MARK: Nested runs

    @Test(
        "a run nested in the closure continues with the rest, in order", arguments: [GRunLoop.Mode.default, "in"])
    func nested(mode: GRunLoop.Mode) async throws {
        try await onFreshThread { loop in
            let channel = Channel<Int>()
            let trace = Recorder()
            channel.receive(on: loop, inModes: [.default, "in"]) { number in
                trace("\(number) begins")
                if number == 2 {
                    loop.run(mode: mode, for: .zero)
                    _ = channel.trySend(6)
                    trace("6 is next")
                    loop.run(mode: mode, for: .zero)
                }
                trace("\(number) ends")
            }
            for number in 1...5 { _ = channel.trySend(number) }
            loop.run(mode: .default, for: .zero)
            let inner = (3...5).flatMap { ["\($0) begins", "\($0) ends"] }
            #expect(
                trace.take() == ["1 begins", "1 ends", "2 begins"] + inner
                    + ["6 is next", "6 begins", "6 ends", "2 ends"])
            #expect(loop.run(mode: .default, for: .zero) == .timedOut)
            #expect(trace.lines.isEmpty)
        }
    }

    @Test("a run that is nested in the closure of the last element finds only elements that are sent there")
    func nestedInTheLast() async throws {
        try await onFreshThread { loop in
            let channel = Channel<Int>()
            let found = Shared<[Int]>([])
            channel.receive(on: loop) { number in
                found.update { $0.append(number) }
                guard number == 3 else { return }
                #expect(loop.run(mode: .default, for: .zero, returningAfterSourceHandled: true) == .timedOut)
                _ = channel.trySend(4)
                #expect(loop.run(mode: .default, for: .zero, returningAfterSourceHandled: true) == .handledSource)
                #expect(found.value == [1, 2, 3, 4])
            }
            for number in 1...3 { _ = channel.trySend(number) }
            loop.run(mode: .default, for: .zero)
            #expect(found.value == [1, 2, 3, 4])
            #expect(loop.run(mode: .default, for: .zero) == .timedOut)
        }
    }

    @Test("a nested run in a mode without the channel delivers nothing, and the rest arrives after it")
    func nestedElsewhere() async throws {
        try await onFreshThread { loop in
            let channel = Channel<Int>()
            let trace = Recorder()
            channel.receive(on: loop, inModes: [.default]) { number in
                trace("\(number)")
                guard number == 1 else { return }
                loop.keepAlive("other")
                loop.run(mode: "other", for: .zero)
                trace("returned")
            }
            for number in 1...3 { _ = channel.trySend(number) }
            loop.run(mode: .default, for: .zero)
            #expect(trace.lines == ["1", "returned", "2", "3"])
        }
    }

    @Test("an element that is sent meanwhile wakes a nested run that sleeps in the closure")
    func nestedSleep() async throws {
        let channel = Channel<Int>()
        let found = Shared<[Int]>([])
        let thread = LoopThread { loop in
            channel.receive(on: loop) { number in
                found.update { $0.append(number) }
                if number == 1 { loop.run(mode: .default, for: .seconds(30), returningAfterSourceHandled: true) }
            }
            loop.keepAlive()
            loop.run()
        }
        thread.waitUntilAsleep()
        _ = channel.trySend(1)
        #expect(found.wait { $0 == [1] })
        thread.waitUntilAsleep()
        _ = channel.trySend(2)
        #expect(found.wait { $0 == [1, 2] })
        thread.finish()
    }

    @Test("a run nested in a batch has a batch of its own, and does not change the outer one")
    func nestedInABatch() async throws {
        try await onFreshThread { loop in
            let channel = Channel<Int>()
            let found = Shared<[[Int]]>([])
            channel.receiveBatches(on: loop) { batch in
                if batch[0] == 0 {
                    for number in 100..<180 { _ = channel.trySend(number) }
                    loop.run(mode: .default, for: .zero)
                    for number in 200..<300 { _ = channel.trySend(number) }
                }
                var copy: [Int] = []
                for index in batch.indices { copy.append(batch[index]) }
                found.update { $0.append(copy) }
            }
            for number in 0..<64 { _ = channel.trySend(number) }
            for _ in 0..<2 { loop.run(mode: .default, for: .zero) }
            #expect(found.value == [Array(100..<180), Array(0..<64), Array(200..<300)])
        }
    }

    // MARK: Turns

    @Test("after the time slice everything else that is ready has its turn, and the rest arrives later, in order")
    func slices() async throws {
        try await onFreshThread(timeSlice: .milliseconds(2)) { loop in
            let channel = Channel<Int>()
            let (found, beside) = (Shared<[Int]>([]), Shared<[Int]>([]))
            loop.add(
                GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { _ in
                    beside.update { $0.append(found.value.count) }
                }, forMode: .default)
            channel.receive(on: loop) { number in
                work(for: .microseconds(500))
                found.update { $0.append(number) }
                if number == 60 { loop.stop() }
            }
            for number in 1...60 { _ = channel.trySend(number) }
            #expect(loop.run(for: .seconds(20)) == .stopped)
            #expect(found.value == Array(1...60))
            #expect(beside.value.filter { (1..<60).contains($0) }.count >= 3, "\(beside.value)")
        }
    }

    @Test("a channel that never gets empty does not starve a timer, a block or another channel")
    func endless() async throws {
        try await onFreshThread(timeSlice: .milliseconds(1)) { loop in
            let (channel, other) = (Channel<Int>(), Channel<Int>())
            let counts = Shared([0, 0, 0])
            channel.receive(on: loop) { number in _ = channel.trySend(number + 1) }
            other.receive(on: loop) { number in
                counts.update { $0[0] += 1 }
                _ = other.trySend(number)
            }
            loop.add(
                GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { _ in
                    counts.update { $0[1] += 1 }
                    loop.perform { counts.update { $0[2] += 1 } }
                    if counts.value.min() ?? 0 >= 5 { loop.stop() }
                }, forMode: .default)
            for number in 0..<1000 { _ = channel.trySend(number) }
            _ = other.trySend(0)
            #expect(loop.run(for: .seconds(20)) == .stopped)
        }
    }

    // MARK: Who else

    @Test("a host's iterations deliver elements, and sending from another thread wakes the host")
    func hosted() async throws {
        try await onFreshThread { loop in
            let channel = Channel<Int>()
            let found = Shared<[Int]>([])
            loop.attach()
            channel.receive(on: loop) { number in found.update { $0.append(number) } }
            for number in 1...3 { _ = channel.trySend(number) }
            let context = loop.homeContext?.pointer
            iterateHost(context) { found.value.count == 3 }
            let sender = startThread {
                usleep(20_000)
                for number in 4...6 { _ = channel.trySend(number) }
            }
            iterateHost(context) { found.value.count == 6 }
            join(sender)
            #expect(found.value == Array(1...6))
        }
    }

    @Test("a closure of an actor is called on that actor, and need not be Sendable")
    func isolated() async throws {
        final class Plain { var sum = 0 }
        let sum = Shared(0)
        let (numbers, batches) = (Channel<Int>(), Channel<Int>())
        let worker = try GRunLoop.Thread(name: "isolated") { here in
            let plain = Plain()
            numbers.receive(on: here.loop, isolation: here) { number in
                plain.sum += number
                sum.value = plain.sum
            }
            batches.receiveBatches(on: here.loop, isolation: here) { batch in
                plain.sum += batch.count
                sum.value = plain.sum
            }
        }
        for number in 1...10 { _ = numbers.trySend(number) }
        #expect(sum.wait { $0 == 55 })
        for number in 1...10 { _ = batches.trySend(number) }
        #expect(sum.wait { $0 == 65 })
        worker.stop()
        await worker.waitUntilEnded()
        #expect(numbers.trySend(1) == .closed)
    }

    @Test("an element need not be Sendable, because its ownership is transferred")
    func handedOver() {
        final class Plain {
            var number = 0
        }
        let channel = Channel<Plain>()
        let found = Shared<[Int]>([])
        let thread = LoopThread { loop in
            channel.receive(on: loop) { plain in
                plain.number += 1
                found.update { $0.append(plain.number) }
                if plain.number == 3 { loop.stop() }
            }
            loop.run(for: .seconds(30))
        }
        for number in 0..<3 {
            let plain = Plain()
            plain.number = number
            #expect(channel.trySend(plain) == .enqueued)
        }
        thread.join()
        #expect(found.value == [1, 2, 3])
    }

    @Test("in virtual time a channel delivers on the virtual loop")
    func virtualTime() async throws {
        try await onFreshThread { _ in
            GRunLoop.withVirtualTime { time in
                let channel = Channel<Int>()
                let found = Shared<[Int]>([])
                channel.receive(on: time.loop) { number in found.update { $0.append(number) } }
                time.loop.after(.seconds(10)) { _ = channel.trySend(1) }
                time.advance(by: .seconds(20))
                #expect(found.value == [1])
            }
        }
    }

    // MARK: Misuse

    @Test("a second receiver, another loop, and a mode without a receiver are refused with a message")
    func misuse() async throws {
        try await onFreshThread { loop in
            let channel = Channel<Int>()
            let count = Counter()
            let (_, early) = capturingLog { loop.add(channel, forMode: .default) }
            #expect(early.count == 1 && early[0].contains("nothing receives"))
            channel.receive(on: loop) { _ in count.increment() }
            let (_, second) = capturingLog { channel.receive(on: loop) { _ in Issue.record("second receiver") } }
            #expect(second.count == 1 && second[0].contains("Channel.receive"))
            let other = LoopThread { other in
                let (_, messages) = capturingLog { other.add(channel, forMode: .default) }
                #expect(messages.count == 1 && messages[0].contains("another loop"))
                #expect(!other.contains(channel, forMode: .default))
            }
            other.join()
            _ = channel.trySend(1)
            loop.run(mode: .default, for: .zero)
            #expect(count.value == 1)
        }
    }

    // MARK: Threads

    @Test("elements of eight threads arrive once, and in the order of each thread", arguments: [64, Int.max])
    func producers(capacity: Int) async throws {
        let (threads, each) = (8, 20_000)
        let channel = Channel<(producer: Int, number: Int)>(capacity: capacity)
        let thread = LoopThread { loop in
            nonisolated(unsafe) var next = [Int](repeating: 0, count: threads)
            nonisolated(unsafe) var left = threads * each
            channel.receive(on: loop) { message in
                if next[message.producer] != message.number { Issue.record("\(message) is out of order") }
                next[message.producer] = message.number + 1
                left -= 1
                if left == 0 { loop.stop() }
            }
            #expect(loop.run(for: .seconds(60)) == .stopped)
            #expect(next == [Int](repeating: each, count: threads))
        }
        concurrently(threads) { producer in
            for number in 0..<each { while channel.trySend((producer, number)) == .full { sched_yield() } }
        }
        thread.join()
    }
}
