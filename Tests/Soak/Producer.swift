// SPDX-License-Identifier: Apache-2.0
// A thread that passes events to loops by the plan, and checks their results.

import GRunLoop
import Glibc
import TestSupport

final class Producer {
    let number: Int
    let main: Consumer
    let workers: Workers
    private let round: Int
    var dice: Dice

    /// Checks for later, so that several acts are under way at a time.
    private var settlements: [() -> Void] = []
    private var lastNumber = 0

    init(_ number: Int, round: Int, main: Consumer, workers: Workers) {
        self.number = number
        self.main = main
        self.workers = workers
        self.round = round
        dice = Dice(seed: Settings.seed, producer: number, round: round, act: 0)
    }

    /// Makes acts of every kind until the date.
    func storm(until end: Int64) {
        var act = 0
        while nanoseconds() < end, Findings.isEmpty {
            act += 1
            dice = Dice(seed: Settings.seed, producer: number, round: round, act: act)
            perform(Act.draw(&dice))
            if settlements.count > 4 { settlements.removeFirst()() }
        }
        settleAll()
        catchUp()
    }

    private func settleAll() {
        for settle in settlements { settle() }
        settlements = []
    }

    /// Returns a number that is not used again soon.
    func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    func later(_ settle: @escaping () -> Void) { settlements.append(settle) }

    private func perform(_ act: Act) {
        switch act {
        case .blocks: postBlocks()
        case .performs: postPerforms()
        case .performAndWait: performAndWait()
        case .jobs: postJobs()
        case .mainQueue: postToMainQueue()
        case .callbacks: postCallbacks()
        case .channels: sendToAll()
        case .crowdedChannel: sendInCrowd()
        case .ownChannel: sendThroughItsOwn()
        case .ports: sendToPort()
        case .ownPort: sendToItsOwnPort()
        case .replyPorts: askByPort()
        case .movePort: movePort()
        case .awaitPort: awaitPort()
        case .messagePort: sendToMessagePort()
        case .messageRequests: requestByMessage()
        case .signals: signal()
        case .sharedSignals: signalTogether()
        case .twoLoops: signalTwoLoops()
        case .oneShots: setTimers()
        case .moved: moveTimers()
        case .repeating: setRepeatingTimer()
        case .events: watchEvents()
        case .copies: watchCopy()
        case .twoOnOne: watchTwice()
        case .hangUp: watchUntilHangUp()
        case .closedWhileWatched: closeWhileWatched()
        case .reused: reuseNumber()
        case .moves: moveBetweenLoops()
        case .signalsOfProcess: hearSignals()
        case .signalBursts: hearBursts()
        case .children: waitForChildren()
        case .idleTogether: idleTogether()
        case .idle: idle()
        case .moveIdleQueue: moveIdleQueue()
        case .idleLast: idleLast()
        case .awaitIdleness: awaitIdleness()
        case .notifyTogether: notifyTogether()
        case .notify: notify()
        case .conditions: changeConditions()
        case .silenceOthers: silenceOthers()
        case .echo: echo()
        case .observers: observe()
        case .endHandlers: takeBackEndHandlers()
        case .nestedRun: nestRun()
        case .privateRun: runPrivately()
        case .ambientMode: pushAmbientMode()
        case .removals: removeInCallouts()
        case .delayed: performLater()
        case .foreignRun: iterateInCallout()
        case .detach: detach()
        case .newLoop:
            // A producer must not wait for a loop's users while it is a user itself.
            settleAll()
            workers.replace(&dice)
        case .catchUp: catchUp()
        }
    }

    // MARK: Choice of loops

    /// Returns a loop that does not end until it is released.
    func hold() -> Consumer {
        if dice.chance(50), let worker = workers.pick(dice.number(0...100)), worker.hold() { return worker }
        _ = main.hold()
        return main
    }

    /// Returns the main loop, or a worker's loop, which may end at any time.
    func pick() -> Consumer { dice.chance(30) ? workers.pick(dice.number(0...100)) ?? main : main }

    /// Calls the closure with a loop that does not end meanwhile.
    func holding(_ body: (Consumer) -> Void) {
        let consumer = hold()
        body(consumer)
        consumer.release()
    }

    /// Lets a loop catch up, so that its backlog stays bounded.
    func giveTime(to lane: Lane) {
        guard lane.backlog > 400 else { return }
        waitFor(lane.debt, on: lane.consumer) { lane.backlog < 200 || !lane.consumer.mustDeliver }
    }

    /// Waits until all events of this producer were delivered, except idle work, which waits for the end of a flood.
    func catchUp() {
        for lane in main.allLanes where lane.producer == number && lane.kind.isUrgent {
            waitFor(lane.debt, on: main) { lane.isSettled }
        }
    }

    /// Returns a mode that each loop keeps running.
    var mode: GRunLoop.Mode { dice.chance(50) ? .common : .default }
}
