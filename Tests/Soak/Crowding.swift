// SPDX-License-Identifier: Apache-2.0
// Channels into which several threads and tasks send at the same time, and that end meanwhile. Each accepted element is
// delivered or returned once, in the order of its sender.

import GRunLoop
import Glibc
import TestSupport

/// One channel, with the account of all producers.
final class Crowded: Sendable {
    struct Parcel: Sendable {
        let sender: Int
        let number: Int
        let token: Token
    }

    let channel: GRunLoop.Channel<Parcel>
    private let consumer: Consumer
    private let account: Account

    private final class Account: Sendable {
        let (accepted, delivered, lost) = (Counted(), Counted(), Counted())
        /// The last number of each sender. Each producer sends in two ways, which have no common order.
        let last = Shared(Array(repeating: -1, count: 2 * Settings.producers))
        private let name: String

        init(_ name: String) { self.name = name }

        func note(_ parcel: Parcel) {
            let former = last.update { last in
                defer { last[parcel.sender] = parcel.number }
                return last[parcel.sender]
            }
            if parcel.number <= former { Findings.add("out of order: \(parcel.number) after \(former), \(name)") }
        }
    }

    init(_ consumer: Consumer, capacity: Int, in modes: [GRunLoop.Mode]) {
        self.consumer = consumer
        let account = Account("a channel of all on \(consumer.name)")
        self.account = account
        channel = GRunLoop.Channel(
            capacity: capacity,
            undelivered: { parcel in
                account.note(parcel)
                account.lost.add()
            })
        channel.receive(on: consumer.loop, inModes: modes) { parcel in
            consumer.enter(.channel, owedSince: nanoseconds(), parcel.sender / 2)
            account.note(parcel)
            account.delivered.add()
        }
    }

    func note(_ result: GRunLoop.SendResult) { if result == .enqueued { account.accepted.add() } }

    var debt: String {
        "\(account.delivered.value) delivered and \(account.lost.value) given up of \(account.accepted.value), "
            + "a channel of all on \(consumer.name)"
    }

    /// Checks a channel that has ended and has no senders any more.
    func settle() {
        let account = account
        waitFor(debt, on: consumer) { account.delivered.value + account.lost.value >= account.accepted.value }
        if account.delivered.value + account.lost.value > account.accepted.value {
            Findings.add("delivered twice: \(debt)")
        }
    }
}

/// The channels of a round. One is open at a time, and each is checked when it has no senders any more.
final class Crowds: Sendable {
    private let all = Shared<(current: Crowded?, ended: [Crowded], last: [Int])>(
        (nil, [], Array(repeating: -1, count: 2 * Settings.producers)))

    /// Returns the open channel, or makes one with `make`.
    func current(_ make: () -> Crowded) -> Crowded {
        all.update {
            if let known = $0.current { return known }
            let made = make()
            $0.current = made
            return made
        }
    }

    /// The next number of a sender.
    func number(_ sender: Int) -> Int {
        all.update {
            $0.last[sender] += 1
            return $0.last[sender]
        }
    }

    func end(_ crowded: Crowded, finishes: Bool) {
        let isOurs = all.update { all -> Bool in
            guard all.current === crowded else { return false }
            all.current = nil
            all.ended.append(crowded)
            return true
        }
        guard isOurs else { return }
        if finishes { crowded.channel.close() } else { crowded.channel.invalidate() }
    }

    func settleAll() {
        if let last = all.value.current { end(last, finishes: true) }
        let ended = all.update { all in
            defer { all.ended = [] }
            return all.ended
        }
        for crowded in ended { crowded.settle() }
    }
}

extension Producer {
    /// Sends into a channel that all producers use, and that one of them may end meanwhile.
    func sendInCrowd() {
        let crowded = main.crowds.current {
            Crowded(main, capacity: dice.pick([1, 3, 64, .max]), in: dice.chance(30) ? [.default, .soak] : [.common])
        }
        let ends = dice.chance(10) ? dice.number(0...9) : -1
        for index in 0..<dice.number(1...20) {
            let parcel = Crowded.Parcel(
                sender: 2 * number, number: main.crowds.number(2 * number), token: Token(.channel, number, main))
            var result = crowded.channel.trySend(parcel)
            for _ in 0..<3 where result == .full {
                sched_yield()
                result = crowded.channel.trySend(parcel)
            }
            crowded.note(result)
            if index == ends { main.crowds.end(crowded, finishes: dice.chance(50)) }
        }
        if dice.chance(40) { sendByTask(crowded) }
    }

    /// A task that waits for room, and is cancelled at times. It runs on the main loop, which does not end.
    private func sendByTask(_ crowded: Crowded) {
        let (count, sender, producer) = (dice.number(1...8), 2 * number + 1, number)
        let (done, crowds, consumer) = (Counted(), main.crowds, main)
        let isCancelled = Flag()
        let task = Task(executorPreference: main.loop.executor) {
            for _ in 0..<count {
                let parcel = Crowded.Parcel(
                    sender: sender, number: crowds.number(sender), token: Token(.channel, producer, consumer))
                let result = await crowded.channel.send(parcel)
                crowded.note(result)
                if result == .full, !isCancelled.isSet { Findings.add("full for a task: \(crowded.debt)") }
            }
            done.add()
        }
        if dice.chance(20) {
            isCancelled.set()
            task.cancel()
        }
        waitFor("a task that sends, \(crowded.debt)", on: main) { done.value > 0 }
    }
}
