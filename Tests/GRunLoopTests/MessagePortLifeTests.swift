// SPDX-License-Identifier: Apache-2.0
// Features of message ports that Core Foundation does not have: late replies, tasks, descriptors, large data, actors.

import Glibc
import TestSupport
import Testing

@testable import GRunLoop
@testable import GRunLoopMessagePorts

private typealias Port = GRunLoop.MessagePort
private typealias Remote = GRunLoop.RemoteMessagePort
private typealias Failure = GRunLoop.MessageRequestError
private typealias Data = GRunLoop.MessageData

/// A port on a thread that runs its loop, and the remote port to it.
private struct Pair {
    let port: Port
    let remote: Remote
    let thread = LoopThread.running()

    init(_ handler: @escaping @Sendable (Port.Message) -> Void) throws {
        let name = RuntimeDirectory.newName()
        port = try Port(name, handler: handler)
        remote = try Remote.lookUp(name)
        try thread.loop.add(port, forMode: .default)
    }

    static func echo() throws -> Pair {
        try Pair { message in _ = try? message.reply?.send(message.data, descriptors: message.takeDescriptors()) }
    }

    func finish() {
        port.invalidate()
        thread.finish()
        replying.finish()
    }

    func request(_ data: Data = [], id: Int32 = 1, limit: Duration = .seconds(30)) async throws(Failure)
        -> Remote.Reply
    {
        try await remote.request(
            id, data, sendTimeout: limit, receiveTimeout: limit, on: replying.loop)
    }

    /// The loop on which replies arrive.
    let replying = LoopThread.running()
}

private func failure(of body: () async throws(Failure) -> Void) async -> Failure? {
    do throws(Failure) {
        try await body()
        return nil
    } catch { return error }
}

@Suite("Message ports: replies, tasks, descriptors") struct MessagePortLifeTests {
    // MARK: Replies

    @Test("a reply may be sent later, from any thread, and once")
    func later() async throws {
        let kept = Shared<Port.Reply?>(nil)
        let pair = try Pair { message in kept.value = message.reply }
        async let reply = pair.request()
        #expect(await eventually { kept.value != nil })
        let (first, second) = (try kept.value?.send([5]), capturingLog { try? kept.value?.send([6]) })
        #expect(first == true && second.result == false)
        #expect(second.messages.count == 1 && second.messages.first?.contains("message already has a reply") == true)
        #expect(Array(try await reply.data) == [5])
        pair.finish()
    }

    @Test("releasing a request without a reply immediately notifies the client")
    func unanswered() async throws {
        let pair = try Pair { _ in }
        // The error is not a timeout.
        let error = await failure { () async throws(Failure) in _ = try await pair.request() }
        #expect(error == .unanswered && error?.code == -6)
        pair.finish()
    }

    @Test("a reply to a client that has gone returns false each time, and nothing is logged about an earlier one")
    func gone() async throws {
        let kept = Shared<Port.Reply?>(nil)
        let pair = try Pair { message in kept.value = message.reply }
        let error = await failure { () async throws(Failure) in _ = try await pair.request(limit: .milliseconds(5)) }
        #expect(error == .receiveTimeout)
        #expect(await eventually { kept.value != nil })
        pair.remote.invalidate()
        let replies = capturingLog { (0..<3).map { _ in try? kept.value?.send() } }
        #expect(replies.result == [false, false, false] && replies.messages == [])
        pair.finish()
    }

