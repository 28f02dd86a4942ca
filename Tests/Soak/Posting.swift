// SPDX-License-Identifier: Apache-2.0
// Closures that are called once: blocks, performs, jobs and main-queue blocks in order, GLib callbacks in any order.

import CGRunGLib
import Dispatch
import GRunLoop
import TestSupport

extension Producer {
    func postBlocks() {
        let consumer = pick()
        let loop = consumer.loop
        let kind = dice.pick([Kind.blockCommon, .blockCommon, .blockDefault, .blockModes])
        let lane = consumer.lane(kind, of: number)
        let wakes = dice.chance(70)
        for _ in 0..<dice.number(1...12) {
            lane.post { body in
                switch (kind, wakes) {
                case (.blockCommon, true): loop.async(body)
                case (.blockDefault, true): loop.async(inModes: [.default], body)
                case (.blockModes, true): loop.async(inModes: [.default, .soak], body)
                case (.blockCommon, false): loop.perform(inModes: [.common], body)
                case (.blockDefault, false): loop.perform(body)
                default: loop.perform(inModes: [.soak, .default], body)
                }
            }
        }
        if !wakes { loop.wakeUp() }
        giveTime(to: lane)
    }

    func postPerforms() {
        let consumer = pick()
        let lane = consumer.lane(.perform, of: number)
        for _ in 0..<dice.number(1...8) {
            // The loop refuses if it has ended. Then the closure was released.
            lane.post { body in try? consumer.loop.performOnThread(body) }
        }
        giveTime(to: lane)
    }

    /// performAndWait() returns the result, or throws.
    func performAndWait() {
        let consumer = pick()
        let question = dice.number(0...1_000_000)
        let token = Token(.perform, number, consumer)
        let calls = Counted()
        do {
            let answer = try consumer.loop.performAndWait {
                withExtendedLifetime(token) {}
                calls.add()
                return question + 1
            }
            if answer != question + 1 {
                Findings.add("performAndWait: a wrong result for producer \(number) on \(consumer.name)")
            }
            if calls.value != 1 {
                Findings.add("delivered twice: performAndWait of producer \(number) on \(consumer.name)")
            }
        } catch {
            if consumer.mustDeliver {
                Findings.add("refused: performAndWait of producer \(number) on \(consumer.name), which lives")
            }
            if calls.value != 0 {
                Findings.add("performAndWait of producer \(number) was performed and refused on \(consumer.name)")
            }
        }
    }

    /// A job for an ended loop would end the process.
    func postJobs() {
        holding { consumer in
            let executor = consumer.loop.executor
            let lane = consumer.lane(.job, of: number)
            for _ in 0..<dice.number(1...8) {
                lane.post { body in Task(executorPreference: executor) { body() } }
            }
            giveTime(to: lane)
        }
    }

    func postToMainQueue() {
        let lane = main.lane(.mainQueue, of: number)
        for _ in 0..<dice.number(1...8) {
            lane.post { body in DispatchQueue.main.async(execute: body) }
        }
        giveTime(to: lane)
    }

    /// Adds GLib sources to the home context. Each is called once.
    func postCallbacks() {
        holding { consumer in
            let lane = consumer.lane(.callback, of: number)
            for _ in 0..<dice.number(1...4) {
                lane.post { body in
                    consumer.home.withPointer { pointer in
                        Callbacks.idle(in: pointer) {
                            body()
                            return false
                        }
                    }
                }
            }
            waitFor(lane.debt, on: consumer) { lane.isSettled }
        }
    }
}
