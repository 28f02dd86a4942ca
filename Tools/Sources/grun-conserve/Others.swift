// SPDX-License-Identifier: Apache-2.0
// Sources of GLib, notifications, observers, and calls that control the loop.

import CGRunGLib
import GRunLoop
import TestSupport

/// Idle sources and timeouts, each called once, in the home context and in further contexts of some modes.
final class GLibWork: Account, @unchecked Sendable {
    private var contexts: [TestContext] = []
    private var sources: [GLibSource] = []
    private var tickets: [Ticket] = []

    override func begin() {
        for _ in 0..<program.random.number(0...2) {
            let context = TestContext()
            let modes = program.random.pick([[.default], [.common], [program.modes[1]], program.modes])
            for mode in modes { loop.add(GRunLoop.Context(context.pointer), forMode: mode) }
            contexts.append(context)
        }
    }

    override func act() {
        let context =
            contexts.isEmpty || program.random.chance(50) ? program.context : program.random.pick(contexts).pointer
        let priority = program.random.pick([0, 0, -100, 100]) as Int32
        let ticket = Ticket("a source of GLib")
        tickets.append(ticket)
        let body: @Sendable () -> Bool = { [unowned self] in
            ticket.call()
            program.callout("GLib")
            return false
        }
        sources.append(
            program.random.chance(60)
                ? .idle(context, priority: priority, body)
                : .timeout(context, milliseconds: UInt32(program.random.number(0...2)), priority: priority, body))
    }

    override var open: String? {
        let count = tickets.count { !$0.isCalled }
        return count == 0 ? nil : "\(count) sources of GLib"
    }

    override func close() {
        for source in sources { source.destroy() }
        for context in contexts { loop.remove(GRunLoop.Context(context.pointer), forMode: .common) }
        (sources, tickets, contexts) = ([], [], [])
    }
}

/// Each is posted once, without coalescing.
final class Notifications: Account, @unchecked Sendable {
    private var queue: GRunLoop.NotificationQueue<String, Int>?
    private var observation: GRunLoop.Observation?
    private var arrivals: [Int] = []

    override func begin() {
        let queue = GRunLoop.NotificationQueue<String, Int>(on: loop)
        observation = queue.observe("work") { [unowned self] notification in
            let number = notification.payload
            arrivals[number] += 1
            if arrivals[number] > 1 { Findings.add("notification \(number) was posted \(arrivals[number]) times") }
            program.callout("notification \(number)")
        }
        self.queue = queue
    }

    override func act() {
        let isAccepted = queue?.enqueue(
            .init(name: "work", payload: arrivals.count), style: program.random.pick([.asap, .asap, .whenIdle]),
            coalescing: [], inModes: program.someModes())
        if isAccepted != true { Findings.add("a notification was refused") }
        arrivals.append(0)
    }

    override var open: String? {
        let count = arrivals.count { $0 == 0 }
        return count == 0 ? nil : "\(count) notifications"
    }

    override func close() {
        observation = nil
        queue = nil
    }
}

/// An observer is not called after it was invalidated, and one that does not repeat is called once.
final class Observers: Account, @unchecked Sendable {
    private var observers: [(observer: GRunLoop.Observer, ticket: Ticket)] = []

    override func act() {
        guard observers.count < 12 else { return }
        let (number, repeats) = (observers.count, program.random.chance(70))
        let ticket = Ticket("observer \(number)", isRepeating: repeats)
        let observer = GRunLoop.Observer(
            activities: GRunLoop.Activity(rawValue: UInt(program.random.number(0...255))), repeats: repeats,
            order: program.random.number(0...2)
        ) { [unowned self] _, activity in
            ticket.call()
            if program.depth < 3, program.random.chance(10) { program.callout("observer \(number): \(activity)") }
        }
        for mode in program.someModes() { loop.add(observer, forMode: mode) }
        observers.append((observer, ticket))
    }

    override func change() { if let last = observers.last { end(last) } }

    private func end(_ entry: (observer: GRunLoop.Observer, ticket: Ticket)) {
        entry.observer.invalidate()
        if !entry.ticket.isCalled || entry.observer.repeats { entry.ticket.cancel() }
    }

    override func quiet() {
        for entry in observers { end(entry) }
        observers = []
    }
}

/// Wake-ups and stops, which may reach a run at any time.
final class Control: Account, @unchecked Sendable {
    override func act() {
        if program.random.chance(60) { loop.wakeUp() } else if program.runs > 0 { loop.stop() }
    }
}
