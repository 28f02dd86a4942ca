// SPDX-License-Identifier: Apache-2.0
// Channels and tasks: senders that wait for room, and tasks that receive with for await.

import Glibc
import TestSupport
import Testing

@testable import GRunLoop

private typealias Channel = GRunLoop.Channel

@Suite("Channels and tasks") struct ChannelAwaitTests {
    // MARK: Sending

    @Test("tasks that wait for room send in the order in which they began to wait, and before later senders")
    func sendersInOrder() async throws {
        try await withWorker { loop in
            let channel = Channel<Int>(capacity: 2)
            let found = Shared<[Int]>([])
            #expect(channel.trySend(0) == .enqueued && channel.trySend(1) == .enqueued)
            var tasks: [Task<GRunLoop.SendResult, Never>] = []
            let begun = Counter()
            for number in 2..<20 {
                tasks.append(
                    Task(executorPreference: loop.executor) {
                        begun.increment()
                        return await channel.send(number)
                    })
            }
            // The loop's thread starts the senders in order, and each waits on the thread where it started.
            #expect(await eventually { begun.value == 18 })
            await Task(executorPreference: loop.executor) {}.value
            #expect(channel.trySend(99) == .full)
            channel.receive(on: loop) { number in found.update { $0.append(number) } }
            for task in tasks { #expect(await task.value == .enqueued) }
            #expect(found.wait { $0.count == 20 } && found.value == Array(0..<20))
        }
    }

    @Test("a cancelled task does not wait for room, and its element is not sent")
    func senderCancelled() async throws {
        let channel = Channel<Int>(capacity: 1)
        _ = await channel.send(1)
        let isIn = Flag()
        let waiting = Task {
            isIn.set()
            return await channel.send(2)
        }
        let behind = Task { await channel.send(3) }
        #expect(await eventually { isIn.isSet })
        try await Task.sleep(for: .milliseconds(20))
        waiting.cancel()
        #expect(await waiting.value == .full)
        let before = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await channel.send(4)
        }
        #expect(await before.value == .full)
        let found = Shared<[Int]>([])
        try await withWorker { loop in
            channel.receive(on: loop) { number in found.update { $0.append(number) } }
            #expect(await behind.value == .enqueued)
            #expect(await eventually { found.value == [1, 3] })
        }
    }

    @Test("a sender that waits for room learns that the channel has ended", arguments: ["invalidate", "close", "loop"])
    func sendersAtTheEnd(how: String) async throws {
        let lost = Shared<[Int]>([])
        let channel = Channel<Int>(capacity: 1, undelivered: { number in lost.update { $0.append(number) } })
        let worker = try GRunLoop.Thread(name: "ends")
        channel.receive(on: worker.loop, inModes: []) { _ in Issue.record("delivered") }
        _ = channel.trySend(1)
        let waiting = Task { await channel.send(2) }
        try await Task.sleep(for: .milliseconds(20))
        switch how {
        case "invalidate": channel.invalidate()
        case "close": channel.close()
        default: break
        }
        worker.stop()
        #expect(await waiting.value == .closed)
        await worker.waitUntilEnded()
        #expect(lost.value == [1])
    }

    @Test("many tasks send through a narrow channel: no element is lost, and each task's elements stay in order")
    func manySenders() async throws {
        try await withWorker { loop in
            let channel = Channel<(sender: Int, number: Int)>(capacity: 8)
            let next = Shared([Int](repeating: 0, count: 20))
            channel.receive(on: loop) { message in
                next.update {
                    if $0[message.sender] != message.number { Issue.record("\(message) is out of order") }
                    $0[message.sender] = message.number + 1
                }
            }
            await withTaskGroup { group in
                for sender in 0..<20 {
                    group.addTask { for number in 0..<500 { _ = await channel.send((sender, number)) } }
                }
            }
            #expect(next.wait { $0.allSatisfy { $0 == 500 } })
        }
    }

    // MARK: Receiving

    @Test("for await gets the elements in order, and ends with the channel", arguments: [true, false])
    func elements(onLoop: Bool) async throws {
        try await withWorker { loop in
            let channel = Channel<Int>(capacity: onLoop ? 4 : .max)
            let reading = Task(executorPreference: onLoop ? loop.executor : nil) {
                var found: [Int] = []
                for await number in channel.elements(on: loop) {
                    if onLoop, loopHere() !== loop { Issue.record("elsewhere") }
                    found.append(number)
                }
                return found
            }
            for number in 0..<1000 { _ = await channel.send(number) }
            channel.close()
            #expect(await reading.value == Array(0..<1000))
            #expect(!loop.contains(channel, forMode: .common))
        }
    }

