// SPDX-License-Identifier: Apache-2.0
// Idle work: each accepted closure is either called once or released. Closures come in order, one at a time, on the
// thread of the queue's loop, and only when nothing else is ready.

import CGRunGLib
import GRunLoop
import Glibc
import TestSupport

/// A queue, with the account of one producer.
final class IdleAccount: Sendable {
    private let producer: Int
    private let consumers: [Consumer]
    private let (made, accepted, called, dropped) = (Counted(), Counted(), Counted(), Counted())
    private let running = Counted()
    private let last = Shared(-1)
    /// Closures with smaller numbers were removed, so they must not be called.
    private let first = Counted()

    /// - Parameter consumers: the loops that the queue may be in.
    init(_ producer: Int, _ consumers: Consumer...) {
        self.producer = producer
        self.consumers = consumers
    }

    var name: String { "idle work of producer \(producer) on \(consumers.map(\.name).joined(separator: " or "))" }
    var calls: Int { called.value }
    private var state: String { "\(called.value) called and \(dropped.value) released of \(accepted.value), \(name)" }

    /// Captured by a closure. Its deinit shows whether the closure was called.
    private final class Work: Sendable {
        let number: Int
        let token: Token
        private let account: IdleAccount
        private let calls = Counted()

        init(_ number: Int, _ account: IdleAccount) {
            (self.number, self.account) = (number, account)
            token = Token(.idleWork, account.producer, account.consumers[0])
        }

        func noteCall() -> Bool { calls.add() == 1 }
        deinit { if calls.value == 0 { account.dropped.add() } }
    }

    /// - Parameter during: called inside the closure. No other closure of the queue may be called meanwhile.
    func enqueue(
        in queue: GRunLoop.IdleQueue, mayBeInvalid: Bool = false, _ during: @escaping @Sendable () -> Void = {}
    ) {
        let work = Work(made.add() - 1, self)
        if queue.enqueue({ [self] in call(work, during) }) {
            accepted.add()
        } else {
            // The refused closure is released, and does not count.
            _ = work.noteCall()
            if !mayBeInvalid { Findings.add("refused: \(name)") }
        }
    }

    private func call(_ work: Work, _ during: () -> Void) {
        if !work.noteCall() { Findings.add("delivered twice: number \(work.number), \(name)") }
        if work.number < first.value { Findings.add("called after its removal: number \(work.number), \(name)") }
        let former = last.update { last in
            defer { last = work.number }
            return last
        }
        if work.number < former { Findings.add("out of order: \(work.number) after \(former), \(name)") }
        if running.change(by: 1) != 1 { Findings.add("two at a time: number \(work.number), \(name)") }
        // Idle work has no time limit, because it waits as long as anything else is ready.
        let place = consumers.first { $0.loop === GRunLoop.current } ?? consumers[0]
        place.enter(.idleWork, owedSince: nanoseconds(), producer)
        during()
        _ = running.change(by: -1)
        called.add()
    }

    /// Called on another thread than the loop's. After the barrier, the loop has called the closures that it had taken.
    func removeAll(from queue: GRunLoop.IdleQueue) {
        let count = made.value
        queue.removeAll()
        for consumer in consumers { consumer.barrier() }
        first.raise(to: count)
    }

    /// Called in a closure of the queue. Closures that other threads enqueue meanwhile may stay.
    func removeAllHere(from queue: GRunLoop.IdleQueue) {
        let count = accepted.value
        queue.removeAll()
        // The closures of one producer are enqueued and accepted in order.
        first.raise(to: count)
    }

    func invalidate(_ queue: GRunLoop.IdleQueue) {
        queue.invalidate()
        for consumer in consumers { consumer.barrier() }
        first.raise(to: made.value)
        if queue.count != 0 { Findings.add("\(queue.count) wait in a queue that was invalidated: \(name)") }
    }

