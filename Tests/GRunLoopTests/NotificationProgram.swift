// SPDX-License-Identifier: Apache-2.0
// A random program of notification queues, decided by its seed. Callbacks do a few more actions until a budget is used
// up. Then waiting notifications are posted, and nothing may remain.

import CGRunGLib
import GRunLoop

/// Only one thread uses the program.
final class NotificationProgram: @unchecked Sendable {
    enum Driver: CaseIterable { case run, virtualTime, host }

    typealias Mode = GRunLoop.Mode
    typealias Queue = NotificationModel.Queue

    private let loop: GRunLoop
    private let driver: Driver
    private let model: NotificationModel
    private var random: SeededRandom
    private var left: Int
    private var queues: [(queue: Queue, account: NotificationModel.Account)] = []
    private var observations: [(account: NotificationModel.Account, filter: Int, observation: GRunLoop.Observation)] =
        []
    /// The observations of everything, one for each queue.
    private var universal: [GRunLoop.Observation] = []
    private var sources: [GRunLoop.Source] = []
    private var timers: [GRunLoop.Timer] = []
    private var pushed: [GRunLoop.PushedMode] = []
    private var sentinels: [GRunLoop.Observer] = []
    private let senders = [NotificationModel.Sender(0), NotificationModel.Sender(1)]
    private var payloads = 0
    private var gone: Set<Int> = []
    private static let modes: [Mode] = [.default, "shared", "private", "other"]

    /// The problems that were found; empty if there are none.
    static func problems(_ seed: Int, _ driver: Driver, on loop: GRunLoop) -> [String] {
        if driver == .virtualTime {
            return GRunLoop.withVirtualTime { NotificationProgram(seed, driver, $0.loop).problems() }
        }
        return NotificationProgram(seed, driver, loop).problems()
    }

    private init(_ seed: Int, _ driver: Driver, _ loop: GRunLoop) {
        self.loop = loop
        self.driver = driver
        model = NotificationModel(loop, hasVirtualTime: driver == .virtualTime)
        random = SeededRandom(seed: UInt64(seed))
        left = 0
    }

    private func problems() -> [String] {
        try? loop.addCommonMode("shared")
        loop.timeSlice = one(of: [.zero, .seconds(3600)])
        if driver == .host { model.frames.append(.init()) }
        observe()
        for _ in 0...below(3) { makeQueue() }
        left = 20 + below(150)
        while left > 0 {
            act(below(4))
            driveOnce()
        }
        end()
        return model.problems
    }

