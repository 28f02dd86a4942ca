// SPDX-License-Identifier: Apache-2.0
// Actions on a loop's own thread, inside its callouts: nested runs, ambient modes, removals, delayed performs, host
// iterations, detaching.

import CGRunGLib
import Dispatch
import GRunLoop
import Glibc
import TestSupport

/// The kind of callout in which an action is made.
enum Place: CaseIterable {
    case perform, block, job, timer, source, descriptor, callback
}

extension Producer {
    /// Has a callout of the loop call `body`, and waits for it. `body` learns whether that callout is a block.
    func visit(
        _ consumer: Consumer, _ place: Place, _ what: String, _ body: @escaping @Sendable (_ inBlock: Bool) -> Void
    ) {
        let loop = consumer.loop
        let isDone = Counted()
        let (producer, since) = (number, nanoseconds())
        let visit: @Sendable (Kind) -> Void = { kind in
            consumer.enter(kind, owedSince: since, producer)
            body(kind.isBlock)
            isDone.add()
        }
        switch place {
        case .perform: try? loop.performOnThread { visit(.perform) }
        case .block: loop.async { visit(.blockCommon) }
        case .job: Task(executorPreference: loop.executor) { visit(.job) }
        case .timer: loop.after(.zero, .common) { visit(.timer) }
        case .source:
            let box = Shared<GRunLoop.Source?>(nil)
            let source = loop.source(.common) {
                box.update { $0.take() }?.invalidate()
                visit(.source)
            }
            box.value = source
            source.signal()
            loop.wakeUp()
        case .descriptor: loop.onEvent { visit(.descriptor) }
        case .callback:
            consumer.home.withPointer { context in
                Callbacks.idle(in: context) {
                    // The loop is detached, and the action needs it, so a later iteration makes it.
                    if consumer.isDetached { return true }
                    visit(.callback)
                    return false
                }
            }
        }
        waitFor("\(what) in a callout of producer \(number) (\(place)) on \(consumer.name)", on: consumer) {
            isDone.value > 0
        }
        if isDone.value > 1 {
            Findings.add("delivered twice: \(what) of producer \(number) (\(place)) on \(consumer.name)")
        }
    }

    var place: Place { dice.pick(Place.allCases) }

    /// A nested run, in which all other events go on.
    func nestRun() {
        let isShort = dice.chance(50)
        holding { consumer in
            visit(consumer, place, "a nested run") { inBlock in
                consumer.nest(inBlock: inBlock) { _ = consumer.loop.run(for: isShort ? .zero : .milliseconds(1)) }
            }
        }
    }

    /// A nested run that serves nothing else. Its timer stops it, or its source stops it and is handled. A handled
    /// source takes precedence in the result.
    func runPrivately() {
        let count = dice.number(1...4)
        let endsBySource = dice.chance(30)
        holding { consumer in
            visit(consumer, place, "a private run") { [number] inBlock in
                let loop = consumer.loop
                let order = Shared<[Int]>([])
                for index in 0..<count { loop.perform(inModes: [.inner]) { order.update { $0.append(index) } } }
                let timer = GRunLoop.Timer(interval: .microseconds(300), repeats: false) { _ in loop.stop() }
                let source = GRunLoop.Source { loop.stop() }
                if endsBySource { loop.add(source, forMode: .inner) } else { loop.add(timer, forMode: .inner) }
                source.signal()
                let result = consumer.nest(inBlock: inBlock) {
                    loop.run(mode: .inner, for: .seconds(60), returningAfterSourceHandled: true)
                }
                source.invalidate()
                let wanted: GRunLoop.RunResult = endsBySource ? .handledSource : .stopped
                if result != wanted {
                    Findings.add(
                        "a nested run returned \(result), not \(wanted): producer \(number) on \(consumer.name)")
                }
                if order.value != Array(0..<count) {
                    Findings.add(
                        "blocks of a nested run: \(order.value) of \(count): producer \(number) on \(consumer.name)")
                }
            }
        }
    }

    func pushAmbientMode() {
        let delay = Duration.microseconds(dice.number(100...3000))
        holding { consumer in
            let isPopped = Counted()
            visit(consumer, place, "an ambient mode") { [number] _ in
                do {
                    let pushed = try consumer.loop.push(ambientMode: .ambient)
                    consumer.loop.after(delay, .common) {
                        pushed.pop()
                        isPopped.add()
                    }
                } catch {
                    Findings.add("refused: an ambient mode of producer \(number) on \(consumer.name): \(error)")
                }
            }
            waitFor("the timer that ends an ambient mode of producer \(number) on \(consumer.name)", on: consumer) {
                isPopped.value > 0
            }
        }
    }

