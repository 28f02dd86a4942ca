// SPDX-License-Identifier: Apache-2.0
// Message ports: queued messages are handled once and in order, unless the port ends before. Each request gets its own
// reply or an error. A name is free as soon as its port has ended.

import GRunLoop
import GRunLoopMessagePorts
import Glibc
import TestSupport

/// A message port, with the account of one producer.
private final class MessageAccount: Sendable {
    let producer: Int
    let consumer: Consumer
    let name: String
    let (accepted, handled, notices) = (Counted(), Counted(), Counted())
    /// Whether only one thread sends.
    private let isOrdered: Bool
    private let last = Shared<Int32>(-1)

    init(_ producer: Int, _ consumer: Consumer, _ name: String, isOrdered: Bool) {
        (self.producer, self.consumer, self.name) = (producer, consumer, name)
        self.isOrdered = isOrdered
    }

    var title: String { "message port \(name) of producer \(producer) on \(consumer.name)" }
    var state: String { "\(handled.value) handled of \(accepted.value), \(title)" }

    /// Makes a port with a unique name. Its handler checks the account, and then calls `body`.
    func port(_ body: @escaping @Sendable (GRunLoop.MessagePort.Message) -> Void) -> GRunLoop.MessagePort? {
        let token = Token(.message, producer, consumer)
        do throws(GRunLoop.MessagePortError) {
            let port = try GRunLoop.MessagePort(name) { [self] message in
                withExtendedLifetime(token) { take(message) }
                body(message)
            }
            port.onInvalidation { [self] in notices.add() }
            return port
        } catch {
            Findings.add("no port: \(error), \(title)")
            return nil
        }
    }

    func remote() -> GRunLoop.RemoteMessagePort? {
        do throws(GRunLoop.MessagePortError) { return try .lookUp(name) } catch {
            Findings.add("not found: \(error), \(title)")
            return nil
        }
    }

    func add(_ port: GRunLoop.MessagePort, to mode: GRunLoop.Mode) {
        do throws(GRunLoop.SystemError) { try consumer.loop.add(port, forMode: mode) } catch {
            Findings.add("not added: \(error), \(title)")
        }
    }

    /// Data of 1 byte to 100 KB. The larger ones are sent as memory.
    static func data(of id: Int32) -> GRunLoop.MessageData {
        .init(repeatElement(UInt8(truncatingIfNeeded: id), count: id % 16 == 15 ? 100_000 : Int(id) + 1))
    }

    static func isData(_ data: GRunLoop.MessageData, of id: Int32) -> Bool {
        data.count == Self.data(of: id).count && data.first == UInt8(truncatingIfNeeded: id)
    }

    private func take(_ message: GRunLoop.MessagePort.Message) {
        consumer.enter(.message, owedSince: nanoseconds(), producer)
        if !Self.isData(message.data, of: message.id) { Findings.add("other data: number \(message.id), \(title)") }
        let former = last.update { last in
            defer { last = message.id }
            return last
        }
        if isOrdered, message.id <= former { Findings.add("out of order: \(message.id) after \(former), \(title)") }
        handled.add()
    }

    func settle(keepsAll: Bool) {
        if keepsAll { waitFor(state, on: consumer) { handled.value >= accepted.value } }
        if handled.value > accepted.value { Findings.add("delivered twice: \(state)") }
    }

    func expectNotice() {
        waitFor("a notice of the end of \(title)", on: consumer) { notices.value > 0 }
        if notices.value > 1 { Findings.add("\(notices.value) notices of the end of \(title)") }
    }
}

/// The results of the requests to a port.
private final class RequestAccount: Sendable {
    let (made, done) = (Counted(), Counted())

    func note(_ outcome: Result<GRunLoop.RemoteMessagePort.Reply, GRunLoop.MessageRequestError>, of id: Int32) {
        done.add()
        switch outcome {
        case .success(let reply) where id % 4 != 3 && MessageAccount.isData(reply.data, of: id): break
        case .success: Findings.add("a reply of another request: number \(id)")
        case .failure(.unanswered) where id % 4 == 3: break
        case .failure(.cancelled), .failure(.becameInvalid), .failure(.isInvalid): break
        case .failure(let error): Findings.add("a request without a reply: \(error), number \(id)")
        }
    }
}

