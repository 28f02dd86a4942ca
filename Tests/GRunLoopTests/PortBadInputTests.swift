// SPDX-License-Identifier: Apache-2.0
// Ports that are misused, ended at the worst moment, or flooded.

import Glibc
import Synchronization
import TestSupport
import Testing

@testable import GRunLoop

private typealias Port = GRunLoop.Port
private typealias Message = GRunLoop.PortMessage

/// A meeting point of two threads.
private final class Meeting: Sendable {
    private let count = Atomic(0)

    func meet() {
        count.add(1, ordering: .acquiringAndReleasing)
        while count.load(ordering: .acquiring) < 2 { sched_yield() }
    }
}

@Suite("Ports, misused", .serialized) struct PortBadInputTests {
    @Test("a port is in one loop at a time: a second loop refuses it, with a message")
    func twoLoops() async throws {
        try await onFreshThread { loop in
            let port = Port()
            loop.add(port, forMode: .default)
            LoopThread { other in
                let logged = capturingLog { other.add(port, forMode: .default) }.messages
                #expect(logged.contains { $0.contains("this Port is in another run loop") })
                #expect(!other.contains(port, forMode: .default))
            }.join()
            #expect(loop.contains(port, forMode: .default))
        }
    }

    @Test("a port that its handler invalidates delivers nothing more, and releases the rest")
    func invalidatedInside() async throws {
        try await onFreshThread { loop in
            let (box, count) = (Shared<Port?>(nil), Counter())
            weak var carried: Port?
            do {
                let reply = Port()
                carried = reply
                let port = Port { _ in
                    count.increment()
                    box.value?.invalidate()
                    #expect(box.value?.trySend(Message()) == false)
                }
                box.value = port
                loop.add(port, forMode: .default)
                for _ in 0..<3 { _ = port.trySend(Message(replyPort: reply)) }
            }
            loop.run(for: .seconds(10))
            #expect(count.value == 1 && carried == nil)
            box.value = nil
        }
    }

