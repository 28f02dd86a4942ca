// SPDX-License-Identifier: Apache-2.0
// Closures that are not @Sendable, as scripts/clients compiles them in both language modes. A timer counts each of six
// kinds of state. The folder Refused holds the code that must not compile.

import GRunLoop

// 1. A plain class, on a worker's loop.
final class Meter {
    private var count = 0

    func start(isolation: isolated GRunLoop.Isolation, _ done: @escaping @Sendable () -> Void) {
        let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true, isolation: isolation) { timer in
            self.count += 1
            guard self.count == 3 else { return }
            timer.invalidate()
            done()
        }
        isolation.loop.add(timer, forMode: .default)
    }
}

// 2. The variables of a script: Script.swift.

// 3. A model of the main actor.
@MainActor final class Model {
    private(set) var count = 0

    func start() {
        GRunLoop.main.add(
            GRunLoop.Timer(interval: .milliseconds(1), repeats: false) { @MainActor _ in self.count += 1 },
            forMode: .default)
        GRunLoop.Timer.scheduled(interval: .milliseconds(1), repeats: false) { @MainActor _ in self.count += 1 }
        GRunLoop.main.perform(after: .zero) { @MainActor in self.count += 1 }
        GRunLoop.main.perform(order: 0, inModes: [.default], isolation: #isolation) { self.count += 1 }
    }
}

// 4. An actor on a loop.
actor Resident {
    private nonisolated let executor: GRunLoop.Executor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private var count = 0

    init(on loop: GRunLoop) { executor = GRunLoop.Executor(loop, label: "Resident") }

    func start(on loop: GRunLoop, _ done: @escaping @Sendable () -> Void) {
        let source = GRunLoop.Source(isolation: self) {
            self.count += 1
            done()
        }
        loop.add(source, forMode: .common)
        source.signal()
        loop.wakeUp()
    }
}

// 5. A struct's state, in a closure.
struct Statistics {
    var least = Int.max
    var most = Int.min

    mutating func add(_ value: Int) {
        least = min(least, value)
        most = max(most, value)
    }
}

@MainActor func watch() -> () -> Int {
    var statistics = Statistics()
    let observer = GRunLoop.Observer(activities: .beforeTimers) { @MainActor _, _ in statistics.add(1) }
    GRunLoop.main.add(observer, forMode: .default)
    return {
        observer.invalidate()
        return statistics.most
    }
}

// 6. A class that its timer does not retain.
final class Lamp {
    private var isOn = false
    private let gone: @Sendable () -> Void

    init(_ gone: @escaping @Sendable () -> Void) { self.gone = gone }

    deinit { gone() }

    func start(isolation: isolated any Actor = #isolation, on loop: GRunLoop) {
        let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true, isolation: isolation) {
            [weak self] timer in
            guard let self else { return timer.invalidate() }
            isOn.toggle()
        }
        loop.add(timer, forMode: .default)
    }
}

@main struct Closures {
    @MainActor static func main() throws {
        let model = Model()
        model.start()
        let statistics = watch()
        var lamp: Lamp? = Lamp { print("the lamp is gone") }
        lamp?.start(on: .main)
        while model.count < 4 || statistics() < 1 { GRunLoop.main.run(for: .milliseconds(10)) }
        lamp = nil
        precondition(model.count == 4)

        let worker = try GRunLoop.Thread(name: "closures") { here in
            let loop = here.loop
            Meter().start(isolation: here) { loop.perform { print("the meter is done") } }
        }
        let resident = Resident(on: worker.loop)
        Task { await resident.start(on: worker.loop) { print("the resident is done") } }
        GRunLoop.main.run(for: .milliseconds(100))
        worker.stop()
        worker.join()
    }
}
