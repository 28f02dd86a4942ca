// SPDX-License-Identifier: Apache-2.0
// Message ports: names, requests and replies, as in CFMessagePort. corelibs-foundation has no message ports on Linux,
// so the names of most tests contain the function of CFMessagePort.c that implements the rule.

import Glibc
import TestSupport
import Testing

@testable import GRunLoop
@testable import GRunLoopMessagePorts

private typealias Port = GRunLoop.MessagePort
private typealias Remote = GRunLoop.RemoteMessagePort
private typealias Failure = GRunLoop.MessageRequestError
private typealias Data = GRunLoop.MessageData

private func newName(_ what: String = "port") -> String { RuntimeDirectory.newName(what) }

/// Makes a thread that runs its loop, with a port that replies with the data of each message.
private func withEcho(
    _ body: (String, LoopThread) throws -> Void, reply: @escaping @Sendable (Port.Message) -> Data? = { $0.data }
) throws {
    let name = newName("echo")
    let thread = LoopThread.running()
    let port = try Port(replying: name, handler: reply)
    try thread.loop.add(port, forMode: .default)
    defer {
        port.invalidate()
        thread.finish()
    }
    try body(name, thread)
}

private func handler(holding object: AtDeinit) -> @Sendable (Port.Message) -> Void {
    { _ in withExtendedLifetime(object) {} }
}

private func failure(of body: () throws(Failure) -> Void) -> Failure? {
    do throws(Failure) {
        try body()
        return nil
    } catch { return error }
}

private func portFailure(of body: () throws(GRunLoop.MessagePortError) -> Void) -> GRunLoop.MessagePortError? {
    do throws(GRunLoop.MessagePortError) {
        try body()
        return nil
    } catch { return error }
}

@Suite("Message ports") struct MessagePortTests {
    // MARK: Names

    @Test("item 247: a name is a socket in a directory of the user's, which no other user may enter")
    func directory() throws {
        let name = newName()
        let port = try Port(name) { _ in }
        let directory = RuntimeDirectory.path + "/grun-ports"
        var status = stat()
        #expect(lstat(directory, &status) == 0 && status.st_mode & 0o7777 == 0o700 && status.st_uid == geteuid())
        let file = try PortName(name).file.dropLast().map { UInt8(bitPattern: $0) }
        let path = directory + "/" + String(decoding: file, as: UTF8.self)
        #expect(lstat(path, &status) == 0 && status.st_mode == S_IFSOCK | 0o600)
        #expect(lstat(path + ".lock", &status) == 0 && status.st_mode == S_IFREG | S_ISVTX | 0o600)
        port.invalidate()
        #expect(lstat(path, &status) != 0)
        #expect(lstat(path + ".lock", &status) != 0)
    }

    @Test("item 248 (our rule): a second local port of one name is an error (CFMessagePortCreateLocal)")
    func taken() throws {
        let name = newName()
        let port = try Port(name) { _ in }
        #expect(portFailure { () throws(GRunLoop.MessagePortError) in _ = try Port(name) { _ in } } == .taken(name))
        port.invalidate()
        let second = try Port(name) { _ in }
        #expect(second.name == name && second.isValid)
        second.invalidate()
    }

    @Test("item 248 (our rule): a released port has no name")
    func letGo() throws {
        let name = newName()
        var port: Port? = try Port(name) { _ in }
        #expect(port?.isValid == true)
        port = nil
        try Port(name) { _ in }.invalidate()
    }

    @Test("item 249: a port without a name is not added to a loop, which is logged (__CFMessagePortGetPort)")
    func withoutName() async throws {
        try await onFreshThread { loop in
            let port = try Port(nil) { _ in }
            #expect(port.name == nil && port.isValid)
            let messages = capturingLog { try? loop.add(port, forMode: .default) }.messages
            #expect(messages.count == 1 && messages.first?.contains("without a name") == true)
            #expect(!loop.contains(port, forMode: .default))
            let name = newName()
            try port.setName(name)
            try loop.add(port, forMode: .default)
            #expect(loop.contains(port, forMode: .default))
            port.invalidate()
        }
    }