    @Test("the loop delivers elements only in the given modes")
    func modes() async throws {
        let (found, channel) = (Shared<[Int]>([]), Channel<Int>())
        let (isSet, mayEnd) = (Flag(), Flag())
        let thread = LoopThread { loop in
            loop.keepAlive("other")
            isSet.set()
            loop.run(mode: .default, for: .milliseconds(1))
            while found.value.isEmpty, !mayEnd.isSet { loop.run(mode: "other", for: .milliseconds(1)) }
            mayEnd.wait()
        }
        #expect(await eventually { isSet.isSet })
        let reading = Task {
            for await number in channel.elements(on: thread.loop, inModes: ["elsewhere"]) {
                found.update { $0.append(number) }
            }
        }
        #expect(await eventually { thread.loop.contains(channel, forMode: "elsewhere") })
        _ = channel.trySend(1)
        try await Task.sleep(for: .milliseconds(20))
        #expect(found.value.isEmpty)
        thread.loop.add(channel, forMode: "other")
        #expect(await eventually { found.value == [1] })
        mayEnd.set()
        thread.join()
        await reading.value
        #expect(channel.trySend(2) == .closed, "its loop has ended")
    }

    @Test("releasing the iterator or cancelling the task closes the channel; the rest goes to undelivered")
    func receiverGoes() async throws {
        try await withWorker { loop in
            for how in ["break", "cancelled in a batch", "cancelled while it waits"] {
                let (lost, isIn, mayGoOn) = (Shared<[Int]>([]), Flag(), Shared(false))
                let channel = Channel<Int>(undelivered: { number in lost.update { $0.append(number) } })
                for number in 1...5 { _ = channel.trySend(number) }
                let reading = Task {
                    var found: [Int] = []
                    for await number in channel.elements(on: loop) {
                        found.append(number)
                        if how == "break", number == 2 { break }
                        guard how == "cancelled in a batch" ? number == 2 : number == 5 else { continue }
                        isIn.set()
                        while how == "cancelled in a batch", !mayGoOn.value { await Task.yield() }
                    }
                    return found
                }
                if how != "break" {
                    #expect(await eventually { isIn.isSet })
                    if how == "cancelled while it waits" { try await Task.sleep(for: .milliseconds(10)) }
                    reading.cancel()
                    mayGoOn.value = true
                }
                let waits = how == "cancelled while it waits"
                #expect(await reading.value == Array(1...(waits ? 5 : 2)))
                #expect(await eventually { lost.value == (waits ? [] : [3, 4, 5]) }, "\(how): \(lost.value)")
                #expect(channel.trySend(6) == .closed)
            }
        }
    }

    @Test("a task gets no further elements of its batch after the channel is closed")
    func closedInABatch() async throws {
        try await withWorker { loop in
            let lost = Shared<[Int]>([])
            let channel = Channel<Int>(undelivered: { number in lost.update { $0.append(number) } })
            for number in 1...5 { _ = channel.trySend(number) }
            var found: [Int] = []
            for await number in channel.elements(on: loop) {
                found.append(number)
                if number == 2 { channel.invalidate() }
            }
            #expect(found == [1, 2] && lost.value == [3, 4, 5])
        }
    }

    @Test("releasing the channel ends the sequence after the last element")
    func senderGoes() async throws {
        try await withWorker { loop in
            var iterator = {
                let channel = Channel<Int>()
                for number in 1...3 { _ = channel.trySend(number) }
                return channel.elements(on: loop).makeAsyncIterator()
            }()
            var found: [Int] = []
            while let number = await iterator.next() { found.append(number) }
            let after = await iterator.next()
            #expect(found == [1, 2, 3] && after == nil)
        }
    }

    @Test("a second iterator ends immediately, with a message")
    func secondIterator() async throws {
        try await withWorker { loop in
            let channel = Channel<Int>()
            var first = channel.elements(on: loop).makeAsyncIterator()
            _ = channel.trySend(1)
            var (second, messages) = capturingLog { channel.elements(on: loop).makeAsyncIterator() }
            #expect(messages.count == 1 && messages[0].contains("Channel.elements"))
            let nothing = await second.next()
            second = first
            let one = await first.next()
            #expect(nothing == nil && one == 1 && channel.isOpen)
        }
    }

