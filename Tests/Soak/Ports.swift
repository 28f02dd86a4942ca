// SPDX-License-Identifier: Apache-2.0
// Ports: each accepted message is handled once, on the thread of the port's loop and in its sender's order, or is
// released when the port is invalidated. A sender that waits for room gets room or an error.

import GRunLoop
import Glibc
import TestSupport

/// The content of a message. Its deinit shows when it is released.
private final class Cargo: Sendable {
    let number: Int
    private let token: Token
    private let account: PortAccount
    private let handled = Counted()
    private let refused = Counted()

    init(_ number: Int, _ account: PortAccount) {
        (self.number, self.account) = (number, account)
        token = Token(.port, account.producer, account.consumer)
    }

    func noteHandled() -> Bool { handled.add() == 1 }
    /// Notes that the port has refused it, so that it does not count.
    func noteRefused() { refused.add() }

    deinit {
        if handled.value > 0, refused.value > 0 { account.findRefused(number) }
        if handled.value == 0, refused.value == 0 { account.letGo.add() }
    }

    func message(replyPort: GRunLoop.Port? = nil) -> GRunLoop.PortMessage {
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        return GRunLoop.PortMessage(id: UInt32(number), [.bytes(none, keptBy: self)], replyPort: replyPort)
    }

    static func of(_ message: GRunLoop.PortMessage) -> Cargo? { message.components.first?.keeper as? Cargo }
}

/// The messages that one producer sends to one port, or receives through another port.
final class PortAccount: Sendable {
    let producer: Int
    let consumer: Consumer
    let (accepted, handled, letGo, notices) = (Counted(), Counted(), Counted(), Counted())
    private let sent = Counted()
    private let last = Shared(-1)

    init(_ producer: Int, _ consumer: Consumer) { (self.producer, self.consumer) = (producer, consumer) }

    var name: String { "a port of producer \(producer) on \(consumer.name)" }
    var state: String { "\(handled.value) handled and \(letGo.value) released of \(accepted.value), \(name)" }
    var isSettled: Bool { handled.value + letGo.value >= accepted.value }

    /// With a limit, the thread waits for room.
    @discardableResult func send(
        to port: GRunLoop.Port, before limit: GRunLoop.Instant? = nil, replyPort: GRunLoop.Port? = nil
    ) -> Bool {
        let cargo = Cargo(sent.add() - 1, self)
        let message = cargo.message(replyPort: replyPort)
        let isAccepted = if let limit { port.send(message, before: limit) } else { port.trySend(message) }
        if isAccepted { accepted.add() } else { cargo.noteRefused() }
        return isAccepted
    }

    /// Called by the port's handler. Returns the number of the message.
    @discardableResult func take(_ message: GRunLoop.PortMessage, on place: Consumer? = nil) -> Int {
        guard let cargo = Cargo.of(message), cargo.number == Int(message.id) else {
            Findings.add("a message without its content: \(name)")
            return -1
        }
        (place ?? consumer).enter(.port, owedSince: nanoseconds(), producer)
        if !cargo.noteHandled() { Findings.add("delivered twice: number \(cargo.number), \(name)") }
        let former = last.update { last in
            defer { last = cargo.number }
            return last
        }
        if cargo.number <= former { Findings.add("out of order: \(cargo.number) after \(former), \(name)") }
        handled.add()
        return cargo.number
    }

    func findRefused(_ number: Int) { Findings.add("refused and delivered: number \(number), \(name)") }

    func watch(_ port: GRunLoop.Port) { port.onInvalidation { [self] in notices.add() } }

    /// Waits until each message is handled or released. With `keepsAll`, none may be released.
    func settle(keepsAll: Bool = false) {
        waitFor(state, on: consumer) { isSettled }
        if handled.value + letGo.value > accepted.value { Findings.add("delivered twice: \(state)") }
        if keepsAll, letGo.value > 0 { Findings.add("lost: \(state)") }
    }

    func end(_ port: GRunLoop.Port) {
        port.invalidate()
        settle()
        if port.isValid || port.count != 0 { Findings.add("\(port.count) wait in a port that is invalid: \(name)") }
        if port.trySend(GRunLoop.PortMessage()) { Findings.add("accepted by a port that is invalid: \(name)") }
        expectNotice()
    }

    /// Waits for the notice, because another thread may have invalidated the port without having called it yet.
    func expectNotice() {
        waitFor("a notice of the end of \(name)", on: consumer) { notices.value > 0 }
        if notices.value > 1 { Findings.add("\(notices.value) notices of the end of \(name)") }
    }
}

/// A closure as the content of a message.
private final class CarriedClosure: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

extension Consumer {
    /// Makes the port of a loop, to which every producer sends closures.
    static func makePort() -> GRunLoop.Port {
        GRunLoop.Port(capacity: 4) { message in (message.components.first?.keeper as? CarriedClosure)?.body() }
    }
}

extension Producer {
    private var soon: GRunLoop.Instant { GRunLoop.now.advanced(by: .microseconds(dice.number(0...2000))) }

