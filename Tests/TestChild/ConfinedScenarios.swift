// SPDX-License-Identifier: Apache-2.0
// Closures of an actor are used outside their actor. Each scenario ends the process.

import GRunLoop
import Glibc
import Synchronization
import TestSupport

private actor Homeless {
    func make() { _ = GRunLoop.Source(isolation: self) { say("called") } }
}

/// An actor that uses its first executor until it makes its item, and the main actor's executor afterwards.
actor Fickle {
    private nonisolated let isOnMain = Atomic(false)
    private nonisolated let executor: GRunLoop.Executor
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        isOnMain.load(ordering: .relaxed) ? MainActor.sharedUnownedExecutor : executor.asUnownedSerialExecutor()
    }

    init(on loop: GRunLoop) { executor = loop.executor }

    func make() {
        isOnMain.store(true, ordering: .relaxed)
        _ = GRunLoop.Source(isolation: self) { say("called") }
    }
}

let confinedScenarios: [String: @Sendable () throws -> Void] = [
    "confined-timer-elsewhere": {
        elsewhere { here, other in
            other.add(GRunLoop.Timer(fireAt: .now, isolation: here) { _ in say("called") }, forMode: .default)
        }
    },
    "confined-source-elsewhere": {
        elsewhere { here, other in
            let source = GRunLoop.Source(isolation: here) { say("called") }
            here.loop.add(source, forMode: .default)
            other.add(source, forMode: .default)
        }
    },
    "confined-descriptor-elsewhere": {
        elsewhere { here, other in
            let source = GRunLoop.DescriptorSource(descriptor: 0, isolation: here) { _, _ in say("called") }
            do { try other.add(source, forMode: .default) } catch { say("\(error)") }
        }
    },
    "confined-observer-elsewhere": {
        elsewhere { here, other in
            let observer = GRunLoop.Observer(activities: .all, isolation: here) { _, _ in say("called") }
            other.add(observer, forMode: .common)
        }
    },
    // An item that is in its own loop is refused with the end of the process as well, and not only with a message.
    "confined-timer-elsewhere-too": {
        elsewhere { here, other in
            let timer = GRunLoop.Timer(interval: .seconds(3600), repeats: false, isolation: here) { _ in say("called") }
            here.loop.add(timer, forMode: .default)
            other.add(timer, forMode: .default)
        }
    },
    "confined-perform-elsewhere": {
        elsewhere { here, other in other.perform(after: .zero, isolation: here) { say("called") } }
    },
    "confined-async-elsewhere": { elsewhere { here, _ in here.loop.async { @MainActor in say("called") } } },
    "confined-block-elsewhere": { elsewhere { here, _ in here.loop.perform { @MainActor in say("called") } } },
    "confined-on-thread-elsewhere": {
        elsewhere { here, _ in try? here.loop.performOnThread { @MainActor in say("called") } }
    },
    "confined-fired-elsewhere": {
        elsewhere { here, _ in
            let timer = GRunLoop.Timer(interval: .seconds(3600), repeats: true, isolation: here) { _ in say("called") }
            onPlainThread { timer.fire() }
        }
    },
    "confined-in-virtual-time-elsewhere": {
        elsewhere { here, _ in
            let timer = GRunLoop.Timer(fireAt: .now, isolation: here) { _ in say("called") }
            onPlainThread { GRunLoop.withVirtualTime { $0.loop.add(timer, forMode: .default) } }
        }
    },
    "confined-to-no-loop": {
        Task { await Homeless().make() }
        sleep(10)
    },
    "confined-to-the-main-actor-elsewhere": {
        let worker = try GRunLoop.Thread(name: "first")
        Task { await Fickle(on: worker.loop).make() }
        sleep(10)
    },
]

/// Calls `body` on a worker thread, with the main loop as the other loop.
private func elsewhere(_ body: @escaping @Sendable (isolated GRunLoop.Isolation, GRunLoop) -> Void) {
    let main = GRunLoop.main
    let worker = try? GRunLoop.Thread(name: "home") { here in
        say("before")
        body(here, main)
        say("after")
    }
    worker?.stop()
    worker?.join()
}