    @Test("item 243: if two threads invalidate a port together, the invalidation handler is called once")
    func invalidatedTwice() {
        let worker = LoopThread.running()
        let told = Counter()
        let ports = (0..<(sanitizer == nil ? 5000 : 1000)).map { _ in
            let port = Port()
            port.onInvalidation { told.increment() }
            worker.loop.add(port, forMode: .default)
            return port
        }
        let arrived = ports.map { _ in Meeting() }
        let threads = (0..<2).map { _ in
            LoopThread { _ in
                for (port, arrived) in zip(ports, arrived) {
                    arrived.meet()
                    port.invalidate()
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(told.value == ports.count)
        worker.finish()
    }

    @Test("a sender that waits for room gets an error when the port becomes invalid")
    func invalidatedWhileFull() {
        let (port, isWaiting) = (Port(capacity: 1), Flag())
        _ = port.trySend(Message())
        let threads = (0..<4).map { _ in
            LoopThread { _ in
                isWaiting.set()
                #expect(!port.send(Message(), before: GRunLoop.distantFuture))
            }
        }
        #expect(isWaiting.wait())
        usleep(20_000)
        port.invalidate()
        for thread in threads { thread.join() }
    }

    @Test("item 240: no message overtakes a waiting sender, not even between the removal of a message and its handler")
    func overtaken() async throws {
        try await onFreshThread { loop in
            let (ids, results) = (Shared<[UInt32]>([]), Shared<[Bool]>([]))
            let port = Port(capacity: 1) { message in ids.update { $0.append(message.id) } }
            let isWaiting = Flag()
            do {
                // The loop has the last reference to this port, and releases it when it has taken the message.
                let atEnd = Witness { results.update { $0.append(port.trySend(Message(id: 3))) } }
                let first = Port { message in
                    message.receivePort?.invalidate()
                    withExtendedLifetime(atEnd) {}
                }
                loop.add(first, forMode: .default)
                _ = first.trySend(Message())
            }
            loop.add(port, forMode: .default)
            #expect(port.trySend(Message(id: 1)))
            let sender = LoopThread { _ in
                isWaiting.set()
                #expect(port.send(Message(id: 2), before: GRunLoop.distantFuture))
            }
            #expect(isWaiting.wait())
            #expect(waitUntil { threadState(sender.kernelID) == "S" })
            loop.after(.milliseconds(50)) { loop.stop() }
            #expect(loop.run(for: .seconds(30)) == .stopped)
            sender.join()
            #expect(results.value == [false] && ids.value == [1, 2])
        }
    }

    @Test("a received message that is sent again does not keep the port through which it came")
    func sentAgain() async throws {
        try await onFreshThread { loop in
            let found = Shared<Message?>(nil)
            weak var gone: Port?
            do {
                let port = Port { message in found.value = message }
                gone = port
                loop.add(port, forMode: .default)
                for _ in 0..<3 {
                    #expect(port.trySend(found.value ?? Message()))
                    loop.run(mode: .default, for: .zero, returningAfterSourceHandled: true)
                    #expect(found.value?.receivePort === port)
                }
                #expect(found.value.map { port.trySend($0) } == true)
                loop.remove(port, forMode: .default)
                found.value = nil
            }
            // Releases the objects that the pass has kept.
            loop.keepAlive()
            loop.run(mode: .default, for: .zero, returningAfterSourceHandled: false)
            #expect(gone == nil)
        }
    }

    @Test("a message that a handler sends to its own port arrives in the next pass, and delays no other items")
    func toOneself() async throws {
        try await onFreshThread(timeSlice: .milliseconds(4)) { loop in
            let (box, messages, fires, blocks) = (Shared<Port?>(nil), Counter(), Counter(), Counter())
            let port = Port { _ in
                messages.increment()
                _ = box.value?.trySend(Message())
            }
            box.value = port
            loop.add(port, forMode: .default)
            _ = port.trySend(Message())
            loop.add(
                GRunLoop.Timer(interval: .milliseconds(2), repeats: true) { _ in
                    fires.increment()
                    loop.async { blocks.increment() }
                    // On a busy machine, the timer may be due in each of the first passes.
                    if fires.value >= 20, messages.value > 20 { loop.stop() }
                }, forMode: .default)
            #expect(loop.run(for: .seconds(30)) == .stopped)
            #expect(fires.value >= 20 && blocks.value >= fires.value - 1 && messages.value > 20)
            port.invalidate()
        }
    }

    @Test("two ports that are never empty take turns, and so does a descriptor beside them")
    func turns() async throws {
        try await onFreshThread(timeSlice: .milliseconds(4)) { loop in
            let (counts, event) = (Shared([0, 0, 0]), EventDescriptor())
            @Sendable func note(_ index: Int) {
                counts.update { $0[index] += 1 }
                if counts.value.reduce(0, +) == 3000 { loop.stop() }
            }
            let ports = (0..<2).map { index in
                Port { message in
                    note(index)
                    _ = message.receivePort?.trySend(Message())
                }
            }
            for port in ports {
                loop.add(port, forMode: .default)
                for _ in 0..<100 { _ = port.trySend(Message()) }
            }
            event.makeReady()
            let source = GRunLoop.DescriptorSource(descriptor: event.descriptor) { _, _ in note(2) }
            try loop.add(source, forMode: .default)
            #expect(loop.run(for: .seconds(30)) == .stopped)
            // Messages are in memory. The loop serves up to 64 of them before it asks the kernel again.
            #expect(counts.value[0] > 1000 && counts.value[1] > 1000 && counts.value[2] > 20, "\(counts.value)")
            for port in ports { port.invalidate() }
        }
    }

    @Test("a run that a handler starts continues with the next message")
    func nested() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let port = Port { message in
                trace("begin \(message.id)")
                if message.id == 1 { loop.run(mode: .default, for: .zero, returningAfterSourceHandled: true) }
                trace("end \(message.id)")
            }
            loop.add(port, forMode: .default)
            for id: UInt32 in 1...3 { _ = port.trySend(Message(id: id)) }
            loop.run(mode: .default, for: .zero, returningAfterSourceHandled: true)
            #expect(trace.lines == ["begin 1", "begin 2", "end 2", "end 1"])
        }
    }

    @Test("the sender's thread may have ended, and a port in the message may be released, before the message arrives")
    func senderIsGone() async throws {
        try await onFreshThread { loop in
            let (found, box) = (Shared<[Bool]>([]), Shared<Port?>(nil))
            let port = Port { message in
                let reply = message.replyPort
                found.value = [reply?.isValid == true, reply?.trySend(Message(id: 9)) == true]
                found.update { $0.append(message.components.first?.port?.isValid == true) }
            }
            loop.add(port, forMode: .default)
            let other = Port()
            LoopThread { loop in
                let own = Port()
                loop.add(own, forMode: .default)
                box.value = own
                #expect(port.trySend(Message([.port(other)], replyPort: own)))
            }.join()
            other.invalidate()
            #expect(loop.run(mode: .default, for: .zero, returningAfterSourceHandled: true) == .handledSource)
            // The port left the loop that has ended, and another loop can serve it.
            #expect(found.value == [true, true, false] && box.value?.count == 1)
            if let own = box.value { loop.add(own, forMode: .default) }
            #expect(loop.run(mode: .default, for: .zero, returningAfterSourceHandled: true) == .handledSource)
        }
    }

    @Test("eight threads, a small port, many messages: each arrives once, in thread order", .timeLimit(.minutes(2)))
    func storm() async throws {
        let each = sanitizer == nil ? 20_000 : 2_000
        try await onFreshThread(timeSlice: .milliseconds(4)) { loop in
            let next = Shared([UInt32](repeating: 0, count: 8))
            let left = Counter()
            let port = Port(capacity: 64) { message in
                let sender = Int(message.components.first?.bytes?.first ?? 255)
                next.update {
                    #expect($0[sender] == message.id)
                    $0[sender] = message.id + 1
                }
                if left.increment() == 8 * each { loop.stop() }
            }
            loop.add(port, forMode: .default)
            let threads = (0..<8).map { sender in
                LoopThread { _ in
                    for id in 0..<UInt32(each) {
                        #expect(port.send(Message(id: id, [.bytes([UInt8(sender)])]), before: GRunLoop.distantFuture))
                    }
                }
            }
            #expect(loop.run(for: .seconds(100)) == .stopped)
            for thread in threads { thread.join() }
            #expect(next.value == [UInt32](repeating: UInt32(each), count: 8) && port.count == 0)
        }
    }

    @Test("messages of queues of many sizes, and a backlog, are released when nobody takes them")
    func letGo() {
        for count in [0, 1, 15, 16, 17, 1000, 5000] {
            let (port, reply) = (Port(), Shared<Port?>(Port()))
            weak let carried = reply.value
            for _ in 0..<count { _ = port.trySend(Message(replyPort: reply.value)) }
            LoopThread { loop in
                loop.add(port, forMode: .default)
                for _ in 0..<(count / 2) { loop.run(mode: .default, for: .zero, returningAfterSourceHandled: true) }
                #expect(port.count == count - count / 2)
                port.invalidate()
            }.join()
            reply.value = nil
            #expect(carried == nil, "\(count)")
        }
    }
}

@Suite("Ports, for await") struct PortAwaitTests {
    @Test("a message that the task has not taken is released without a lock: its captures may end the wait")
    func letGo() async throws {
        try await withWorker { loop in
            for _ in 0..<20 {
                let (port, isOver) = (Port(), Flag())
                let task = Task {
                    for await _ in port.messages(on: loop) {}
                }
                do {
                    let reply = Port()
                    reply.onInvalidation {
                        port.invalidate()
                        task.cancel()
                        isOver.set()
                    }
                    #expect(await port.send(Message(replyPort: reply)))
                }
                port.invalidate()
                await task.value
                #expect(isOver.wait())
            }
        }
    }

