// SPDX-License-Identifier: Apache-2.0
// One kind of item that is always ready, for longer than any other may wait: whoever is starved by it shows.

import Dispatch
import GRunLoop
import TestSupport

final class Flood: Sendable {
    private enum Way: CaseIterable {
        case source, block, descriptor, timer, mainQueue, perform
    }

    private let consumer: Consumer
    private let isOver = Flag()
    private let ended = Counted()

    /// Each number has the next kind.
    init(_ number: Int, _ consumer: Consumer) {
        self.consumer = consumer
        let loop = consumer.loop
        switch Way.allCases[number % Way.allCases.count] {
        case .source:
            let own = Shared<GRunLoop.Source?>(nil)
            let source = GRunLoop.Source { [self] in
                if isOver.isSet { end(own.update { $0.take() }?.invalidate()) } else { own.value?.signal() }
            }
            own.value = source
            loop.add(source, forMode: .common)
            source.signal()
            loop.wakeUp()
        case .block: post()
        case .descriptor:
            let event = EventDescriptor()
            event.makeReady()
            // Never read.
            let source = GRunLoop.DescriptorSource(descriptor: event.descriptor) { [self] source, _ in
                if isOver.isSet { end(source.invalidate()) }
                withExtendedLifetime(event) {}
            }
            try? loop.add(source, forMode: .common)
        case .timer:
            let timer = GRunLoop.Timer(fireAt: GRunLoop.now, interval: .nanoseconds(1)) { [self] timer in
                if isOver.isSet { end(timer.invalidate()) }
            }
            loop.add(timer, forMode: .common)
        case .mainQueue: dispatch()
        case .perform: perform()
        }
    }

    private func post() {
        consumer.loop.async { [self] in if isOver.isSet { end(()) } else { post() } }
    }

    private func dispatch() {
        DispatchQueue.main.async { [self] in if isOver.isSet { end(()) } else { dispatch() } }
    }

    private func perform() {
        try? consumer.loop.performOnThread { [self] in if isOver.isSet { end(()) } else { perform() } }
    }

    private func end(_: Void?) { ended.add() }

    func stop() {
        isOver.set()
        waitFor("the last callout of a flood on \(consumer.name)", on: consumer) { ended.value > 0 }
    }
}