    @Test("a request whose mode cannot be watched is not sent, and the next request is")
    func unwatchedMode() async throws {
        let received = Shared<[Data]>([])
        let pair = try Pair { message in
            received.update { $0.append(message.data) }
            _ = try? message.reply?.send(message.data)
        }
        try await onFreshThread { loop in
            let (remote, mode) = (pair.remote, GRunLoop.Mode("org.example.unwatched"))
            let reader = try #require(remote.reader(on: loop))
            let unsent = try remote.prepare(.request, 1, [1], []) {}
            // Replaces the socket by a file that epoll does not support.
            let number = try #require(remote.socket?.descriptor)
            let (socket, null) = (dup(number), open("/dev/null", O_RDONLY | O_CLOEXEC))
            dup2(null, number)
            #expect(throws: Failure.transportError(errno: EPERM)) { try remote.begin(unsent, by: reader, in: mode) }
            dup2(socket, number)
            close(socket)
            close(null)
            let limit = Duration.seconds(30)
            let reply = try remote.request(1, [2], sendTimeout: limit, receiveTimeout: limit, replyMode: mode)
            #expect(Array(reply.data) == [2])
            // Neither request leaves anything in the mode.
            #expect(loop.run(mode: mode, for: .zero) == .finished)
        }
        #expect(received.value.map { Array($0) } == [[2]])
        pair.finish()
    }

    @Test("a message without a limit is sent if there is room, even if an earlier sender has not noticed the room yet")
    func roomBehindAnother() async throws {
        try await onFreshThread { loop in
            let ids = Shared<[Int32]>([])
            let port = try Port(RuntimeDirectory.newName()) { message in ids.update { $0.append(message.id) } }
            let remote = try Remote.lookUp(port.name ?? "")
            var count: Int32 = 0
            while (try? remote.send(count)) != nil { count += 1 }
            // No thread runs a loop for this message.
            let waiting = try remote.prepare(.oneWay, count, [], []) {}
            try remote.start(waiting)
            try loop.add(port, forMode: .default)
            while ids.value.count < count { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
            try remote.send(count + 1)
            while ids.value.count < count + 2 { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
            #expect(ids.value == Array(0...count + 1))
            port.invalidate()
        }
    }

    @Test("in virtual time a request without limits waits for another thread's reply; with limits, it times out")
    func virtualTime() async throws {
        let pair = try Pair { message in
            usleep(20_000)
            _ = try? message.reply?.send([1])
        }
        try await onFreshThread { _ in
            GRunLoop.withVirtualTime { time in
                let (start, hour, endless) = (time.now, Duration.seconds(3600), Duration.seconds(20 * 366 * 86_400))
                #expect(throws: Failure.receiveTimeout) {
                    try pair.remote.request(1, sendTimeout: hour, receiveTimeout: hour)
                }
                #expect(start.duration(to: time.now) == hour)
                #expect(throws: Never.self) {
                    let reply = try pair.remote.request(1, [1], sendTimeout: endless, receiveTimeout: endless)
                    #expect(Array(reply.data) == [1])
                }
                #expect(start.duration(to: time.now) == hour)
            }
        }
        pair.finish()
    }

    @Test("a port that its own handler invalidates has sent its reply")
    func invalidatedInHandler() async throws {
        let box = Shared<Port?>(nil)
        let pair = try Pair { message in
            _ = try? message.reply?.send([1])
            box.value?.invalidate()
        }
        box.value = pair.port
        #expect(Array(try await pair.request().data) == [1])
        #expect(await eventually { !pair.port.isValid })
        box.value = nil
        pair.finish()
    }

    @Test("a request that a handler sends to its own port is handled by the nested run")
    func inItsOwnHandler() async throws {
        let remote = Shared<Remote?>(nil)
        let pair = try Pair { message in
            guard message.id > 0 else {
                _ = try? message.reply?.send([0])
                return
            }
            let inner = try? remote.value?.request(
                message.id - 1, sendTimeout: .zero, receiveTimeout: .seconds(30))
            _ = try? message.reply?.send(Data((inner.map { Array($0.data) } ?? []) + [UInt8(message.id)]))
        }
        remote.value = pair.remote
        #expect(Array(try await pair.request(id: 5).data) == [0, 1, 2, 3, 4, 5])
        pair.finish()
        remote.value = nil
    }