    /// - Parameter keepsAll: whether no closure was removed.
    func settle(keepsAll: Bool) {
        waitFor(state, on: consumers[0]) { called.value + dropped.value >= accepted.value }
        if called.value + dropped.value > accepted.value { Findings.add("delivered twice: \(state)") }
        if keepsAll, dropped.value > 0 { Findings.add("lost: \(state)") }
    }
}

extension Producer {
    private func makeQueue() -> GRunLoop.IdleQueue {
        GRunLoop.IdleQueue(
            timePerPass: dice.pick([.zero, .zero, .microseconds(-1), .microseconds(50), .milliseconds(2), .seconds(60)])
        )
    }

    /// Returns an action for a closure: it runs the loop, iterates the context, works, or does nothing.
    private func during(_ consumer: Consumer) -> @Sendable () -> Void {
        switch dice.number(0...19) {
        case 0: { consumer.nest(inBlock: false) { _ = consumer.loop.run(for: .zero) } }
        case 1: { consumer.nest(inBlock: false) { _ = consumer.loop.run(for: .microseconds(300)) } }
        case 2:
            {
                consumer.home.withPointer { home in
                    consumer.nest(inBlock: false) { _ = g_main_context_iteration(home, 0) }
                }
            }
        case 3: { spin(for: .microseconds(100)) }
        default: {}
        }
    }

    /// Enqueues into the queue that all producers share.
    func idleTogether() {
        let consumer = pick()
        let lane = consumer.lane(.idleWork, of: number)
        // The backlog waits for the end of a flood.
        guard lane.backlog < 400 else { return }
        for _ in 0..<dice.number(1...8) {
            lane.post { body in
                if !consumer.idleQueue.enqueue(body), consumer.mustDeliver { Findings.add("refused: \(lane.name)") }
            }
        }
    }

    /// Uses several queues, and removes closures in every way.
    func idle() {
        let consumer = hold()
        let modes: [GRunLoop.Mode] = dice.chance(30) ? [.default, .soak] : [mode]
        var settlements: [@Sendable () -> Void] = []
        for _ in 0..<dice.number(1...3) {
            let (queue, account, way) = (makeQueue(), IdleAccount(number, consumer), dice.number(0...4))
            let isInBefore = dice.chance(50)
            if isInBefore { for mode in modes { consumer.loop.add(queue, forMode: mode) } }
            let ending = dice.number(0...9)
            for index in 0..<dice.number(1...10) {
                account.enqueue(in: queue, mayBeInvalid: way == 4, during(consumer))
                guard index == ending else { continue }
                switch way {
                case 1: account.removeAll(from: queue)
                case 2: account.enqueue(in: queue) { [weak queue] in queue.map(account.removeAllHere) }
                case 3:
                    for mode in modes { consumer.loop.remove(queue, forMode: mode) }
                    sched_yield()
                    for mode in modes { consumer.loop.add(queue, forMode: mode) }
                case 4: account.enqueue(in: queue) { [weak queue] in queue?.invalidate() }
                default: break
                }
            }
            if !isInBefore { for mode in modes { consumer.loop.add(queue, forMode: mode) } }
            settlements.append {
                account.settle(keepsAll: way == 0 || way == 3)
                if queue.count != 0 { Findings.add("\(queue.count) wait after the last one, \(account.name)") }
                if way == 0 { account.enqueue(in: queue) }
                account.invalidate(queue)
                account.enqueue(in: queue, mayBeInvalid: true)
                account.settle(keepsAll: false)
            }
        }
        settleWhenIdle(consumer, settlements)
    }

    /// Moves a queue from a loop, which may have ended, to the main loop. The queue keeps its closures.
    func moveIdleQueue() {
        guard let worker = workers.pick(dice.number(0...100)) else { return }
        let isHeld = dice.chance(50) && worker.hold()
        let (queue, account, mode) = (makeQueue(), IdleAccount(number, main, worker), mode)
        worker.loop.add(queue, forMode: mode)
        for index in 0..<dice.number(1...20) {
            account.enqueue(in: queue)
            if index == 9 { sched_yield() }
        }
        if isHeld, dice.chance(50) {
            let isOut = Counted()
            worker.loop.async {
                worker.loop.remove(queue, forMode: mode)
                isOut.add()
            }
            waitFor("a block that takes out \(account.name)", on: worker) { isOut.value > 0 }
        } else {
            worker.loop.remove(queue, forMode: mode)
        }
        main.loop.add(queue, forMode: .common)
        account.enqueue(in: queue)
        if isHeld { worker.release() }
        settleWhenIdle(main, holds: false) {
            account.settle(keepsAll: true)
            queue.invalidate()
        }
    }