    /// An item that is removed in a callout of the loop is not called any more, even if the pass had collected it.
    func removeInCallouts() {
        let kind = dice.number(0...2)
        holding { consumer in
            let pair = Pair(number, consumer)
            visit(consumer, place, "a removal") { _ in
                switch kind {
                case 0: pair.addTimers()
                case 1: pair.addSources()
                default: pair.addDescriptors()
                }
            }
            waitFor("one of two that remove each other, of producer \(number) on \(consumer.name)", on: consumer) {
                pair.calls > 0
            }
            consumer.barrier()
            waitFor("the timer that releases \(pair.name)", on: consumer) { pair.isDropped }
            if pair.calls > 1 { Findings.add("called after its removal in a callout: \(pair.name)") }
        }
    }

    /// Delayed performs come in the order of their dates, ordered performs in their order, and cancelled performs do
    /// not come.
    func performLater() {
        let count = dice.number(2...6)
        let orders = (0..<count).map { _ in dice.number(-3...3) }
        let cancelled = dice.number(0...count - 1)
        holding { consumer in
            let lane = consumer.lane(.delayed, of: number)
            let performed = Shared<[Int]>([])
            let (producer, since) = (number, nanoseconds())
            let name = "performs of producer \(number) on \(consumer.name)"
            visit(consumer, place, "delayed performs") { _ in
                let loop = consumer.loop
                for _ in 0..<count { lane.post { body in loop.perform(after: .milliseconds(1), body) } }
                let target = Target()
                for (index, order) in orders.enumerated() {
                    loop.perform(order: order, inModes: [.common], target: target, key: index) {
                        consumer.enter(.ordered, owedSince: since, producer)
                        performed.update { $0.append(index) }
                    }
                }
                loop.perform(after: .milliseconds(1), target: target, key: "never") {
                    Findings.add("called after its removal: \(name)")
                }
                loop.cancelPerforms(target: target, key: "never")
                loop.cancelPerforms(target: target, key: cancelled)
                loop.wakeUp()
            }
            waitFor(lane.debt, on: consumer) { lane.isSettled }
            waitFor("\(performed.update { $0.count }) of \(count - 1) ordered \(name)", on: consumer) {
                performed.update { $0.count } >= count - 1
            }
            // Performs with equal orders come in the order of their calls.
            let wanted = orders.indices.filter { $0 != cancelled }.sorted { (orders[$0], $0) < (orders[$1], $1) }
            if performed.value != wanted {
                Findings.add(
                    "out of order: \(performed.value), not \(wanted), of the orders \(orders): ordered \(name)")
            }
        }
    }

    private final class Target: Sendable {}

    /// Iterates the host's context inside a callout.
    func iterateInCallout() {
        let count = dice.number(1...4)
        holding { consumer in
            visit(consumer, place, "an iteration") { inBlock in
                consumer.home.withPointer { context in
                    for _ in 0..<count { consumer.nest(inBlock: inBlock) { _ = g_main_context_iteration(context, 0) } }
                }
            }
        }
    }

    /// detach() is refused with a message inside a callout. In a host callback it detaches the loop for a moment.
    func detach() {
        let refused = dice.chance(30)
        let delay = UInt32(dice.number(0...2))
        holding { consumer in
            if refused {
                visit(consumer, .block, "a detach") { _ in
                    LogWatch.expecting("ignored: the loop is running") { consumer.loop.detach() }
                }
            } else if consumer.isHosted {
                detach(consumer, for: delay)
            }
        }
    }

    private func detach(_ consumer: Consumer, for milliseconds: UInt32) {
        let isDone = Counted()
        consumer.home.withPointer { context in
            let pointer = Home(context)
            Callbacks.idle(in: context) {
                // The loop cannot be detached inside another callout.
                guard consumer.nesting == 0, !consumer.isDetached else {
                    isDone.add()
                    return false
                }
                consumer.loop.detach()
                consumer.isDetached = true
                Callbacks.timeout(in: pointer.context, milliseconds: milliseconds) {
                    consumer.isDetached = false
                    consumer.loop.attach()
                    isDone.add()
                    return false
                }
                return false
            }
        }
        waitFor("attaching again for producer \(number) on \(consumer.name)", on: consumer) { isDone.value > 0 }
    }

    private struct Home: @unchecked Sendable {
        let context: OpaquePointer
        init(_ context: OpaquePointer) { self.context = context }
    }
}