    @Test("a client that does not read its replies is disconnected, and no other client is")
    func doesNotTake() async throws {
        let replies = Shared<[Bool]>([])
        let pair = try Pair { message in
            let sent = try? message.reply?.send(Data([UInt8](repeating: 1, count: 60_000)))
            replies.update { $0.append(sent ?? false) }
        }
        // A bare peer, which sends requests and never reads.
        let name = try PortName(pair.port.name ?? "")
        let socket = try #require(MessageSocket())
        #expect(try name.connect(socket))
        var asked = 0
        while asked < 3000, replies.value.last != false {
            let packet = try OutgoingPacket(.request, id: 1, conversation: UInt32(asked), [], [])
            switch socket.send(packet) {
            case .sent: asked += 1
            case .full, .short: usleep(1000)
            case .gone, .failed: asked = 3000
            }
        }
        #expect(await eventually { replies.value.contains(false) })
        #expect(Array(try await pair.request().data).count == 60_000)
        pair.finish()
    }

    @Test("sent messages are handled even if the sender ends with an unread reply")
    func leavesUnread() async throws {
        let (ids, isReplied, hasLeft) = (Shared<[Int32]>([]), Flag(), Flag())
        let pair = try Pair { message in
            _ = try? message.reply?.send([1])
            if message.id == 1 {
                isReplied.set()
                _ = hasLeft.wait()
            }
            ids.update { $0.append(message.id) }
        }
        do {
            let socket = try #require(MessageSocket())
            #expect(try PortName(pair.port.name ?? "").connect(socket))
            _ = socket.send(try OutgoingPacket(.request, id: 1, conversation: 1, [], []))
            #expect(isReplied.wait())
            _ = socket.send(try OutgoingPacket(.oneWay, id: 2, conversation: 2, [], []))
        }
        hasLeft.set()
        #expect(await eventually { ids.value == [1, 2] })
        pair.finish()
    }

    // MARK: Tasks

    @Test("a cancelled task resumes immediately; the reply is dropped, and the next reply is right")
    func cancelled() async throws {
        let kept = Shared<[Port.Message]>([])
        let pair = try Pair { message in kept.update { $0.append(message) } }
        let task = Task { () -> Failure? in
            await failure { () async throws(Failure) in _ = try await pair.request([1]) }
        }
        #expect(await eventually { kept.value.count == 1 })
        task.cancel()
        let error = await task.value
        #expect(error == .cancelled && error?.code == -7)
        #expect(try kept.value[0].reply?.send([1]) == true)
        async let reply = pair.request([2])
        #expect(await eventually { kept.value.count == 2 })
        #expect(try kept.value[1].reply?.send([2]) == true)
        #expect(Array(try await reply.data) == [2])
        pair.finish()
    }

    @Test("a message that was cancelled before it could be sent is not sent")
    func cancelledBefore() async throws {
        let ids = Shared<[Int32]>([])
        let pair = try Pair { message in ids.update { $0.append(message.id) } }
        let exchange = try pair.remote.prepare(.oneWay, 1, [], []) {}
        pair.remote.giveUp(exchange, .cancelled)
        try pair.remote.start(exchange)
        try await pair.remote.send(2, on: pair.replying.loop)
        #expect(await eventually { ids.value.contains(2) })
        #expect(ids.value == [2])
        pair.finish()
    }

    @Test("the end of the loop's thread ends the wait of a task, and leaves nothing behind")
    func loopEnds() async throws {
        let kept = Shared<Port.Message?>(nil)
        let pair = try Pair { message in kept.value = message }
        let worker = LoopThread.running()
        let loop = worker.loop
        async let error = failure { () async throws(Failure) in
            _ = try await pair.remote.request(1, sendTimeout: .zero, receiveTimeout: .seconds(30), on: loop)
        }
        #expect(await eventually { kept.value != nil })
        worker.finish()
        #expect(await error == .loopEnded)
        let late = await failure { () async throws(Failure) in
            _ = try await pair.remote.request(1, sendTimeout: .zero, receiveTimeout: .seconds(30), on: loop)
        }
        #expect(late == .loopEnded)
        pair.finish()
    }

