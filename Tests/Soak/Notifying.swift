// SPDX-License-Identifier: Apache-2.0
// Notifications: each accepted notification is either posted once or removed. Notifications of one name come in order,
// on the loop's thread.

import GRunLoop
import Glibc
import TestSupport

/// One producer's own queue, and its account.
final class NotificationAccount: Sendable {
    private let producer: Int
    private let consumer: Consumer
    private let (accepted, posted, dropped) = (Counted(), Counted(), Counted())
    /// The last number of each name.
    private let last = Shared<[Name: Int]>([:])

    enum Name: CaseIterable {
        /// Each notification is posted.
        case asap, idle
        /// Only the last of the waiting notifications is posted.
        case coalesced
        /// Notifications that are not dequeued are posted.
        case dequeued

        func style(_ number: Int) -> GRunLoop.PostingStyle {
            switch self {
            case .asap, .dequeued: .asap
            case .idle: .whenIdle
            case .coalesced: number % 2 == 0 ? .asap : .whenIdle
            }
        }
    }

    /// A payload. Its deinit shows whether it was posted.
    final class Item: Sendable {
        let number: Int
        private let token: Token
        private let account: NotificationAccount
        private let posts = Counted()

        init(_ number: Int, _ account: NotificationAccount) {
            (self.number, self.account) = (number, account)
            token = Token(.notification, account.producer, account.consumer)
        }

        func notePost() -> Bool { posts.add() == 1 }
        deinit { if posts.value == 0 { account.dropped.add() } }
    }

    typealias Queue = GRunLoop.NotificationQueue<Name, Item?>

    init(_ producer: Int, _ consumer: Consumer) {
        self.producer = producer
        self.consumer = consumer
    }

    private var name: String { "notifications of producer \(producer) on \(consumer.name)" }
    private var state: String { "\(posted.value) posted and \(dropped.value) taken out of \(accepted.value), \(name)" }

    func enqueue(_ name: Name, _ number: Int, in queue: Queue, inModes modes: [GRunLoop.Mode]) {
        accepted.add()
        let isTaken = queue.enqueue(
            .init(name: name, payload: Item(number, self)), style: name.style(number),
            coalescing: name == .coalesced ? [.onName, .onSender] : [], inModes: modes)
        if !isTaken, consumer.mustDeliver { Findings.add("refused: \(self.name)") }
    }

    func post(_ notification: GRunLoop.Notification<Name, Item?>, _ during: () -> Void) {
        guard let item = notification.payload else { return }
        if !item.notePost() { Findings.add("delivered twice: number \(item.number), \(name)") }
        let former = last.update { $0.updateValue(item.number, forKey: notification.name) } ?? -1
        if item.number <= former { Findings.add("out of order: \(item.number) after \(former), \(name)") }
        consumer.enter(.notification, owedSince: nanoseconds(), producer)
        posted.add()
        during()
    }

    /// - Parameter takenOut: the number of notifications that the queue reports as dequeued.
    func settle(_ queue: Queue, coalesced: Int, takenOut: Int) {
        waitFor(state, on: consumer) { posted.value + dropped.value >= accepted.value }
        if posted.value + dropped.value > accepted.value { Findings.add("delivered twice: \(state)") }
        if queue.count != 0 { Findings.add("\(queue.count) wait after the last one, \(name)") }
        guard consumer.mustDeliver else { return }
        let most = takenOut + max(0, coalesced - 1)
        if dropped.value < takenOut || dropped.value > most { Findings.add("lost: \(takenOut) to \(most), \(state)") }
        if coalesced > 0, last.value[.coalesced] != coalesced - 1 {
            Findings.add("lost: the last of its name, \(name)")
        }
    }
}

extension Producer {
    /// Enqueues into the queue that all producers share.
    func notifyTogether() {
        let consumer = pick()
        let lane = consumer.lane(.notification, of: number)
        guard lane.backlog < 400 else { return }
        for _ in 0..<dice.number(1...8) {
            lane.post { body in
                let isTaken = consumer.notifications.enqueue(
                    .init(name: number, payload: body), style: .asap, coalescing: [], inModes: [.common])
                if !isTaken, consumer.mustDeliver { Findings.add("refused: \(lane.name)") }
            }
        }
    }

    /// Uses a queue that may be released before it has posted everything.
    func notify() {
        let (consumer, names) = (hold(), NotificationAccount.Name.allCases)
        let account = NotificationAccount(number, consumer)
        let queue = NotificationAccount.Queue(on: consumer.loop)
        let nests = dice.chance(10)
        let observation = queue.observe { notification in
            account.post(notification) {
                if nests { consumer.nest(inBlock: false) { _ = consumer.loop.run(for: .microseconds(200)) } }
            }
        }
        let modes: [GRunLoop.Mode] = dice.chance(30) ? [.default, .soak] : [mode]
        var takenOut = 0
        let count = dice.number(1...12)
        for index in 0..<count {
            for name in names { account.enqueue(name, index, in: queue, inModes: modes) }
            if dice.chance(30) {
                takenOut += queue.dequeue(matching: .init(name: .dequeued, payload: nil), coalescing: .onName)
            }
            if dice.chance(20) { sched_yield() }
        }
        let taken = takenOut
        let settle: @Sendable () -> Void = {
            account.settle(queue, coalesced: count, takenOut: taken)
            observation.cancel()
            consumer.release()
        }
        if consumer.isMain { main.settleWhenIdle(settle) } else { later(settle) }
    }
}
