// SPDX-License-Identifier: Apache-2.0
// Channels: one per loop, into which all producers send, and channels of a single producer, with all kinds of ends.

import GRunLoop
import Glibc
import TestSupport

extension Producer {
    /// Elements arrive in order, like blocks. The producer retries on a full channel. An ended loop's channel refuses.
    func sendToAll() {
        let consumer = pick()
        let lane = consumer.lane(.channel, of: number)
        for _ in 0..<dice.number(1...20) {
            lane.post { body in
                var result = consumer.channel.trySend(body)
                while result == .full {
                    sched_yield()
                    result = consumer.channel.trySend(body)
                }
                if result == .closed, consumer.mustDeliver {
                    Findings.add("refused: a channel of \(consumer.name), which lives")
                }
            }
        }
        giveTime(to: lane)
    }

    /// Each accepted element is either delivered or passed to `undelivered`, in order.
    func sendThroughItsOwn() {
        let consumer = pick()
        let account = ChannelAccount(number, consumer)
        let end = dice.number(0...3)
        var channel: GRunLoop.Channel<Parcel>? = account.channel(
            capacity: dice.number(0...20), closesAt: end == 3 ? 7 : -1)
        channel?.receive(on: consumer.loop, inModes: dice.chance(30) ? [.default, .soak] : [mode]) { account.take($0) }
        for number in 0..<dice.number(1...30) {
            guard let channel else { break }
            account.send(number, through: channel)
            if dice.chance(3) { consumer.loop.remove(channel, forMode: .default) }
            if dice.chance(20) { sched_yield() }
        }
        if let channel { consumer.loop.add(channel, forMode: .default) }
        switch end {
        case 0: channel?.close()
        case 1: channel?.invalidate()
        default: break
        }
        if end == 3 { channel?.close() }
        // Releases the last reference, unless the account's closure holds one.
        channel = nil
        later { account.settle() }
    }
}

/// An element. Its token must be released under no lock.
struct Parcel: Sendable {
    let number: Int
    let token: Token
}

final class ChannelAccount: Sendable {
    private let producer: Int
    private let consumer: Consumer
    private let (accepted, delivered, lost) = (Counted(), Counted(), Counted())
    private let last = Shared(-1)
    private let closing = Shared<(at: Int, channel: GRunLoop.Channel<Parcel>?)>((-1, nil))

    init(_ producer: Int, _ consumer: Consumer) {
        self.producer = producer
        self.consumer = consumer
    }

    private var name: String { "a channel of producer \(producer) on \(consumer.name)" }

    /// - Parameter closesAt: the receiving closure closes the channel at this element; negative means never.
    func channel(capacity: Int, closesAt: Int) -> GRunLoop.Channel<Parcel> {
        let channel = GRunLoop.Channel<Parcel>(
            capacity: capacity,
            undelivered: { [self] parcel in
                note(parcel.number)
                lost.add()
            })
        if closesAt >= 0 { closing.value = (closesAt, channel) }
        return channel
    }

    func send(_ number: Int, through channel: GRunLoop.Channel<Parcel>) {
        let parcel = Parcel(number: number, token: Token(.channel, producer, consumer))
        if channel.trySend(parcel) == .enqueued { accepted.add() }
    }

    /// Called by the receiving closure.
    func take(_ parcel: Parcel) {
        consumer.enter(.channel, owedSince: nanoseconds(), producer)
        note(parcel.number)
        delivered.add()
        if parcel.number == closing.value.at { closing.value.channel?.invalidate() }
    }

    private func note(_ number: Int) {
        let former = last.update { last in
            defer { last = max(last, number) }
            return last
        }
        if number <= former { Findings.add("out of order: \(number) after \(former), \(name)") }
    }

    func settle() {
        waitFor("\(name): \(delivered.value) delivered and \(lost.value) given up of \(accepted.value)", on: consumer) {
            delivered.value + lost.value >= accepted.value
        }
        if delivered.value + lost.value > accepted.value { Findings.add("delivered twice: \(name)") }
        closing.value.channel = nil
    }
}
