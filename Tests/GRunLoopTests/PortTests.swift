// SPDX-License-Identifier: Apache-2.0
// Ports deliver messages on the loop's thread, one a pass, in the modes of the port.

import Glibc
import TestSupport
import Testing

@testable import GRunLoop

private typealias Port = GRunLoop.Port
private typealias Message = GRunLoop.PortMessage

/// A port that records the ids of its messages.
private func notingPort(_ ids: Shared<[UInt32]>, capacity: Int = .max) -> Port {
    Port(capacity: capacity) { message in ids.update { $0.append(message.id) } }
}

extension GRunLoop {
    /// Runs until the condition holds. The condition may change with each message.
    fileprivate func runUntil(_ condition: () -> Bool) -> Bool {
        let end = GRunLoop.now.advanced(by: .seconds(30))
        while !condition() {
            guard GRunLoop.now < end else { return false }
            run(mode: .default, for: .milliseconds(20), returningAfterSourceHandled: true)
        }
        return true
    }
}

private func pass(_ loop: GRunLoop, _ mode: GRunLoop.Mode = .default) -> GRunLoop.RunResult {
    loop.run(mode: mode, for: .zero, returningAfterSourceHandled: true)
}

@Suite("Ports") struct PortTests {
    @Test("item 238: messages from any thread arrive on the loop's thread, one a pass, first in, first out")
    func onePerPass() async throws {
        try await onFreshThread { loop in
            let (ids, passes, here) = (Shared<[UInt32]>([]), Counter(), threadID)
            let port = Port { message in
                #expect(threadID == here)
                ids.update { $0.append(message.id) }
                if message.id == 6 { loop.stop() }
            }
            loop.add(port, forMode: .default)
            loop.on(.beforeTimers) { _ in passes.increment() }
            for id: UInt32 in 1...3 { #expect(port.trySend(Message(id: id))) }
            LoopThread { _ in for id: UInt32 in 4...6 { #expect(port.trySend(Message(id: id))) } }.join()
            #expect(ids.value.isEmpty && port.count == 6)
            #expect(loop.run(for: .seconds(30)) == .stopped)
            #expect(ids.value == [1, 2, 3, 4, 5, 6] && passes.value == 6 && port.count == 0)
        }
    }

    @Test("item 238: a message ends the sleep of a loop, and is the one item of that pass")
    func endsTheSleep() {
        let (trace, box) = (Recorder(), Shared<Port?>(nil))
        let thread = LoopThread { loop in
            let port = Port { message in
                trace("message \(message.id)")
                loop.stop()
            }
            loop.add(port, forMode: .default)
            box.value = port
            loop.on(.beforeTimers) { _ in trace("beforeTimers") }
            loop.on(.beforeWaiting) { _ in trace("beforeWaiting") }
            loop.on(.afterWaiting) { _ in trace("afterWaiting") }
            #expect(loop.run(for: .seconds(30)) == .stopped)
        }
        thread.waitUntilAsleep()
        #expect(box.value?.trySend(Message(id: 7)) == true)
        thread.join()
        #expect(trace.lines == ["beforeTimers", "beforeWaiting", "afterWaiting", "message 7"])
    }

    @Test("item 238: with a handled source the run returns after one message")
    func returnsAfterOne() async throws {
        try await onFreshThread { loop in
            let ids = Shared<[UInt32]>([])
            let port = notingPort(ids)
            loop.add(port, forMode: .default)
            for id: UInt32 in 1...2 { _ = port.trySend(Message(id: id)) }
            #expect(pass(loop) == .handledSource && ids.value == [1])
            #expect(pass(loop) == .handledSource && ids.value == [1, 2])
            #expect(pass(loop) == .timedOut)
        }
    }

    @Test("item 239: messages that are sent while no loop runs the mode wait until a loop runs it")
    func waitsForTheMode() async throws {
        try await onFreshThread { loop in
            let ids = Shared<[UInt32]>([])
            let port = notingPort(ids)
            for id: UInt32 in 1...2 { _ = port.trySend(Message(id: id)) }
            loop.add(port, forMode: "Private")
            loop.keepAlive()
            #expect(pass(loop) == .timedOut && ids.value.isEmpty)
            #expect(pass(loop, "Private") == .handledSource)
            #expect(pass(loop, "Private") == .handledSource && ids.value == [1, 2])
            _ = port.trySend(Message(id: 3))
            let keeper = loop.keepAlive("Private")
            loop.remove(port, forMode: "Private")
            #expect(pass(loop, "Private") == .timedOut && ids.value == [1, 2])
            keeper.invalidate()
            #expect(pass(loop, "Private") == .finished)
            loop.add(port, forMode: .common)
            #expect(pass(loop) == .handledSource && ids.value == [1, 2, 3])
        }
    }

    @Test("item 240: a full port accepts a message once there is room, until the given date", arguments: [-3, 0, 1, 3])
    func full(capacity: Int) {
        let (ids, room) = (Shared<[UInt32]>([]), max(1, capacity))
        let port = notingPort(ids, capacity: capacity)
        #expect(port.capacity == room)
        for id in 0..<room { #expect(port.send(Message(id: UInt32(id)), before: GRunLoop.distantPast)) }
        #expect(!port.trySend(Message(id: 99)) && !port.send(Message(id: 99), before: GRunLoop.now))
        let begin = GRunLoop.now
        #expect(!port.send(Message(id: 99), before: begin.advanced(by: .milliseconds(15))))
        #expect(!port.send(Message(id: 99), timeout: .zero) && !port.send(Message(id: 99), timeout: .seconds(-1)))
        #expect(!port.send(Message(id: 99), timeout: .milliseconds(15)))
        #expect(GRunLoop.now >= begin.advanced(by: .milliseconds(30)))
        let isWaiting = Flag()
        let sender = LoopThread { _ in
            isWaiting.set()
            #expect(port.send(Message(id: 98), before: GRunLoop.distantFuture))
        }
        #expect(isWaiting.wait())
        let receiver = LoopThread { loop in
            loop.add(port, forMode: .default)
            #expect(loop.runUntil { ids.value.count == room + 1 })
            // On the loop's own thread no other thread could make room, so send() does not wait.
            for id in 0..<room { #expect(port.trySend(Message(id: UInt32(id)))) }
            #expect(!port.send(Message(id: 97), before: GRunLoop.distantFuture))
        }
        receiver.join()
        sender.join()
        #expect(ids.value == (0..<room).map { UInt32($0) } + [98])
    }

    @Test("item 240: a queue of five holds five messages, however many were delivered before")
    func capacityIsExact() async throws {
        try await onFreshThread { loop in
            let ids = Shared<[UInt32]>([])
            let port = notingPort(ids, capacity: 5)
            loop.add(port, forMode: .default)
            var next: UInt32 = 0
            for round in 1...40 {
                while port.count < 5 {
                    #expect(port.trySend(Message(id: next)))
                    next += 1
                }
                #expect(!port.trySend(Message(id: 999)))
                for _ in 0..<(round % 5 + 1) { #expect(pass(loop) == .handledSource) }
            }
            while port.count > 0 { _ = pass(loop) }
            #expect(ids.value == Array(0..<next))
        }
    }

    @Test("item 241: a message has its id, parts, reply port and receiving port; bytes are not copied")
    func message() async throws {
        try await onFreshThread { loop in
            let (found, other) = (Shared<Message?>(nil), Port())
            let port = Port { message in found.value = message }
            loop.add(port, forMode: .default)
            let bytes = [UInt8](repeating: 7, count: 1 << 20)
            let address = bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
            #expect(port.trySend(Message(id: .max, [.bytes(bytes), .port(other), .bytes([])], replyPort: other)))
            #expect(pass(loop) == .handledSource)
            let message = try #require(found.value)
            #expect(message.id == .max && message.replyPort === other && message.receivePort === port)
            #expect(message.components.count == 3)
            let received = try #require(message.components[0].bytes)
            #expect(received.count == 1 << 20 && message.components[2].bytes == [])
            #expect(received.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } == address)
            #expect(message.components[1].port === other && message.components[0].port == nil)
            #expect(message.components[1].bytes == nil)
        }
    }

    @Test("item 242: without a handler a message is dropped and released when its turn comes")
    func dropped() async throws {
        try await onFreshThread { loop in
            let port = Port()
            weak var reply: Port?
            do {
                let carried = Port()
                reply = carried
                #expect(port.trySend(Message(id: 1, [.port(carried)], replyPort: carried)))
            }
            loop.add(port, forMode: .default)
            #expect(reply != nil && port.count == 1)
            #expect(pass(loop) == .handledSource)
            #expect(reply == nil && port.count == 0)
        }
    }

    @Test("items 217 and 243: an invalid port has left every mode, accepts nothing, and calls its handler once")
    func invalid() async throws {
        try await onFreshThread { loop in
            let (ids, notices) = (Shared<[UInt32]>([]), Counter())
            let port = notingPort(ids)
            port.onInvalidation { notices.increment() }
            loop.add(port, forMode: .default)
            loop.add(port, forMode: .common)
            weak var carried: Port?
            do {
                let reply = Port()
                carried = reply
                _ = port.trySend(Message(id: 1, replyPort: reply))
            }
            #expect(port.isValid && notices.value == 0)
            port.invalidate()
            port.invalidate()
            #expect(!port.isValid && notices.value == 1 && carried == nil && port.count == 0)
            #expect(!port.trySend(Message(id: 2)) && !port.send(Message(id: 2), before: GRunLoop.distantFuture))
            #expect(!loop.contains(port, forMode: .default) && !loop.contains(port, forMode: .common))
            loop.add(port, forMode: .default)
            #expect(!loop.contains(port, forMode: .default) && pass(loop) == .finished && ids.value.isEmpty)
            port.onInvalidation { notices.increment() }
            #expect(notices.value == 2)
            do { Port().onInvalidation { notices.increment() } }
            #expect(notices.value == 3)
            do {
                let other = Port()
                other.onInvalidation { notices.increment() }
                other.invalidate()
            }
            #expect(notices.value == 4)
        }
    }

    @Test("item 243: an invalidation handler that is set late is called immediately, and not at the port's release")
    func lateClosures() async throws {
        try await onFreshThread { _ in
            let notices = Counter()
            do {
                let port = Port()
                port.onInvalidation { notices.increment() }
                port.invalidate()
                port.onInvalidation { notices.increment() }
                #expect(notices.value == 2)
            }
            #expect(notices.value == 2)
        }
    }

    @Test("item 217: a port that is added twice is in the mode once; one removal removes it, a second has no effect")
    func addedTwice() async throws {
        try await onFreshThread { loop in
            let ids = Shared<[UInt32]>([])
            let port = notingPort(ids)
            loop.add(port, forMode: .default)
            loop.add(port, forMode: .default)
            _ = port.trySend(Message(id: 1))
            #expect(pass(loop) == .handledSource && pass(loop) == .timedOut && ids.value == [1])
            loop.remove(port, forMode: .default)
            #expect(!loop.contains(port, forMode: .default) && pass(loop) == .finished)
            loop.remove(port, forMode: .default)
            loop.remove(port, forMode: .common)
        }
    }

    @Test("item 244: a thread lives as long as a port is in its mode, even if no message arrives")
    func keepAlive() {
        let (box, isOver) = (Shared<Port?>(nil), Flag())
        let thread = LoopThread { loop in
            let port = Port()
            loop.add(port, forMode: .default)
            box.value = port
            loop.run()
            isOver.set()
        }
        thread.waitUntilAsleep()
        #expect(!isOver.isSet)
        box.value?.invalidate()
        thread.loop.wakeUp()
        #expect(isOver.wait())
        thread.join()
    }

    @Test("item 245: a run before the port was added returns immediately")
    func addedTooLate() async throws {
        try await onFreshThread { loop in
            #expect(loop.run(for: .seconds(30)) == .finished)
            let ids = Shared<[UInt32]>([])
            let port = notingPort(ids)
            loop.add(port, forMode: .default)
            _ = port.trySend(Message(id: 1))
            #expect(loop.run(mode: .default, for: .seconds(30), returningAfterSourceHandled: true) == .handledSource)
        }
    }

    @Test("item 246: a worker sends a port of its own to main, and main replies through it")
    func handshake() async throws {
        try await onFreshThread { loop in
            let (answer, isOver) = (Shared<[UInt8]>([]), Counter())
            let main = Port { message in
                #expect(message.id == 100 && message.replyPort?.isValid == true)
                #expect(message.replyPort?.trySend(Message(id: 101, [.bytes(Array("welcome".utf8))])) == true)
            }
            main.onInvalidation { isOver.increment() }
            loop.add(main, forMode: .default)
            let worker = LoopThread { loop in
                let own = Port { message in
                    answer.value = message.components.first?.bytes ?? []
                    loop.stop()
                }
                loop.add(own, forMode: .default)
                #expect(main.trySend(Message(id: 100, replyPort: own)))
                #expect(loop.run(for: .seconds(30)) == .stopped)
            }
            #expect(loop.runUntil { !answer.value.isEmpty })
            worker.join()
            #expect(answer.value == Array("welcome".utf8))
            main.invalidate()
            #expect(isOver.value == 1)
        }
    }
}