    @Test("a task gets messages one by one, in order; messages that it has not requested wait in the port")
    func messages() async throws {
        try await withWorker { loop in
            let port = Port(capacity: 4)
            let messages = port.messages(on: loop)
            var iterator = messages.makeAsyncIterator()
            for id: UInt32 in 1...4 { #expect(await port.send(Message(id: id))) }
            #expect(await iterator.next()?.id == 1)
            // The loop then has nothing more to do: three messages wait, because the task has not requested them.
            try await loop.waitUntilIdle()
            let sendNow: (UInt32) -> Bool = { port.trySend(Message(id: $0)) }
            try #require(sendNow(5) && !sendNow(6))
            let sender = Task { for id: UInt32 in 6...200 { #expect(await port.send(Message(id: id))) } }
            for id: UInt32 in 2...200 { #expect(await iterator.next()?.id == id) }
            await sender.value
            port.invalidate()
            #expect(await iterator.next() == nil)
        }
    }

    @Test("a port that is invalid, or becomes so meanwhile, ends the sequence immediately, and is released")
    func invalidBefore() async throws {
        try await withWorker { loop in
            var (gone, threads): ([Weak<Port>], [pthread_t]) = ([], [])
            for round in 0..<200 {
                let port = Port()
                gone.append(Weak(port))
                if round.isMultiple(of: 2) {
                    port.invalidate()
                    let logged = capturingLog { port.messages(on: loop).makeAsyncIterator() }.messages
                    #expect(logged.isEmpty)
                } else {
                    threads.append(startThread { port.invalidate() })
                }
                var iterator = port.messages(on: loop).makeAsyncIterator()
                #expect(await iterator.next() == nil)
            }
            for thread in threads { pthread_join(thread, nil) }
            #expect(gone.allSatisfy { $0.object == nil })
        }
    }

    @Test("a port has one receiver; cancelling it invalidates the port, and a task that waits for room gets an error")
    func end() async throws {
        try await withWorker { loop in
            let port = Port(capacity: 1)
            let task = Task {
                var count = 0
                for await _ in port.messages(on: loop) { count += 1 }
                return count
            }
            #expect(await port.send(Message()))
            while port.count > 0 { await Task.yield() }
            task.cancel()
            #expect(await task.value <= 1)
            #expect(!port.isValid)
            #expect(await !port.send(Message()))

            let other = Port { _ in }
            var (iterator, logged) = capturingLog { other.messages(on: loop).makeAsyncIterator() }
            #expect(await iterator.next() == nil)
            #expect(logged.contains { $0.contains("the port already has a receiver") } && other.isValid)
        }
    }
}