    @Test("a sequence of a closed channel ends immediately, and leaves no item in the loop")
    func closedBefore() async throws {
        try await withWorker { loop in
            weak var core: ChannelCore?
            do {
                let channel = Channel<Int>()
                core = channel.core
                channel.invalidate()
                var iterator = channel.elements(on: loop).makeAsyncIterator()
                let nothing = await iterator.next()
                #expect(nothing == nil && core != nil)
            }
            #expect(core == nil)
        }
    }

    @Test("after its time slice, a task on the loop yields to everything else that is ready")
    func slices() async throws {
        try await withWorker { loop in
            loop.timeSlice = .milliseconds(2)
            let (channel, count) = (Channel<Int>(), Shared(0))
            let beside = Shared<[Int]>([])
            for number in 1...60 { _ = channel.trySend(number) }
            let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { _ in
                beside.update { $0.append(count.value) }
            }
            loop.add(timer, forMode: .default)
            let reading = Task(executorPreference: loop.executor) {
                for await number in channel.elements(on: loop) {
                    work(for: .microseconds(500))
                    count.value = number
                    if number == 60 { return }
                }
            }
            await reading.value
            timer.invalidate()
            #expect(beside.value.filter { (1..<60).contains($0) }.count >= 3, "\(beside.value)")
        }
    }

    @Test("when the loop ends, a task on another thread keeps the batch that it has")
    func loopEndsInABatch() async throws {
        // The order in which a loop notifies its waiters is random.
        for _ in 0..<16 {
            let (lost, isIn, mayGoOn) = (Shared<[Int]>([]), Flag(), Flag())
            let channel = Channel<Int>(undelivered: { number in lost.update { $0.append(number) } })
            for number in 1...5 { _ = channel.trySend(number) }
            let worker = try GRunLoop.Thread()
            // If the thread loses the processor, its slice would end and cut the batch.
            worker.loop.timeSlice = endlessTimeSlice
            let reading = Task {
                var found: [Int] = []
                for await number in channel.elements(on: worker.loop) {
                    found.append(number)
                    if number == 2 {
                        isIn.set()
                        while !mayGoOn.isSet { await Task.yield() }
                    }
                }
                return found
            }
            #expect(await eventually { isIn.isSet })
            worker.stop()
            await worker.waitUntilEnded()
            #expect(lost.value.isEmpty, "taken from under the task")
            mayGoOn.set()
            #expect(await reading.value == [1, 2] && lost.value == [3, 4, 5])
        }
    }

    @Test("if none of its modes runs, the sequence still ends, if the channel is empty or is released")
    func endsInNoMode() async throws {
        try await withWorker { loop in
            let (lost, empty) = (Shared<[Int]>([]), Channel<Int>())
            var first = empty.elements(on: loop, inModes: ["elsewhere"]).makeAsyncIterator()
            empty.close()
            var second = {
                let channel = Channel<Int>(undelivered: { number in lost.update { $0.append(number) } })
                _ = channel.trySend(1)
                return channel.elements(on: loop, inModes: []).makeAsyncIterator()
            }()
            let (one, two) = (await first.next(), await second.next())
            #expect(one == nil && two == nil && lost.value == [1])
        }
    }

    @Test("the end of the loop ends the sequence, also for a task on that loop")
    func loopEnds() async throws {
        let worker = try GRunLoop.Thread(name: "ends")
        let channel = Channel<Int>()
        let count = Shared(0)
        let reading = Task(executorPreference: worker.loop.executor) {
            for await _ in channel.elements(on: worker.loop) { count.value += 1 }
            return count.value
        }
        #expect(await eventually { worker.loop.contains(channel, forMode: .common) })
        for number in 1...3 { _ = channel.trySend(number) }
        #expect(await eventually { count.value == 3 })
        worker.stop()
        #expect(await reading.value == 3)
        await worker.waitUntilEnded()
        #expect(channel.trySend(1) == .closed)
        var iterator = Channel<Int>().elements(on: worker.loop).makeAsyncIterator()
        let none = await iterator.next()
        #expect(none == nil)
    }
}

/// Returns the loop of the calling thread. Async code cannot use `GRunLoop.current` directly.
private func loopHere() -> GRunLoop { GRunLoop.current }