extension Producer {
    /// Returns one of eight names. Fewer than eight are in use at a time.
    private func nextName() -> String { "org.example.soak.\(number).\(nextNumber() % 8)" }

    /// Sends to a temporary port in one mode or two, with all kinds of ends.
    func sendToMessagePort() {
        let consumer = hold()
        let account = MessageAccount(number, consumer, nextName(), isOrdered: true)
        let modes: [GRunLoop.Mode] = dice.chance(30) ? [.default, .soak] : [mode]
        guard let port = account.port({ _ in }), let remote = account.remote() else { return consumer.release() }
        let isInBefore = dice.chance(70)
        if isInBefore { for mode in modes { account.add(port, to: mode) } }
        for id in 0..<Int32(dice.number(1...20)) {
            let limit: Duration = dice.chance(50) ? .milliseconds(dice.number(1...3)) : .zero
            // Counted before the send, because the message may be handled before this thread goes on.
            account.accepted.add()
            do throws(GRunLoop.MessageRequestError) {
                try remote.send(id, MessageAccount.data(of: id), sendTimeout: limit)
            } catch {
                _ = account.accepted.change(by: -1)
                if error != .sendTimeout { Findings.add("refused: \(error), \(account.title)") }
            }
            if id == 5, dice.chance(20) {
                for mode in modes { consumer.loop.remove(port, forMode: mode) }
                if dice.chance(50) { sched_yield() }
                for mode in modes { account.add(port, to: mode) }
            }
        }
        if !isInBefore { for mode in modes { account.add(port, to: mode) } }
        let keepsAll = dice.chance(50)
        if !keepsAll { port.invalidate() }
        later {
            account.settle(keepsAll: keepsAll)
            port.invalidate()
            account.expectNotice()
            waitFor("the end of \(account.title) at the other side", on: consumer) { !remote.isValid }
            consumer.release()
        }
    }

    /// Makes requests on this thread, and in tasks, whose replies arrive on the main loop. In four requests, the port
    /// replies to two immediately, another loop replies to one, and one gets no reply. Some requests are cancelled.
    func requestByMessage() {
        let consumer = hold()
        let (account, requests) = (
            MessageAccount(number, consumer, nextName(), isOrdered: false), RequestAccount()
        )
        let port = account.port { [main] message in
            let data = MessageAccount.data(of: message.id)
            switch message.id % 4 {
            case 3: break
            case 2: main.loop.async { _ = try? message.reply?.send(data) }
            default: _ = try? message.reply?.send(data)
            }
        }
        guard let port, let remote = account.remote() else { return consumer.release() }
        account.add(port, to: mode)
        let limit = Settings.patience
        for id in 0..<Int32(dice.number(1...10)) {
            requests.made.add()
            account.accepted.add()
            let data = MessageAccount.data(of: id)
            if dice.chance(30) {
                requests.note(
                    Result { () throws(GRunLoop.MessageRequestError) in
                        try remote.request(id, data, sendTimeout: limit, receiveTimeout: limit)
                    }, of: id)
                continue
            }
            let task = Task { [main] in
                do throws(GRunLoop.MessageRequestError) {
                    let reply = try await remote.request(
                        id, data, sendTimeout: limit, receiveTimeout: limit, on: main.loop)
                    requests.note(.success(reply), of: id)
                } catch { requests.note(.failure(error), of: id) }
            }
            if dice.chance(20) { task.cancel() }
        }
        let isInvalidated = dice.chance(20)
        if isInvalidated { port.invalidate() }
        later { [main] in
            waitFor("the end of each request of \(account.title)", on: main) {
                requests.done.value == requests.made.value
            }
            account.settle(keepsAll: false)
            port.invalidate()
            account.expectNotice()
            consumer.release()
        }
    }
}