    @Test("a sending task waits for room, and its messages arrive in order")
    func asyncSends() async throws {
        let ids = Shared<[Int32]>([])
        let pair = try Pair { message in
            usleep(500)
            ids.update { $0.append(message.id) }
        }
        let block = Data([UInt8](repeating: 1, count: 50_000))
        for id: Int32 in 0..<100 {
            try await pair.remote.send(id, block, sendTimeout: .seconds(60), on: pair.replying.loop)
        }
        #expect(await eventually { ids.value.count == 100 })
        #expect(ids.value == Array(0..<100))
        pair.finish()
    }

    @Test("if the receiver dies while 50 tasks wait for room and for replies, each task gets an error")
    func diesWhileTheyWait() async throws {
        let isBusy = Flag()
        let pair = try Pair { _ in
            isBusy.set()
            usleep(200_000)
        }
        let block = Data([UInt8](repeating: 1, count: 60_000))
        let errors = await withTaskGroup(of: Failure?.self) { group in
            for number in 0..<50 {
                group.addTask {
                    await failure { () async throws(Failure) in
                        if number % 2 == 0 { _ = try await pair.request(block) }
                        try await pair.remote.send(1, block, sendTimeout: .seconds(30), on: pair.replying.loop)
                    }
                }
            }
            // The tasks may have to wait for a thread.
            #expect(await eventually { isBusy.isSet && pair.remote.isBlocked })
            pair.port.invalidate()
            return await group.reduce(into: []) { $0.append($1) }
        }
        let told = errors.compactMap { $0 }
        #expect(told.allSatisfy { [.becameInvalid, .isInvalid, .unanswered].contains($0) }, "\(told)")
        #expect(told.contains(.becameInvalid))
        pair.finish()
    }

    // MARK: Attachments

    @Test("messages carry descriptors in both directions; descriptors that nobody takes are closed")
    func descriptors() async throws {
        do {
            let pair = try Pair.echo()
            let pipe = Pipe()
            let reply = try await pair.remote.request(
                1, descriptors: [pipe.writeEnd, pipe.readEnd], sendTimeout: .zero, receiveTimeout: .seconds(30),
                on: pair.replying.loop)
            #expect(reply.descriptorCount == 2)
            let taken = reply.takeDescriptors()
            #expect(taken.count == 2 && reply.takeDescriptors().isEmpty)
            #expect(fcntl(taken[0], F_GETFD) & FD_CLOEXEC != 0)
            #expect(write(taken[0], "x", 1) == 1)
            #expect(pipe.drain() == "x")
            for descriptor in taken { close(descriptor) }
            pair.finish()
        }
    }

    @Test("descriptors that nobody takes are closed together with the message")
    func untaken() async throws {
        let pair = try Pair { message in _ = try? message.reply?.send(descriptors: []) }
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = try await pair.remote.request(
            1, descriptors: [ends[1]], sendTimeout: .zero, receiveTimeout: .seconds(30), on: pair.replying.loop)
        close(ends[1])
        // The pipe reports its end when the last copy is closed.
        var record = pollfd(fd: ends[0], events: 0, revents: 0)
        #expect(await eventually { poll(&record, 1, 0) == 1 && record.revents & Int16(POLLHUP) != 0 })
        close(ends[0])
        pair.finish()
    }

    @Test("data of more than 64 KiB arrives as memory that cannot change, with the same bytes")
    func large() async throws {
        let pair = try Pair.echo()
        for size in [0, 1, 65_535, 65_536, 65_537, 1 << 20, 50_000_001] {
            let bytes = pattern(size)
            let reply = try await pair.request(Data(bytes))
            #expect(reply.data.count == size)
            let isSame = reply.data.withUnsafeBytes { reply in
                reply.baseAddress.map { memcmp($0, bytes, size) == 0 } ?? true
            }
            #expect(isSame)
        }
        pair.finish()
    }

