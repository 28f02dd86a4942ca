// SPDX-License-Identifier: Apache-2.0
// Things that are called once: blocks, performs, signals of sources, due timers, idle work, messages of ports.

import CGRunHeaders
import GRunLoop
import GRunLoopC
import TestSupport

enum Calls {
    static let all = blocks + performs + performsWithTarget + items

    private static func modes(_ trial: Trial) -> [GRunLoop.Mode] { trial.make { GRunLoop.Mode("mode \($0)") } }

    private static let blocks = [
        Kind(name: "block", count: 4000, orders: [.inOrder]) { trial in
            let tally = Tally()
            try trial.each("enqueue") { _ in trial.loop.perform { tally.count += 1 } }
            try trial.all("run") { try trial.runUntilAll(tally) }
        },
        Kind(name: "common block", count: 4000, orders: [.inOrder]) { trial in
            let tally = Tally()
            try trial.each("enqueue") { _ in trial.loop.async { tally.count += 1 } }
            try trial.all("run") { try trial.runUntilAll(tally) }
        },
        Kind(name: "block for two modes", count: 4000, orders: [.inOrder]) { trial in
            let tally = Tally()
            try trial.each("enqueue") { _ in
                trial.loop.perform(inModes: ["other", .default]) { tally.count += 1 }
            }
            try trial.all("run") { try trial.runUntilAll(tally) }
            try trial.each("enqueue again") { _ in trial.loop.perform(inModes: ["other", .default]) {} }
        },
        Kind(name: "block in a block", count: 4000, orders: [.inOrder]) { trial in
            // The first block runs a nested loop, which finds the blocks that were enqueued after the first one.
            let tally = Tally()
            trial.loop.perform {
                for _ in 0..<trial.count { trial.loop.perform { tally.count += 1 } }
                try? trial.all("run") { try trial.runUntilAll(tally) }
            }
            // The outer run takes from two queues in turn, and its own blocks stay in their queue meanwhile.
            trial.loop.async {}
            trial.loop.perform {}
            _ = trial.loop.run(mode: .default, for: .zero)
        },
        Kind(name: "block a mode", count: 1000) { trial in
            let modes = modes(trial)
            try trial.each("enqueue") { trial.loop.perform(inModes: [modes[$0]]) {} }
            try trial.each("run") { _ = trial.loop.run(mode: modes[$0], for: .zero) }
        },
        Kind(name: "modes of a block", count: 1000, orders: [.inOrder]) { trial in
            let modes = modes(trial)
            trial.all("enqueue") { trial.loop.perform(inModes: modes) {} }
            trial.all("run") { _ = trial.loop.run(mode: modes[0], for: .zero) }
        },
    ]

    private static let performs = [
        Kind(name: "perform", count: 4000) { trial in
            var made: [GRunLoop.DelayedPerform] = []
            try trial.eachAsMade("add") { made.append(trial.loop.perform(after: .seconds(1000 + $0)) {}) }
            try trial.each("cancel") { _ = made[$0].cancel() }
            let tally = Tally()
            for _ in 0..<trial.count { trial.loop.perform(after: .zero) { tally.count += 1 } }
            try trial.all("run") { try trial.runUntilAll(tally) }
        },
        Kind(name: "perform a mode", count: 1000) { trial in
            let modes = modes(trial)
            var made: [GRunLoop.DelayedPerform] = []
            try trial.eachAsMade("add") {
                made.append(trial.loop.perform(after: .seconds(1000), inModes: [modes[$0]]) {})
            }
            try trial.each("cancel") { _ = made[$0].cancel() }
        },
        Kind(name: "common perform", count: 2000) { trial in
            for number in 0..<4 { try trial.loop.addCommonMode(GRunLoop.Mode("common \(number)")) }
            var made: [GRunLoop.DelayedPerform] = []
            try trial.eachAsMade("add") { _ in
                made.append(trial.loop.perform(after: .seconds(1000), inModes: [.common]) {})
            }
            try trial.each("cancel") { _ = made[$0].cancel() }
        },
        Kind(name: "modes of a perform", count: 1000, orders: [.inOrder]) { trial in
            let modes = modes(trial)
            var made = [GRunLoop.DelayedPerform]()
            trial.all("add") { made = [trial.loop.perform(after: .seconds(1000), inModes: modes) {}] }
            trial.all("cancel") { _ = made[0].cancel() }
        },
        Kind(name: "perform on the thread", count: 4000, orders: [.inOrder]) { trial in
            let tally = Tally()
            try trial.each("add") { _ in try trial.loop.performOnThread { tally.count += 1 } }
            try trial.all("run") { try trial.runUntilAll(tally) }
        },
        Kind(name: "perform on the thread a mode", count: 1000) { trial in
            let modes = modes(trial)
            try trial.each("add") { try trial.loop.performOnThread(inModes: [modes[$0]]) {} }
            try trial.each("run") { _ = trial.loop.run(mode: modes[$0], for: .zero) }
        },
    ]