    private func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }
    private func one<Element>(of all: [Element]) -> Element { all[below(all.count)] }
    private func once(in count: Int) -> Bool { below(count) == 0 }

    private func observe() {
        for mode in Self.modes {
            let first = GRunLoop.Observer(activities: .all, order: .min) { [model] _, activity in model.begin(activity)
            }
            let middle = GRunLoop.Observer(activities: .all) { [unowned self] _, _ in
                if once(in: 12) { act(1) }
            }
            let last = GRunLoop.Observer(activities: .all, order: .max - 1) { [model] _, _ in model.beginLate() }
            for observer in [first, middle, last] {
                sentinels.append(observer)
                loop.add(observer, forMode: mode)
            }
            let source = GRunLoop.Source { [unowned self] in act(1 + below(2)) }
            sources.append(source)
            loop.add(source, forMode: mode)
        }
    }

    private func makeQueue() {
        let queue = Queue(on: loop)
        let account = NotificationModel.Account()
        model.accounts.append(account)
        universal.append(queue.observe { [model] in model.post(account, $0) })
        queues.append((queue, account))
        for _ in 0..<below(4) { addObserver(queue, account) }
    }

    private func addObserver(_ queue: Queue, _ account: NotificationModel.Account) {
        let filter = NotificationModel.Filter(
            number: account.filters.count, name: once(in: 2) ? below(3) : nil, sender: once(in: 3) ? below(2) : nil)
        account.filters.append(filter)
        let observation = queue.observe(filter.name, sender: filter.sender.map { senders[$0] }) {
            [unowned self, unowned account] notification in
            model.call(account, filter.number, notification)
            account.bodies += 1
            if once(in: 3) { act(1 + below(2)) }
            account.bodies -= 1
        }
        observations.append((account, filter.number, observation))
    }

    // MARK: Actions

    private func act(_ count: Int) {
        for _ in 0..<count where left > 0 {
            left -= 1
            let (queue, account) = one(of: queues)
            switch below(30) {
            case 0..<13: enqueue(queue, account)
            case 13, 14: dequeue(queue, account)
            case 15: addObserver(queue, account)
            case 16: cancelObserver()
            case 17:
                one(of: sources).signal()
                if once(in: 2) { wakeUp() }
            case 18:
                let modes = someModes()
                loop.async(inModes: modes) { [unowned self] in act(1) }
                model.wake(modes)
            case 19: addTimer()
            case 20: loop.stop()
            case 21: wakeUp()
            case 22, 23, 24: if model.frames.count < 4 { run() }
            case 25: if driver == .host { pushOrPop() }
            case 26: if once(in: 8) { replaceQueue() }
            case 27:
                if once(in: 8) {
                    try? loop.addCommonMode("other")
                    model.makeCommon("other")
                }
            default:
                model.expect(queue.count == account.waiting.count, "\(queue.count) wait, not \(account.waiting.count)")
            }
        }
    }

    private func wakeUp() {
        loop.wakeUp()
        model.wake()
    }

    private func someModes() -> [Mode] {
        switch below(6) {
        case 0, 1, 2: [.default]
        case 3: [.common]
        case 4: [one(of: Self.modes)]
        default: (0..<below(4)).map { _ in one(of: Self.modes + [.common]) }
        }
    }

    private func notification(_ name: Int, _ sender: Int?) -> NotificationModel.Notification {
        payloads += 1
        let payload = NotificationModel.Payload(payloads) { [unowned self] number in
            model.expect(gone.insert(number).inserted, "\(number) goes twice")
            if left > 0, once(in: 40) {
                left -= 1
                let (queue, account) = one(of: queues)
                enqueue(queue, account)
            }
        }
        return .init(name: name, sender: sender.map { senders[$0] }, payload: payload)
    }

    private func enqueue(_ queue: Queue, _ account: NotificationModel.Account) {
        let (name, sender) = (below(3), once(in: 2) ? below(2) : nil)
        let style = one(of: [GRunLoop.PostingStyle.now, .asap, .asap, .whenIdle, .whenIdle])
        let coalescing = GRunLoop.Coalescing(rawValue: UInt(one(of: [0, 0, 0, 1, 2, 3, 3])))
        let modes = someModes()
        let notification = notification(name, sender)
        let number = notification.payload.number
        var isExpected = true
        if style == .now {
            isExpected = loop.currentMode.map { model.served(in: $0).contains(where: modes.contains) } ?? true
            if isExpected { account.now.append(number) }
        }
        model.enqueue(account, number, name, sender, style, coalescing, modes)
        let depth = account.bodies
        let result = queue.enqueue(notification, style: style, coalescing: coalescing, inModes: modes)
        model.expect(result == isExpected, "\(number), \(style), for \(modes): \(result)")
        if style == .now, isExpected {
            model.expect(account.now.popLast() == -1, "\(number), for now, is not posted")
            while let last = account.postings.last, last.number == number || last.depth > depth {
                model.end(account, last)
            }
        }
    }

    private func dequeue(_ queue: Queue, _ account: NotificationModel.Account) {
        let (name, sender) = (below(3), once(in: 2) ? below(2) : nil)
        let coalescing = GRunLoop.Coalescing(rawValue: UInt(below(4)))
        let notification = notification(name, sender)
        let expected = model.takeSame(account, name, sender, coalescing)
        let count = queue.dequeue(matching: notification, coalescing: coalescing)
        model.expect(count == expected, "\(count) are taken out, not \(expected)")
    }

    private func cancelObserver() {
        guard !observations.isEmpty else { return }
        let (account, filter, observation) = observations.remove(at: below(observations.count))
        account.filters[filter].isCancelled = true
        if once(in: 2) { observation.cancel() }
    }

    private func addTimer() {
        let timer = GRunLoop.Timer(interval: .microseconds(below(3) * 50), repeats: false) { [unowned self] _ in
            act(1 + below(2))
        }
        timers.append(timer)
        loop.add(timer, forMode: one(of: someModes() + [.default]))
    }

    private func pushOrPop() {
        if !pushed.isEmpty, once(in: 2) {
            pushed.remove(at: below(pushed.count)).pop()
        } else if pushed.count < 3, let mode = try? loop.push(ambientMode: one(of: Self.modes)) {
            pushed.append(mode)
            model.makeCommon(mode.mode)
        }
    }

    /// Notifications that wait in the old queue are posted nevertheless, to its observers.
    private func replaceQueue() {
        queues.remove(at: below(queues.count))
        makeQueue()
    }

    // MARK: Drivers

    private func run() {
        let mode = one(of: Self.modes)
        let limit = one(of: [Duration.zero, .microseconds(100), .microseconds(300)])
        let returns = once(in: 4)
        model.run(mode) { loop.run(mode: mode, for: limit, returningAfterSourceHandled: returns) }
    }

    private func driveOnce() {
        guard driver == .host else { return run() }
        loop.homeContext?.withPointer { context in
            for _ in 0...below(6) { g_main_context_iteration(context, 0) }
        }
        model.endPostings(from: model.accounts.map { _ in 0 })
    }

    // MARK: Its end

    private func end() {
        left = 0
        for mode in pushed.reversed() { mode.pop() }
        for timer in timers { timer.invalidate() }
        // Calls remaining blocks, and uses a remaining stop.
        for mode in Self.modes { for _ in 0..<2 { model.run(mode) { loop.run(mode: mode, for: .zero) } } }
        for source in sources { source.invalidate() }
        for mode in Self.modes {
            model.run(mode) {
                let result = loop.run(mode: mode, for: .seconds(5))
                model.expect(result == .finished, "at the end a run in \(mode) has \(result)")
                return result
            }
        }
        for account in model.accounts {
            let left = account.waiting.filter { !$0.modes.isEmpty }.map(\.number)
            model.expect(left.isEmpty, "\(left) are never posted")
        }
        for (queue, account) in queues {
            model.expect(queue.count == account.waiting.count, "\(queue.count) are left, not \(account.waiting.count)")
        }
        for observer in sentinels { observer.invalidate() }
        let text = loop.description
        for kind in ["Observer", "IdleQueue", "Source "] {
            model.expect(!text.contains("<GRunLoop.\(kind)"), "left in the loop: \(text)")
        }
        for (_, _, observation) in observations { observation.cancel() }
        observations = []
        universal = []
        queues = []
        model.expect(gone.count == payloads, "\(payloads - gone.count) of \(payloads) are kept")
    }
}