    /// Makes the bytes in pieces. Byte by byte, 50 MB of them would block all tests' threads for 15 s in a debug build.
    private func pattern(_ size: Int) -> [UInt8] {
        let piece = (0..<4099).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var bytes = [UInt8](repeating: 0, count: size)
        bytes.withUnsafeMutableBytes { bytes in
            for start in stride(from: 0, to: size, by: piece.count) {
                bytes[start..<min(size, start + piece.count)].copyBytes(from: piece.prefix(size - start))
            }
        }
        return bytes
    }

    @Test("a message that waits to be sent has its own copies of its descriptors: the sender may close its copies")
    func keepsDescriptors() async throws {
        let counts = Shared<[Int]>([])
        let pair = try Pair { message in
            usleep(2000)
            let taken = message.takeDescriptors()
            counts.update { $0.append(taken.filter { fcntl($0, F_GETFD) >= 0 }.count) }
            for descriptor in taken { close(descriptor) }
        }
        let block = Data([UInt8](repeating: 1, count: 60_000))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    let pipe = Pipe()
                    try? await pair.remote.send(
                        1, block, descriptors: [pipe.readEnd, pipe.writeEnd], sendTimeout: .seconds(60),
                        on: pair.replying.loop)
                }
            }
        }
        #expect(await eventually { counts.value.count == 20 })
        #expect(counts.value.allSatisfy { $0 == 2 })
        pair.finish()
    }

    // MARK: Many ports, no leaks

    @Test("400 silent clients are accepted beside one that sends, and all are disconnected")
    func manyConnections() async throws {
        try await onFreshThread { loop in
            let count = Counter()
            let port = try Port(RuntimeDirectory.newName()) { _ in count.increment() }
            try loop.add(port, forMode: .default)
            let name = try PortName(port.name ?? "")
            var sockets: [MessageSocket] = []
            for _ in 0..<400 {
                let socket = try #require(MessageSocket())
                #expect(try name.connect(socket))
                sockets.append(socket)
            }
            let packet = try OutgoingPacket(.oneWay, id: 1, conversation: 1, [], [])
            guard case .sent = sockets[399].send(packet) else { return #expect(Bool(false)) }
            while count.value == 0 { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
            #expect(port.connectionCount == 400)
            sockets = []
            while port.connectionCount > 0 { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
            port.invalidate()
        }
    }

    @Test("a thousand ports are created, receive requests and are released: no descriptor remains")
    func thousand() { #expect(runChild("ports-thousand").output == ["none is left"]) }

    @Test("30,000 requests do not increase memory use", .enabled(if: sanitizer == nil))
    func memory() { #expect(runChild("ports-memory").output == ["no more than before"]) }

    // MARK: Actors

    @Test("the handlers of the main actor and of another actor are called on their actors")
    func isolated() async throws {
        let thread = try GRunLoop.Thread(name: "port")
        let name = RuntimeDirectory.newName()
        let port = try await thread.loop.isolation.makePort(name)
        let remote = try Remote.lookUp(name)
        let replying = LoopThread.running()
        let reply = try await remote.request(
            1, sendTimeout: .zero, receiveTimeout: .seconds(30), on: replying.loop)
        #expect(Array(reply.data) == [1])
        port.invalidate()
        replying.finish()
        let main = try Port(replying: RuntimeDirectory.newName()) { @MainActor _ in nil }
        #expect(main.isValid)
        main.invalidate()
    }
}

extension GRunLoop.Isolation {
    fileprivate func makePort(_ name: String) throws -> GRunLoop.MessagePort {
        var calls: UInt8 = 0
        let port = try GRunLoop.MessagePort(replying: name, isolation: self) { _ in
            calls += 1
            return [calls]
        }
        try loop.add(port, forMode: .default)
        return port
    }
}
