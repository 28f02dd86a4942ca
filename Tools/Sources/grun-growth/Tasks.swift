// SPDX-License-Identifier: Apache-2.0
// Tasks that wait, and other things that a loop keeps: jobs, threads, contexts, end handlers, labels, modes.

import CGRunGLib
import Dispatch
import GRunLoop
import TestSupport

/// Tasks that a trial has begun.
final class Tasks: @unchecked Sendable {
    private var tasks: [Task<Void, Never>] = []
    private let all = DispatchGroup()

    /// Starts a task, and waits until it has signalled that it is about to wait.
    func begin(_ body: @escaping @Sendable (DispatchSemaphore) async -> Void) {
        let started = DispatchSemaphore(value: 0)
        let all = all
        all.enter()
        tasks.append(
            Task {
                await body(started)
                all.leave()
            })
        started.wait()
    }

    func cancel(_ number: Int) { tasks[number].cancel() }

    func waitForAll() {
        guard all.wait(timeout: .now() + 60) == .success else { fatalError("a task did not end") }
    }
}

enum Others {
    static let all = waiting + threads + contexts + modes

    private static let waiting = [
        Kind(name: "task that sleeps", count: 4000) { trial in
            let tasks = Tasks()
            let loop = trial.loop
            try trial.eachAsMade("wait") { number in
                tasks.begin { started in
                    started.signal()
                    try? await loop.sleep(for: .seconds(1000 + number))
                }
            }
            trial.all("cancel") {
                for place in trial.places { tasks.cancel(place) }
                tasks.waitForAll()
            }
        },
        Kind(name: "iterator of ticks", count: 2000) { trial in
            var iterators = trial.make { _ in trial.loop.ticks(every: .seconds(1000)).makeAsyncIterator() as Any? }
            try trial.each("let go") { iterators[$0] = nil }
        },
        Kind(name: "iterator of activities", count: 2000) { trial in
            var iterators: [Any?] = []
            try trial.eachAsMade("make") { _ in iterators.append(trial.loop.activities(.exit).makeAsyncIterator()) }
            try trial.each("let go") { iterators[$0] = nil }
        },
        Kind(name: "job", count: 4000, orders: [.inOrder]) { trial in
            let tally = Tally()
            let executor = trial.loop.executor
            try trial.each("enqueue") { _ in
                Task(executorPreference: executor) { tally.count += 1 }
            }
            try trial.all("run") { try trial.runUntilAll(tally) }
        },
        Kind(name: "end handler", count: 4000) { trial in
            var handlers: [GRunLoop.EndHandler] = []
            try trial.eachAsMade("add") { _ in handlers.append(try trial.loop.addEndHandler {}) }
            try trial.each("cancel") { handlers[$0].cancel() }
        },
        Kind(name: "label", count: 4000) { trial in
            let sources = trial.make { _ in GRunLoop.Source {} }
            try trial.each("set") { sources[$0].label = "label" }
            try trial.each("get") { _ = sources[$0].label }
            try trial.each("remove") { sources[$0].label = nil }
        },
    ]

    private static let threads = [
        Kind(name: "thread", count: 25) { trial in
            var threads: [GRunLoop.Thread] = []
            try trial.eachAsMade("make") { _ in threads.append(try GRunLoop.Thread()) }
            try trial.each("end") {
                threads[$0].stop()
                threads[$0].join()
            }
        }
    ]

    private static let contexts = [
        Kind(name: "context", count: 100) { trial in
            let contexts = trial.make { _ in TestContext() }
            try trial.each("add") { trial.loop.add(GRunLoop.Context(contexts[$0].pointer), forMode: .default) }
            _ = trial.loop.run(mode: .default, for: .zero)
            try trial.each("remove") { trial.loop.remove(GRunLoop.Context(contexts[$0].pointer), forMode: .default) }
        },
        Kind(name: "modes of a context", count: 500) { trial in
            let context = TestContext()
            let modes = trial.make { GRunLoop.Mode("mode \($0)") }
            try trial.each("add") { trial.loop.add(GRunLoop.Context(context.pointer), forMode: modes[$0]) }
            try trial.each("remove") { trial.loop.remove(GRunLoop.Context(context.pointer), forMode: modes[$0]) }
        },
    ]

    private static let modes = [
        Kind(name: "mode", count: 1000) { trial in
            let modes = trial.make { GRunLoop.Mode("mode \($0)") }
            try trial.each("make") { trial.loop.add(GRunLoop.Source {}, forMode: modes[$0]) }
            try trial.each("run") { _ = trial.loop.run(mode: modes[$0], for: .zero) }
            try trial.each("make common") { try trial.loop.addCommonMode(modes[$0]) }
        },
        Kind(name: "ambient mode", count: 1000) { trial in
            let modes = trial.make { GRunLoop.Mode("mode \($0)") }
            var pushed: [GRunLoop.PushedMode] = []
            try trial.eachAsMade("push") { pushed.append(try trial.loop.push(ambientMode: modes[$0])) }
            try trial.each("pop") { pushed[$0].pop() }
        },
        Kind(name: "timer beside a new common mode", count: 4000, orders: [.inOrder]) { trial in
            let timers = trial.make { _ in GRunLoop.Timer(fireAt: .now + .seconds(1000)) { _ in } }
            for timer in timers { trial.loop.add(timer, forMode: .default) }
            for _ in 0..<trial.count { trial.loop.perform(after: .seconds(1000)) {} }
            try trial.beside("make common", times: 20) { try trial.loop.addCommonMode(GRunLoop.Mode("mode \($0)")) }
        },
    ]
}
