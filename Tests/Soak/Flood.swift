// SPDX-License-Identifier: Apache-2.0
// One kind of item that is always ready, for longer than any other kind may wait. It shows which kinds starve.

import GRunLoop
import TestSupport

final class Flood: Sendable {
    private static let kinds: [Endless] = [.quietSource, .block, .descriptor, .timer, .mainQueue, .perform, .port]

    private let consumer: Consumer
    private let isOver = Flag()
    private let ended = Counted()

    /// Each number has the next kind.
    init(_ number: Int, _ consumer: Consumer) {
        self.consumer = consumer
        _ = try? Self.kinds[number % Self.kinds.count].begin(in: consumer.loop, .common) { [isOver, ended] in
            let goesOn = !isOver.isSet
            if !goesOn { ended.add() }
            return goesOn
        }
        consumer.loop.wakeUp()
    }

    func stop() {
        isOver.set()
        waitFor("the last callout of a flood on \(consumer.name)", on: consumer) { ended.value > 0 }
    }
}