    private final class Target: Sendable {}

    private static let performsWithTarget = [
        Kind(name: "perform with a target", count: 4000) { trial in
            let targets = trial.make { _ in Target() }
            try trial.each("add") { trial.loop.perform(after: .seconds(1000), target: targets[$0]) {} }
            try trial.each("cancel") { trial.loop.cancelPerforms(target: targets[$0]) }
            for target in targets { trial.loop.perform(after: .seconds(1000), target: target, key: 1) {} }
            try trial.each("cancel by a key") { trial.loop.cancelPerforms(target: targets[$0], key: 1) }
            let tally = Tally()
            for target in targets { trial.loop.perform(after: .zero, target: target) { tally.count += 1 } }
            try trial.all("run") { try trial.runUntilAll(tally) }
        },
        Kind(name: "perform of one target", count: 4000) { trial in
            let target = Target()
            try trial.each("add") { trial.loop.perform(after: .seconds(1000), target: target, key: $0) {} }
            try trial.each("cancel by its key") { trial.loop.cancelPerforms(target: target, key: $0) }
            var made: [GRunLoop.DelayedPerform] = []
            for key in 0..<trial.count {
                made.append(trial.loop.perform(after: .seconds(1000), target: target, key: key) {})
            }
            try trial.each("cancel one") { _ = made[$0].cancel() }
            for key in 0..<trial.count { trial.loop.perform(after: .seconds(1000), target: target, key: key) {} }
            trial.all("cancel all") { trial.loop.cancelPerforms(target: target) }
        },
        Kind(name: "ordered perform", count: 4000) { trial in
            let targets = trial.make { _ in Target() }
            try trial.each("add") { trial.loop.perform(order: $0, inModes: [.default], target: targets[$0]) {} }
            try trial.each("cancel") { trial.loop.cancelPerforms(target: targets[$0]) }
            let tally = Tally()
            for order in 0..<trial.count { trial.loop.perform(order: order, inModes: [.default]) { tally.count += 1 } }
            try trial.all("run") { try trial.runUntilAll(tally) }
        },
        Kind(name: "perform of C", count: 4000) { trial in
            guard let loop = grun_loop_get_current() else { return }
            let function: GRunFunc = { _ in }
            let data = (1...trial.count).map { UnsafeMutableRawPointer(bitPattern: $0) }
            try trial.each("add") { grun_loop_perform_after(loop, 1000, GRUN_MODE_DEFAULT, function, data[$0], nil) }
            try trial.each("cancel") { grun_loop_cancel_performs(loop, function, data[$0]) }
            for each in data { grun_loop_perform_after(loop, 1000, GRUN_MODE_DEFAULT, function, each, nil) }
            try trial.each("cancel by its data") { grun_loop_cancel_performs(loop, nil, data[$0]) }
        },
    ]