    /// Items that the loop's own thread made ready before come before idle work. Jobs, performs and the main queue do
    /// not count: they share a queue with other threads, and such a thread may have begun an entry that is not ready
    /// yet.
    func idleLast() {
        let (consumer, queue) = (hold(), makeQueue())
        let account = IdleAccount(number, consumer)
        visit(consumer, place, "idle work") { [number] _ in
            let loop = consumer.loop
            let done = Shared<Set<Kind>>([])
            let wanted: Set<Kind> = [.blockCommon, .timer, .source, .descriptor]
            let note: @Sendable (Kind) -> Void = { kind in
                consumer.enter(kind, owedSince: nanoseconds(), number)
                done.update { _ = $0.insert(kind) }
            }
            loop.add(queue, forMode: .common)
            account.enqueue(in: queue) {
                // In a nested run, items that an outer pass has collected wait.
                if consumer.nesting > 0 { return }
                let missing = wanted.subtracting(done.value)
                if !missing.isEmpty {
                    Findings.add("called while \(missing.map(\.title).sorted()) was ready: \(account.name)")
                }
            }
            loop.async { note(.blockCommon) }
            loop.after(.zero, .common) { note(.timer) }
            let source = loop.source(.common) { note(.source) }
            source.signal()
            loop.onEvent { note(.descriptor) }
            account.enqueue(in: queue) { source.invalidate() }
        }
        settleWhenIdle(consumer) {
            account.settle(keepsAll: true)
            queue.invalidate()
        }
    }

    /// A task that waits for idleness resumes once, or gets an error.
    func awaitIdleness() {
        let (consumer, home) = (pick(), dice.chance(50) ? nil : main)
        let isHeld = home == nil && consumer.hold()
        // A task whose loop has ended would end the process.
        guard isHeld || home != nil else { return }
        let (token, done, isCancelled) = (Token(.idleWork, number, consumer), Counted(), Flag())
        let name = "idle() of producer \(number) on \(consumer.name)"
        let task = Task(executorPreference: (home ?? consumer).loop.executor) {
            do {
                try await consumer.loop.waitUntilIdle()
            } catch is CancellationError {
                if !isCancelled.isSet { Findings.add("cancelled without a request: \(name)") }
            } catch {
                if consumer.mustDeliver { Findings.add("\(error): \(name)") }
            }
            withExtendedLifetime(token) {}
            done.add()
        }
        if dice.chance(30) {
            if dice.chance(50) { sched_yield() }
            isCancelled.set()
            task.cancel()
        }
        settleWhenIdle(isHeld ? consumer : main, holds: isHeld) {
            waitFor(name, on: consumer) { done.value > 0 }
            if done.value > 1 { Findings.add("delivered twice: \(name)") }
        }
    }

    // MARK: When

    private func settleWhenIdle(_ consumer: Consumer, holds: Bool = true, _ settle: @escaping @Sendable () -> Void) {
        settleWhenIdle(consumer, holds: holds, [settle])
    }

    /// Settles later. The main loop is not idle before the end of a flood, and no producer can wait that long.
    private func settleWhenIdle(
        _ consumer: Consumer, holds: Bool = true, _ settlements: [@Sendable () -> Void]
    ) {
        let settle: @Sendable () -> Void = {
            for settle in settlements { settle() }
            if holds { consumer.release() }
        }
        if consumer.isMain { main.settleWhenIdle(settle) } else { later(settle) }
    }
}