    @Test("item 250 (our rule): a name that is too long is an error (__CFMessagePortCreateSanitizedStringName)")
    func names() throws {
        _ = RuntimeDirectory.path
        let long = String(repeating: "ä", count: 64)
        try Port(long) { _ in }.invalidate()
        for bad in ["", "a\0b", long + "x"] {
            #expect(
                portFailure { () throws(GRunLoop.MessagePortError) in _ = try Port(bad) { _ in } } == .invalidName(bad))
            #expect(
                portFailure { () throws(GRunLoop.MessagePortError) in _ = try Remote.lookUp(bad) }
                    == .invalidName(bad))
        }
        // A file name cannot contain slashes, but a port's name can.
        let slashes = newName("../../with/slashes")
        let port = try Port(slashes) { _ in }
        #expect(try Remote.lookUp(slashes).isValid)
        port.invalidate()
    }

    @Test("item 251: an unused name gives nothing, a used name always the same object (CFMessagePortCreateRemote)")
    func lookUp() throws {
        let name = newName()
        #expect(portFailure { () throws(GRunLoop.MessagePortError) in _ = try Remote.lookUp(name) } == .notFound(name))
        let port = try Port(name) { _ in }
        let (one, other) = (try Remote.lookUp(name), try Remote.lookUp(name))
        #expect(one === other && one.name == name && one.isValid)
        one.invalidate()
        let another = try Remote.lookUp(name)
        #expect(another !== one && another.isValid)
        port.invalidate()
        #expect(portFailure { () throws(GRunLoop.MessagePortError) in _ = try Remote.lookUp(name) } == .notFound(name))
    }

    @Test("item 252: a port refuses a taken name, ignores its own name, and accepts a free name (CFMessagePortSetName)")
    func rename() async throws {
        try await onFreshThread { loop in
            let (name, other, free) = (newName(), newName(), newName())
            let port = try Port(replying: name) { $0.data }
            let neighbour = try Port(other) { _ in }
            try loop.add(port, forMode: .default)
            let remote = try Remote.lookUp(name)
            #expect(portFailure { () throws(GRunLoop.MessagePortError) in try port.setName(other) } == .taken(other))
            #expect(port.name == name)
            try port.setName(name)
            try port.setName(free)
            #expect(port.name == free)
            try Port(name) { _ in }.invalidate()
            // A client that found the port by its former name stays connected, even if it was not yet accepted.
            for remote in [remote, try Remote.lookUp(free)] {
                let reply = try remote.request(1, [7], sendTimeout: .zero, receiveTimeout: .seconds(30))
                #expect(Array(reply.data) == [7])
            }
            port.invalidate()
            #expect(
                portFailure { () throws(GRunLoop.MessagePortError) in try port.setName(newName()) } == .invalidPort)
            neighbour.invalidate()
        }
    }

    // MARK: Requests

    @Test("item 253: a message without a reply is sent as soon as it is queued (CFMessagePortSendRequest)")
    func oneWay() async throws {
        try await onFreshThread { loop in
            let ids = Shared<[Int32]>([])
            let port = try Port(newName()) { message in
                #expect(message.reply == nil)
                ids.update { $0.append(message.id) }
            }
            try loop.add(port, forMode: .default)
            let remote = try Remote.lookUp(port.name ?? "")
            for id: Int32 in [3, -1, .max] { try remote.send(id) }
            #expect(ids.value == [])
            while ids.value.count < 3 { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
            #expect(ids.value == [3, -1, .max])
            port.invalidate()
        }
    }

    @Test("item 254: the loop runs in the reply mode until the reply arrives (CFMessagePortSendRequest)")
    func runsTheLoop() async throws {
        try withEcho({ name, thread in
            let fresh = LoopThread { loop in
                do {
                    let (fires, others, trace) = (Counter(), Counter(), Recorder())
                    let timer = GRunLoop.Timer(interval: .milliseconds(2), repeats: true) { _ in fires.increment() }
                    let elsewhere = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { _ in others.increment()
                    }
                    let mode = GRunLoop.Mode("reply")
                    loop.add(timer, forMode: mode)
                    loop.add(elsewhere, forMode: .default)
                    loop.on(.entry, mode) { _ in trace("entry") }
                    loop.on(.exit, mode) { _ in trace("exit") }
                    let remote = try Remote.lookUp(name)
                    let reply = try remote.request(
                        5, [1, 2, 3], sendTimeout: .seconds(30), receiveTimeout: .seconds(30), replyMode: mode)
                    #expect(Array(reply.data) == [1, 2, 3])
                    #expect(fires.value > 3 && others.value == 0)
                    #expect(trace.lines.first == "entry" && trace.lines.last == "exit")
                    // The request leaves nothing in the mode.
                    timer.invalidate()
                    #expect(loop.run(mode: mode, for: .zero) == .finished)
                } catch { Issue.record("\(error)") }
            }
            fresh.join()
            _ = thread
        }) { message in
            usleep(20_000)
            return message.data
        }
    }

    @Test("item 254: a request to a port that has ended leaves nothing in the mode, and ends no other run")
    func leavesNothing() async throws {
        try await onFreshThread { loop in
            let port = try Port(newName()) { _ in }
            let remote = try Remote.lookUp(port.name ?? "")
            port.invalidate()
            let error = failure { () throws(Failure) in
                _ = try remote.request(1, sendTimeout: .milliseconds(2), receiveTimeout: .milliseconds(2))
            }
            #expect(error == .isInvalid)
            #expect(loop.run(for: .zero) == .finished)
        }
    }

    @Test("item 255: without a reply in time it returns -2, and drops a late reply (__CFMessagePortReplyCallBack)")
    func receiveTimeout() async throws {
        try await onFreshThread { loop in
            let replies = Shared<[Port.Reply]>([])
            let port = try Port(newName()) { message in
                if let reply = message.reply { replies.update { $0.append(reply) } }
                if message.id == 2 { _ = try? message.reply?.send([2]) }
            }
            try loop.add(port, forMode: .default)
            let remote = try Remote.lookUp(port.name ?? "")
            let error = failure { () throws(Failure) in
                _ = try remote.request(1, sendTimeout: .zero, receiveTimeout: .milliseconds(10))
            }
            #expect(error == .receiveTimeout && error?.code == -2)
            #expect(try replies.value[0].send([1]))
            let reply = try remote.request(2, sendTimeout: .zero, receiveTimeout: .seconds(30))
            #expect(Array(reply.data) == [2])
            port.invalidate()
        }
    }

    @Test("item 256: while the queue is full it is -1, immediately under a millisecond (CFMessagePortSendRequest)")
    func sendTimeout() async throws {
        try await onFreshThread { loop in
            let received = Counter()
            let port = try Port(newName()) { _ in received.increment() }
            let remote = try Remote.lookUp(port.name ?? "")
            let block = Data([UInt8](repeating: 1, count: 60_000))
            var sent = 0
            while failure(of: { () throws(Failure) in try remote.send(1, block) }) == nil { sent += 1 }
            #expect(sent >= 1)
            let error = failure { () throws(Failure) in try remote.send(1, block, sendTimeout: .microseconds(900)) }
            #expect(error == .sendTimeout && error?.code == -1)
            // Sends without a loop, and with one.
            for mode in [nil, GRunLoop.Mode.default] {
                let start = GRunLoop.now
                #expect(
                    failure { () throws(Failure) in
                        try remote.send(1, block, sendTimeout: .milliseconds(20), mode: mode)
                    } == .sendTimeout)
                #expect(GRunLoop.now - start >= .milliseconds(20))
            }
            #expect(
                failure { () throws(Failure) in
                    _ = try remote.request(
                        1, block, sendTimeout: .milliseconds(5), receiveTimeout: .seconds(30))
                } == .sendTimeout)
            // A message that was not sent in time is not sent later.
            try loop.add(port, forMode: .default)
            while loop.run(for: .milliseconds(50), returningAfterSourceHandled: true) == .handledSource {}
            #expect(received.value == sent)
            port.invalidate()
        }
    }

    @Test("item 256: a thread that waits for room continues as soon as another thread has sent its message")
    func sentByAnother() async throws {
        try await onFreshThread { loop in
            let port = try Port(newName()) { _ in }
            try loop.add(port, forMode: .default)
            let remote = try Remote.lookUp(port.name ?? "")
            while failure(of: { () throws(Failure) in try remote.send(1) }) == nil {}
            let isSent = Counter()
            let thread = startThread {
                #expect(failure { () throws(Failure) in try remote.send(2, sendTimeout: .seconds(60)) } == nil)
                isSent.increment()
            }
            // The message is first in the queue, so later messages are not tried.
            while !remote.isBlocked { usleep(100) }
            usleep(20_000)
            // Makes room for some messages, but not enough for the kernel to report it.
            for _ in 0..<20 { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
            #expect(isSent.value == 0)
            // A sender whose limit passes tries once more, for all waiting senders.
            _ = failure { () throws(Failure) in try remote.send(3, sendTimeout: .milliseconds(1)) }
            #expect(isSent.wait(for: 1))
            port.invalidate()
            join(thread)
        }
    }

    @Test("item 256: a slow receiver with a full queue does not hold the sender's timers")
    func slowReceiver() async throws {
        let received = Counter()
        try withEcho({ name, _ in
            let thread = LoopThread { loop in
                do {
                    let lateness = Shared<Duration>(.zero)
                    let next = Shared(GRunLoop.now + .milliseconds(10))
                    let timer = GRunLoop.Timer(interval: .milliseconds(10), repeats: true) { _ in
                        lateness.update { $0 = max($0, GRunLoop.now - next.value) }
                        next.value = GRunLoop.now + .milliseconds(10)
                    }
                    loop.add(timer, forMode: .default)
                    let remote = try Remote.lookUp(name)
                    let block = Data([UInt8](repeating: 1, count: 60_000))
                    for _ in 0..<20 { try remote.send(1, block, sendTimeout: .seconds(60), mode: .default) }
                    #expect(lateness.value < .milliseconds(500))
                } catch { Issue.record("\(error)") }
            }
            thread.join()
            #expect(received.wait(for: 20))
        }) { _ in
            usleep(15_000)
            received.increment()
            return nil
        }
    }

    @Test("item 257: -3 on an invalid port, -5 if it becomes invalid, -4 for too much data (CFMessagePortSendRequest)")
    func invalid() async throws {
        try await onFreshThread { loop in
            let held = Shared<Port.Reply?>(nil)
            let box = Shared<Port?>(nil)
            let end = GRunLoop.Timer(interval: .milliseconds(5), repeats: false) { _ in box.value?.invalidate() }
            let port = try Port(newName()) { message in
                held.value = message.reply
                loop.add(end, forMode: .default)
            }
            box.value = port
            try loop.add(port, forMode: .default)
            let remote = try Remote.lookUp(port.name ?? "")
            func request() -> Failure? {
                failure { () throws(Failure) in
                    _ = try remote.request(1, sendTimeout: .seconds(30), receiveTimeout: .seconds(30))
                }
            }
            let became = request()
            #expect(became == .becameInvalid && became?.code == -5)
            #expect(try held.value?.send() == false)
            let isInvalid = request()
            #expect(isInvalid == .isInvalid && isInvalid?.code == -3)
            #expect(failure { () throws(Failure) in try remote.send(1) } == .isInvalid)
            box.value = nil
        }
    }

    @Test("item 257: too many bytes or descriptors, or a closed descriptor, return -4, and nothing is sent")
    func tooMuch() async throws {
        try await onFreshThread { loop in
            let ids = Shared<[Int32]>([])
            let port = try Port(newName()) { message in ids.update { $0.append(message.id) } }
            try loop.add(port, forMode: .default)
            let remote = try Remote.lookUp(port.name ?? "")
            // The memory is never touched, so it has no pages.
            let size = 0x6000_0001
            let pages = mmap(nil, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
            let huge = Data(UnsafeRawBufferPointer(start: pages, count: size), keptBy: ids)
            let error = failure { () throws(Failure) in try remote.send(1, huge) }
            #expect(error == .transportError(errno: EMSGSIZE) && error?.code == -4)
            munmap(pages, size)
            #expect(
                failure { () throws(Failure) in try remote.send(2, descriptors: Array(repeating: 0, count: 17)) }
                    == .transportError(errno: EMSGSIZE))
            #expect(
                failure { () throws(Failure) in try remote.send(3, descriptors: [1_000_000]) }
                    == .transportError(errno: EBADF))
            try remote.send(4)
            while ids.value.isEmpty { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
            #expect(ids.value == [4])
            port.invalidate()
        }
    }

    @Test("items 258 and 259: missing data of a reply or a request is empty data (__CFMessagePortPerform)")
    func empty() async throws {
        try await onFreshThread { loop in
            let sizes = Shared<[Int]>([])
            let port = try Port(replying: newName()) { message in
                sizes.update { $0.append(message.data.count) }
                return nil
            }
            try loop.add(port, forMode: .default)
            let remote = try Remote.lookUp(port.name ?? "")
            let reply = try remote.request(1, sendTimeout: .zero, receiveTimeout: .seconds(30))
            #expect(reply.data.isEmpty && sizes.value == [0])
            port.invalidate()
        }
    }

    @Test("item 260: one thread sends and replies, if the port is in the reply mode (CFMessagePortSendRequest)")
    func oneThread() async throws {
        try await onFreshThread { loop in
            let ids = Shared<[Int32]>([])
            let port = try Port(replying: newName()) { message in
                ids.update { $0.append(message.id) }
                return message.data
            }
            try loop.add(port, forMode: .default)
            let remote = try Remote.lookUp(port.name ?? "")
            let reply = try remote.request(1, [9], sendTimeout: .zero, receiveTimeout: .seconds(30))
            #expect(Array(reply.data) == [9])
            // In other modes the port does not reply, and the message is handled later.
            #expect(
                failure { () throws(Failure) in
                    _ = try remote.request(
                        2, sendTimeout: .zero, receiveTimeout: .milliseconds(5), replyMode: GRunLoop.Mode("other"))
                } == .receiveTimeout)
            #expect(ids.value == [1])
            while ids.value.count < 2 { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
            #expect(ids.value == [1, 2])
            let third = try remote.request(3, [3], sendTimeout: .zero, receiveTimeout: .seconds(30))
            #expect(Array(third.data) == [3])
            port.invalidate()
        }
    }

    @Test("item 261: overlapping requests each get their own reply (__CFMessagePortReplyCallBack)")
    func overlapping() async throws {
        try await onFreshThread { loop in
            // Sends two replies at a time, the later one first.
            let waiting = Shared<[Port.Message]>([])
            let port = try Port(newName()) { message in
                waiting.update { $0.append(message) }
                guard waiting.value.count == 2 else { return }
                for message in waiting.value.reversed() { _ = try? message.reply?.send(message.data) }
                waiting.value = []
            }
            try loop.add(port, forMode: .default)
            let remote = try Remote.lookUp(port.name ?? "")
            let inner = Shared<[UInt8]>([])
            let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: false) { _ in
                let reply = try? remote.request(2, [2], sendTimeout: .zero, receiveTimeout: .seconds(30))
                inner.value = reply.map { Array($0.data) } ?? []
            }
            loop.add(timer, forMode: .default)
            let outer = try remote.request(1, [1], sendTimeout: .zero, receiveTimeout: .seconds(30))
            #expect(Array(outer.data) == [1] && inner.value == [2])
            port.invalidate()
        }
    }

    @Test("item 261: a reply that a nested run has taken ends the wait of the outer request after that run")
    func takenByNestedRun() async throws {
        try await onFreshThread { loop in
            // The outer request's reply arrives while the inner request waits. The inner request's reply arrives later.
            let waiting = Shared<[Port.Message]>([])
            let port = try Port(newName()) { message in
                waiting.update { $0.append(message) }
                guard waiting.value.count == 2 else { return }
                for message in waiting.value {
                    let late = GRunLoop.Timer(interval: .milliseconds(20 * Int(message.id)), repeats: false) { _ in
                        _ = try? message.reply?.send(message.data)
                    }
                    loop.add(late, forMode: .default)
                }
            }
            try loop.add(port, forMode: .default)
            let remote = try Remote.lookUp(port.name ?? "")
            let inner = Shared<[UInt8]>([])
            let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: false) { _ in
                let reply = try? remote.request(5, [2], sendTimeout: .zero, receiveTimeout: .seconds(30))
                inner.value = reply.map { Array($0.data) } ?? []
            }
            loop.add(timer, forMode: .default)
            let start = GRunLoop.now
            let outer = try remote.request(1, [1], sendTimeout: .zero, receiveTimeout: .seconds(30))
            #expect(Array(outer.data) == [1] && inner.value == [2])
            #expect(GRunLoop.now - start < .seconds(20))
            waiting.value = []
            port.invalidate()
        }
    }

    @Test("item 251: a port that has ended is not found again, even if its late reply waits to be received")
    func lateReplyOfOneThatHasGone() async throws {
        try await onFreshThread { loop in
            let (name, kept) = (newName(), Shared<Port.Reply?>(nil))
            let former = try Port(name) { message in kept.value = message.reply }
            try loop.add(former, forMode: .default)
            let remote = try Remote.lookUp(name)
            #expect(
                failure { () throws(Failure) in
                    _ = try remote.request(1, sendTimeout: .zero, receiveTimeout: .milliseconds(20))
                } == .receiveTimeout)
            #expect(try kept.value?.send([1]) == true)
            former.invalidate()
            let port = try Port(replying: name) { _ in [2] }
            try loop.add(port, forMode: .default)
            let found = try Remote.lookUp(name)
            #expect(found !== remote && !remote.isValid)
            #expect(Array(try found.request(1, sendTimeout: .zero, receiveTimeout: .seconds(30)).data) == [2])
            port.invalidate()
            kept.value = nil
        }
    }

    @Test("item 256: a message that was sent right at its limit does not count as unsent, and its reply is awaited")
    func sentAtItsLimit() async throws {
        try await onFreshThread { loop in
            let taken = Counter()
            let name = newName()
            let server = LoopThread.running()
            let port = try Port(replying: name) { message in
                taken.increment()
                return message.id == 7 ? [7] : nil
            }
            let remote = try Remote.lookUp(name)
            let block = Data([UInt8](repeating: 1, count: 60_000))
            while failure(of: { () throws(Failure) in try remote.send(1, block) }) == nil {}
            let timer = GRunLoop.Timer(interval: .milliseconds(5), repeats: false) { _ in
                try? server.loop.add(port, forMode: .default)
            }
            loop.add(timer, forMode: .default)
            // When there is room it is sent, one stage before the blocks. The blocks last until after the limit.
            loop.on(.afterWaiting) { _ in
                guard taken.value > 0 else { return }
                loop.perform(inModes: [.default]) { usleep(150_000) }
            }
            let reply = try remote.request(7, block, sendTimeout: .milliseconds(100), receiveTimeout: .seconds(30))
            #expect(Array(reply.data) == [7])
            port.invalidate()
            server.finish()
        }
    }

    @Test("item 261: many threads and tasks send requests on one remote port, and each gets its own replies")
    func manyThreads() async throws {
        let name = newName("echo")
        let server = LoopThread.running()
        let port = try Port(replying: name) { $0.data }
        try server.loop.add(port, forMode: .default)
        let remote = try Remote.lookUp(name)
        let wrong = Counter()
        let reader = LoopThread.running()
        let threads = (0..<4).map { number in
            LoopThread { _ in
                for round in 0..<100 {
                    let data = [UInt8(number), UInt8(round)]
                    let reply = try? remote.request(
                        1, Data(data), sendTimeout: .seconds(30), receiveTimeout: .seconds(30))
                    if reply.map({ Array($0.data) }) != data { wrong.increment() }
                }
            }
        }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                group.addTask {
                    let data = [UInt8(number), 255]
                    let reply = try? await remote.request(
                        1, Data(data), sendTimeout: .seconds(30), receiveTimeout: .seconds(30), on: reader.loop)
                    if reply.map({ Array($0.data) }) != data { wrong.increment() }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(wrong.value == 0)
        port.invalidate()
        server.finish()
        reader.finish()
    }

    // MARK: The end

    @Test("item 262: invalidation frees the name, calls the callback, ends handler and modes (CFMessagePortInvalidate)")
    func invalidation() async throws {
        try await onFreshThread { loop in
            let (trace, name) = (Recorder(), newName())
            let box = Shared<Port?>(nil)
            let port = try Port(
                name,
                handler: handler(
                    holding: AtDeinit {
                        let isIn = box.value.map { loop.contains($0, forMode: .default) } ?? false
                        trace("handler let go, in a mode: \(isIn)")
                    }))
            box.value = port
            try loop.add(port, forMode: .default)
            port.onInvalidation {
                let second = try? Port(name) { _ in }
                let isFree = second != nil
                second?.invalidate()
                let isIn = box.value.map { loop.contains($0, forMode: .default) } ?? false
                trace("callback: valid \(box.value?.isValid ?? false), free \(isFree), in a mode: \(isIn)")
            }
            port.invalidate()
            port.invalidate()
            #expect(
                trace.lines == [
                    "callback: valid false, free true, in a mode: true", "handler let go, in a mode: true",
                ])
            #expect(!loop.contains(port, forMode: .default))
            box.value = nil
        }
    }

    @Test("item 262: an invalidation callback that runs the loop lets it sleep (CFMessagePortInvalidate)")
    func endThatRunsTheLoop() async throws {
        try await onFreshThread { loop in
            let passes = Counter()
            let port = try Port(newName()) { _ in }
            try loop.add(port, forMode: .default)
            let remote = try Remote.lookUp(port.name ?? "")
            loop.run(for: .zero)
            #expect(remote.isValid && port.connectionCount == 1)
            loop.on(.beforeTimers) { _ in passes.increment() }
            port.onInvalidation { loop.run(for: .milliseconds(20)) }
            port.invalidate()
            #expect(passes.value > 0 && passes.value < 5)
        }
    }

    @Test("item 263: on an invalid port the callback is called immediately (CFMessagePortSetInvalidationCallBack)")
    func lateCallback() throws {
        let (port, calls) = (try Port(newName()) { _ in }, Counter())
        let remote = try Remote.lookUp(port.name ?? "")
        port.invalidate()
        port.onInvalidation { calls.increment() }
        #expect(calls.value == 1)
        remote.onInvalidation { calls.increment() }
        #expect(calls.value == 1)
        #expect(!remote.isValid && calls.value == 2)
        remote.onInvalidation { calls.increment() }
        #expect(calls.value == 3)
    }

    @Test("item 263: the callback is not called again when the port is released, and is not kept until then")
    func lateCallbackOnce() throws {
        let (calls, kept) = (Counter(), Counter())
        func onceOnly(_ closure: (@escaping @Sendable () -> Void) -> Void) {
            let witness = Witness { kept.increment() }
            closure {
                withExtendedLifetime(witness) {}
                calls.increment()
            }
        }
        do {
            let port = try Port(newName()) { _ in }
            let remote = try Remote.lookUp(port.name ?? "")
            remote.invalidate()
            port.invalidate()
            onceOnly { port.onInvalidation($0) }
            onceOnly { remote.onInvalidation($0) }
            #expect(calls.value == 2 && kept.value == 2)
            withExtendedLifetime((port, remote)) {}
        }
        #expect(calls.value == 2)
    }

    @Test("item 264: a remote port is invalid after the local port is released (__CFMessagePortDeallocate)")
    func localDies() throws {
        var port: Port? = try Port(newName()) { _ in }
        let remote = try Remote.lookUp(port?.name ?? "")
        #expect(remote.isValid)
        port = nil
        #expect(!remote.isValid)
    }

    @Test("item 265: a version-1 source, one message a pass; no source if invalid (CFMessagePortCreateRunLoopSource)")
    func onePerPass() async throws {
        try await onFreshThread { loop in
            let (count, passes) = (Counter(), Counter())
            let port = try Port(newName()) { _ in count.increment() }
            try loop.add(port, forMode: .default)
            let remote = try Remote.lookUp(port.name ?? "")
            for id: Int32 in 0..<5 { try remote.send(id) }
            loop.on(.beforeTimers) { _ in passes.increment() }
            while count.value < 5 { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
            #expect(passes.value == 5)
            port.invalidate()
            try loop.add(port, forMode: .default)
            #expect(!loop.contains(port, forMode: .default))
            #expect(loop.run(for: .zero) == .finished)
        }
    }
}