    private static let items = [
        Kind(name: "signal of a source", count: 4000) { trial in
            let tally = Tally()
            let sources = trial.make { GRunLoop.Source(order: $0) { tally.count += 1 } }
            for source in sources { trial.loop.add(source, forMode: .default) }
            try trial.each("signal") { sources[$0].signal() }
            try trial.all("run") { try trial.runUntilAll(tally) }
            for source in sources { source.signal() }
            try trial.each("invalidate when signalled") { sources[$0].invalidate() }
        },
        Kind(name: "date of a timer", count: 4000) { trial in
            let tally = Tally()
            let begin = GRunLoop.now
            let timers = trial.make { _ in GRunLoop.Timer(fireAt: begin + .seconds(1000)) { _ in tally.count += 1 } }
            for timer in timers { trial.loop.add(timer, forMode: .default) }
            try trial.each("move") { timers[$0].fireDate = begin + .nanoseconds($0) }
            try trial.all("fire") { try trial.runUntilAll(tally) }
        },
        Kind(name: "idle work", count: 4000, orders: [.inOrder]) { trial in
            let tally = Tally()
            let queue = GRunLoop.IdleQueue()
            trial.loop.add(queue, forMode: .default)
            try trial.each("enqueue") { _ in queue.enqueue {} }
            trial.all("remove") { queue.removeAll() }
            for _ in 0..<trial.count { queue.enqueue { trial.noteCall(tally) } }
            trial.all("run") { trial.run() }
        },
        Kind(name: "idle queue with work", count: 4000) { trial in
            let tally = Tally()
            let queues = trial.make { _ in GRunLoop.IdleQueue() }
            for queue in queues { trial.loop.add(queue, forMode: .default) }
            try trial.each("enqueue") { queues[$0].enqueue {} }
            try trial.each("remove") { queues[$0].removeAll() }
            for queue in queues { queue.enqueue { trial.noteCall(tally) } }
            trial.all("run") { trial.run() }
        },
        Kind(name: "message of a port", count: 4000, orders: [.inOrder]) { trial in
            let tally = Tally()
            let port = GRunLoop.Port(capacity: .max) { _ in tally.count += 1 }
            trial.loop.add(port, forMode: .default)
            try trial.each("send") { _ in _ = port.trySend(GRunLoop.PortMessage()) }
            try trial.all("run") { try trial.runUntilAll(tally) }
            for _ in 0..<trial.count { _ = port.trySend(GRunLoop.PortMessage()) }
            trial.all("invalidate") { port.invalidate() }
        },
        Kind(name: "port with a message", count: 4000) { trial in
            let tally = Tally()
            let ports = trial.make { _ in GRunLoop.Port { _ in tally.count += 1 } }
            for port in ports { trial.loop.add(port, forMode: .default) }
            try trial.each("send") { _ = ports[$0].trySend(GRunLoop.PortMessage()) }
            try trial.all("run") { try trial.runUntilAll(tally) }
            for port in ports { _ = port.trySend(GRunLoop.PortMessage()) }
            try trial.each("invalidate") { ports[$0].invalidate() }
        },
        Kind(name: "ready descriptor", count: 400) { trial in
            let tally = Tally()
            let sources = trial.make { number in
                GRunLoop.DescriptorSource(descriptor: Descriptors.numbered(number)) { _, _ in
                    Descriptors.event(number).consume()
                    tally.count += 1
                }
            }
            for source in sources { try trial.loop.add(source, forMode: .default) }
            try trial.each("change") { sources[$0].conditions = [.readable, .priority] }
            try trial.each("make ready") { Descriptors.event($0).makeReady() }
            try trial.all("run") { try trial.runUntilAll(tally) }
        },
        Kind(name: "source of one descriptor", count: 100) { trial in
            let sources = trial.make { _ in
                GRunLoop.DescriptorSource(descriptor: Descriptors.numbered(0)) { _, _ in }
            }
            try trial.each("add") { try trial.loop.add(sources[$0], forMode: .default) }
            try trial.each("change") { sources[$0].conditions = [.readable, .priority] }
            try trial.each("remove") { trial.loop.remove(sources[$0], forMode: .default) }
        },
        Kind(name: "child's end", count: 50) { trial in
            let tally = Tally()
            let children = trial.make { _ in Children.start() }
            let sources = try trial.make {
                try GRunLoop.ChildSource(pid: children[$0]) { _, _ in trial.noteCall(tally) }
            }
            for source in sources { try trial.loop.add(source, forMode: .default) }
            try trial.each("kill") { kill(children[$0], SIGKILL) }
            trial.all("run") { trial.run() }
        },
    ]
}
