// SPDX-License-Identifier: Apache-2.0
// An item of each kind that is always ready, in the main loop.

import CGLib
import Dispatch
import GRunLoop
import TestSupport

/// Something of a kind is ready until its `call` answers false, or this goes on by ``end()``.
final class Player: @unchecked Sendable {
    private let kind: Kind
    private let call: @Sendable () -> Bool
    private var takeOut: () -> Void = {}

    init(_ kind: Kind, _ call: @escaping @Sendable () -> Bool) throws {
        self.kind = kind
        self.call = call
        try begin()
    }

    private func begin() throws {
        let loop = GRunLoop.main
        switch kind {
        case .block, .perform, .job, .mainQueue, .moved: again()
        case .source:
            let own = Shared<GRunLoop.Source?>(nil)
            let source = loop.source { [self] in
                guard call() else { return }
                own.value?.signal()
                loop.wakeUp()
            }
            own.value = source
            takeOut = {
                source.invalidate()
                own.value = nil
            }
            source.signal()
            loop.wakeUp()
        case .timer:
            let timer = GRunLoop.Timer(interval: .nanoseconds(1), repeats: true) { [self] _ in _ = call() }
            takeOut = { timer.invalidate() }
            loop.add(timer, forMode: .default)
        case .descriptor:
            let ready = EventDescriptor()
            ready.makeReady()
            let source = GRunLoop.DescriptorSource(descriptor: ready.descriptor) { [self] _, _ in _ = call() }
            takeOut = {
                source.invalidate()
                withExtendedLifetime(ready) {}
            }
            try loop.add(source, forMode: .default)
        case .context:
            let context = TestContext()
            let idle = GLibSource.idle(context.pointer) { [self] in call() }
            takeOut = {
                idle.destroy()
                loop.remove(context: context.pointer, forMode: .default)
            }
            loop.add(context: context.pointer, forMode: .default)
        case .glibHigh, .glibDefault, .glibLower, .glibIdle:
            let idle = GLibSource.idle(nil, priority: kind.priority) { [self] in call() }
            takeOut = { idle.destroy() }
        }
    }

    /// The next one, where each is called once.
    private func again() {
        let next: @Sendable () -> Void = { [self] in if call() { again() } }
        let loop = GRunLoop.main
        switch kind {
        case .block: loop.async(next)
        case .perform: try? loop.performOnThread(next)
        // Not one task that yields: that goes by way of a thread of Swift's runtime.
        case .job: Task(executorPreference: loop.executor) { next() }
        case .mainQueue: DispatchQueue.main.async(execute: next)
        default: loop.add(GRunLoop.Timer(interval: .nanoseconds(1), repeats: false) { _ in next() }, forMode: .default)
        }
    }

    /// Takes it out of the loop. What is called once comes once more, and ends with that.
    func end() {
        takeOut()
        takeOut = {}
    }
}
