// SPDX-License-Identifier: Apache-2.0
// Work that is delivered in the order of its sending: messages of ports, elements of channels, idle work, performs on
// the loop's thread, blocks of the main dispatch queue.

import Dispatch
import GRunLoop

/// Several queues of one kind, each with a sequence.
class Queues: Account, @unchecked Sendable {
    /// Sends into one queue. Returns false if the queue is full.
    typealias Send = (_ number: Int) -> Bool

    private var queues: [(sequence: Sequence, send: Send)] = []

    func addQueue(_ sequence: Sequence, _ send: @escaping Send) { queues.append((sequence, send)) }

    override func act() {
        let queue = program.random.pick(queues)
        for _ in 0..<program.random.number(1...3) {
            guard queue.send(queue.sequence.next) else { return }
            queue.sequence.accept()
        }
    }

    override var open: String? { joined(queues.map(\.sequence.open)) }
    override func close() { queues = [] }
}

final class Ports: Queues, @unchecked Sendable {
    private var ports: [GRunLoop.Port] = []

    override func begin() { for number in 0..<2 { make(number) } }

    private func make(_ number: Int) {
        let sequence = Sequence("port \(number)")
        let port = GRunLoop.Port(capacity: program.random.pick([1, 3, .max])) { [unowned self] message in
            sequence.deliver(Int(message.id))
            program.callout("port \(number)")
        }
        for mode in program.someModes() { loop.add(port, forMode: mode) }
        ports.append(port)
        addQueue(sequence) { port.trySend(GRunLoop.PortMessage(id: UInt32($0))) }
    }

    override func close() {
        super.close()
        for port in ports { port.invalidate() }
        ports = []
    }
}

final class Channels: Queues, @unchecked Sendable {
    private var channels: [GRunLoop.Channel<(Int, Ticket)>] = []

    override func begin() { for number in 0..<2 { make(number) } }

    private func make(_ number: Int) {
        let sequence = Sequence("channel \(number)")
        let channel = GRunLoop.Channel<(Int, Ticket)>(capacity: program.random.pick([1, 4, .max]))
        channel.receive(on: loop, inModes: program.someModes()) { [unowned self] (element: (Int, Ticket)) in
            element.1.call()
            sequence.deliver(element.0)
            program.callout("channel \(number)")
        }
        channels.append(channel)
        addQueue(sequence) { send($0, to: channel, of: number) }
    }

    override func leave() {
        for (number, channel) in channels.enumerated() {
            let ticket = Ticket("an element of channel \(number) at the end")
            ticket.cancel()
            _ = channel.trySend((0, ticket))
        }
    }

    override func close() {
        super.close()
        for channel in channels { channel.invalidate() }
        channels = []
    }
}

/// Sends to a channel, and returns whether the channel has accepted it.
func send(_ number: Int, to channel: GRunLoop.Channel<(Int, Ticket)>, of channelNumber: Int) -> Bool {
    let ticket = Ticket("element \(number) of channel \(channelNumber)")
    if channel.trySend((number, ticket)) == .enqueued { return true }
    ticket.cancel()
    return false
}

final class IdleWork: Queues, @unchecked Sendable {
    private var queue: GRunLoop.IdleQueue?
    private var isBusy = false

    override func begin() {
        let sequence = Sequence("the idle queue")
        let queue = GRunLoop.IdleQueue(timePerPass: program.random.pick([.zero, .milliseconds(1)]))
        for mode in program.someModes() { loop.add(queue, forMode: mode) }
        self.queue = queue
        addQueue(sequence) { [unowned self] number in
            let ticket = Ticket("idle work \(number)")
            queue.enqueue { [unowned self] in
                ticket.call()
                sequence.deliver(number)
                if isBusy { Findings.add("idle work \(number) was called in another one of its queue") }
                isBusy = true
                program.callout("idle work \(number)")
                isBusy = false
            }
            return true
        }
    }

    override func close() {
        super.close()
        queue?.invalidate()
        queue = nil
    }
}

final class ThreadPerforms: Queues, @unchecked Sendable {
    override func begin() { for number in 0..<2 { make(number) } }

    private func make(_ number: Int) {
        let sequence = Sequence("performs on the thread \(number)")
        let modes = program.someModes()
        addQueue(sequence) { [unowned self] item in
            let ticket = Ticket("perform on the thread \(number).\(item)")
            do {
                try loop.performOnThread(inModes: modes) { [unowned self] in
                    ticket.call()
                    sequence.deliver(item)
                    program.callout("perform on the thread \(number)")
                }
            } catch {
                Findings.add("performOnThread was refused: \(error)")
                return false
            }
            return true
        }
    }

    override func leave() {
        let ticket = Ticket("a perform on the thread at the end")
        ticket.cancel()
        try? loop.performOnThread(inModes: program.someModes()) { ticket.call() }
    }
}

final class MainQueueWork: Queues, @unchecked Sendable {
    override func begin() {
        let sequence = Sequence("the main queue")
        addQueue(sequence) { [unowned self] number in
            let ticket = Ticket("block \(number) of the main queue")
            DispatchQueue.main.async { [self] in
                ticket.call()
                sequence.deliver(number)
                program.callout("main queue \(number)")
            }
            return true
        }
    }
}