    /// Sends to the port that all producers share, which is full most of the time. Messages come in order, like blocks.
    func sendToPort() {
        let consumer = pick()
        let lane = consumer.lane(.port, of: number)
        for _ in 0..<dice.number(1...10) {
            lane.post { body in
                let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
                let message = GRunLoop.PortMessage([.bytes(nothing, keptBy: CarriedClosure(body))])
                let limit = GRunLoop.now.advanced(by: Settings.patience)
                if !consumer.port.send(message, before: limit), consumer.mustDeliver {
                    Findings.add("refused: a port of \(consumer.name), which lives")
                }
            }
        }
        giveTime(to: lane)
    }

    /// Uses a temporary port in one mode or two, with a limited capacity, and with all kinds of ends.
    func sendToItsOwnPort() {
        let consumer = hold()
        let account = PortAccount(number, consumer)
        let (end, capacity) = (dice.number(0...3), dice.pick([-1, 1, 3, 20, .max]))
        let modes: [GRunLoop.Mode] = dice.chance(30) ? [.default, .soak] : [mode]
        let port = GRunLoop.Port(capacity: capacity) { message in
            if account.take(message) == 7, end == 3 { message.receivePort?.invalidate() }
        }
        account.watch(port)
        let isInBefore = dice.chance(70)
        if isInBefore { for mode in modes { consumer.loop.add(port, forMode: mode) } }
        for index in 0..<dice.number(1...20) {
            account.send(to: port, before: dice.chance(50) ? soon : nil)
            if index == 5, dice.chance(20) {
                for mode in modes { consumer.loop.remove(port, forMode: mode) }
                if dice.chance(50) { sched_yield() }
                for mode in modes { consumer.loop.add(port, forMode: mode) }
            }
        }
        if !isInBefore { for mode in modes { consumer.loop.add(port, forMode: mode) } }
        switch end {
        case 0: port.invalidate()
        case 1:
            // Without a mode, the port ends with its last reference, and reports its end as after an invalidation.
            for mode in modes { consumer.loop.remove(port, forMode: mode) }
        default: break
        }
        later { [weak port] in
            if let port {
                if end == 2 { account.settle(keepsAll: true) }
                account.end(port)
            } else {
                account.settle()
                account.expectNotice()
            }
            consumer.release()
        }
        if end != 1 { later { withExtendedLifetime(port) {} } }
    }

    /// Asks one loop. Its answers arrive on the main loop through the reply port.
    func askByPort() {
        let consumer = hold()
        let (questions, answers) = (PortAccount(number, consumer), PortAccount(number, main))
        let answer = GRunLoop.Port { [main] message in answers.take(message, on: main) }
        let isLimited = dice.chance(50)
        let ask = GRunLoop.Port(capacity: isLimited ? 2 : .max) { message in
            questions.take(message)
            guard let port = message.replyPort else { return Findings.add("no reply port: \(questions.name)") }
            if !answers.send(to: port) { Findings.add("refused: an answer of \(answers.name)") }
        }
        questions.watch(ask)
        answers.watch(answer)
        consumer.loop.add(ask, forMode: mode)
        main.loop.add(answer, forMode: .common)
        if dice.chance(30) { main.loop.add(answer, forMode: .soak) }
        for _ in 0..<dice.number(1...10) {
            questions.send(to: ask, before: isLimited ? soon : nil, replyPort: answer)
        }
        later {
            questions.settle(keepsAll: true)
            waitFor("an answer to each: \(answers.state)", on: consumer) {
                answers.accepted.value == questions.handled.value
            }
            answers.settle(keepsAll: true)
            questions.end(ask)
            answers.end(answer)
            consumer.release()
        }
    }

    /// Moves a port from one loop to another. Its waiting messages move as well.
    func movePort() {
        guard let worker = workers.pick(dice.number(0...100)), worker.hold() else { return }
        let (account, mode) = (PortAccount(number, main), mode)
        let port = GRunLoop.Port { [main] message in
            account.take(message, on: GRunLoop.current === worker.loop ? worker : main)
        }
        account.watch(port)
        worker.loop.add(port, forMode: mode)
        for _ in 0..<dice.number(1...10) { account.send(to: port) }
        let isOut = Counted()
        worker.loop.async {
            worker.loop.remove(port, forMode: mode)
            isOut.add()
        }
        waitFor("a block that takes out \(account.name)", on: worker) { isOut.value > 0 }
        worker.release()
        account.send(to: port)
        main.loop.add(port, forMode: .common)
        account.send(to: port)
        later {
            account.settle(keepsAll: true)
            account.end(port)
        }
    }

    /// A task that receives on the main loop. Cancelling the task invalidates the port.
    func awaitPort() {
        let account = PortAccount(number, main)
        let (port, done) = (GRunLoop.Port(), Counted())
        account.watch(port)
        let task = Task(executorPreference: main.loop.executor) { [main] in
            for await message in port.messages(on: main.loop) { account.take(message) }
            done.add()
        }
        for _ in 0..<dice.number(1...10) { account.send(to: port) }
        let isCancelled = dice.chance(30)
        if isCancelled { task.cancel() }
        later { [main] in
            if !isCancelled { account.settle(keepsAll: true) }
            account.end(port)
            waitFor("the end of a task that awaits \(account.name)", on: main) { done.value > 0 }
        }
    }
}
