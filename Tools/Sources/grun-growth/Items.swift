// SPDX-License-Identifier: Apache-2.0
// Items of modes: every operation on each kind of item.

import GRunLoop
import Glibc
import TestSupport

extension GRunLoop.Item {
    func join(_ loop: GRunLoop, _ mode: GRunLoop.Mode) throws { try loop.add(self, forMode: mode) }
    func leave(_ loop: GRunLoop, _ mode: GRunLoop.Mode) { loop.remove(self, forMode: mode) }
    func isIn(_ loop: GRunLoop, _ mode: GRunLoop.Mode) -> Bool { loop.contains(self, forMode: mode) }
}

/// A kind of item: the number of items, and how to make one.
struct ItemKind: Sendable {
    let name: String
    let count: Int
    /// Makes the item with this number, which is its rank if the kind has one.
    let make: @Sendable (Int) throws -> any GRunLoop.Item

    static let all = [
        ItemKind(name: "source", count: 4000) { GRunLoop.Source(order: $0) {} },
        ItemKind(name: "timer", count: 4000) { rank in
            GRunLoop.Timer(fireAt: .now + .seconds(1000 + rank)) { _ in }
        },
        ItemKind(name: "tolerant timer", count: 4000) { rank in
            GRunLoop.Timer(fireAt: .now + .seconds(1000 + rank), tolerance: .seconds(1)) { _ in }
        },
        ItemKind(name: "observer of one order", count: 4000) { _ in
            GRunLoop.Observer(activities: .exit) { _, _ in }
        },
        ItemKind(name: "observer of its own order", count: 4000) { rank in
            GRunLoop.Observer(activities: .exit, order: rank) { _, _ in }
        },
        ItemKind(name: "idle queue", count: 4000) { _ in GRunLoop.IdleQueue() },
        ItemKind(name: "port", count: 4000) { _ in GRunLoop.Port { _ in } },
        ItemKind(name: "descriptor source", count: 400) { rank in
            GRunLoop.DescriptorSource(descriptor: Descriptors.numbered(rank)) { _, _ in }
        },
        ItemKind(name: "signal source", count: 400) { _ in try GRunLoop.SignalSource(SIGUSR1) { _, _ in } },
        ItemKind(name: "child source", count: 50) { rank in
            try GRunLoop.ChildSource(pid: Children.numbered(rank)) { _, _ in }
        },
    ]

    /// Many items in one mode.
    var inOneMode: Kind {
        Kind(name: name, count: count) { trial in
            let items = try trial.make(make)
            try trial.each("add") { try items[$0].join(trial.loop, .default) }
            try trial.each("contains") { _ = items[$0].isIn(trial.loop, .default) }
            try trial.eachAsMade("remove, as made") { items[$0].leave(trial.loop, .default) }
            for item in items { try item.join(trial.loop, .default) }
            try trial.each("remove") { items[$0].leave(trial.loop, .default) }
            for item in items { try item.join(trial.loop, .default) }
            try trial.each("invalidate") { items[$0].invalidate() }
        }
    }

    /// One item in many modes.
    var inManyModes: Kind {
        Kind(name: "modes of a \(name)", count: min(count, 500)) { trial in
            let item = try make(0)
            let modes = trial.make { GRunLoop.Mode("mode \($0)") }
            try trial.each("add") { try item.join(trial.loop, modes[$0]) }
            try trial.each("contains") { _ = item.isIn(trial.loop, modes[$0]) }
            try trial.each("remove") { item.leave(trial.loop, modes[$0]) }
            for mode in modes { try item.join(trial.loop, mode) }
            trial.all("invalidate") { item.invalidate() }
        }
    }

    /// One item in each of many modes.
    var oneAMode: Kind {
        Kind(name: "\(name) a mode", count: min(count, 1000)) { trial in
            let items = try trial.make(make)
            let modes = trial.make { GRunLoop.Mode("mode \($0)") }
            try trial.each("add") { try items[$0].join(trial.loop, modes[$0]) }
            try trial.each("remove") { items[$0].leave(trial.loop, modes[$0]) }
            for (item, mode) in zip(items, modes) { try item.join(trial.loop, mode) }
            try trial.each("invalidate") { items[$0].invalidate() }
        }
    }

    /// Many items in a few common modes.
    var common: Kind {
        Kind(name: "common \(name)", count: min(count, 1000)) { trial in
            for number in 0..<4 { try trial.loop.addCommonMode(GRunLoop.Mode("common \(number)")) }
            let items = try trial.make(make)
            try trial.each("add") { try items[$0].join(trial.loop, .common) }
            try trial.each("remove") { items[$0].leave(trial.loop, .common) }
            for item in items { try item.join(trial.loop, .common) }
            try trial.all("a further common mode") { try trial.loop.addCommonMode("further") }
            try trial.each("invalidate") { items[$0].invalidate() }
        }
    }

    /// A common item in many common modes.
    var inCommonModes: Kind {
        Kind(name: "common modes of a \(name)", count: min(count, 500)) { trial in
            let item = try make(0)
            let modes = trial.make { GRunLoop.Mode("mode \($0)") }
            try item.join(trial.loop, .common)
            try trial.each("make common") { try trial.loop.addCommonMode(modes[$0]) }
            trial.all("remove") { item.leave(trial.loop, .common) }
            try trial.all("add") { try item.join(trial.loop, .common) }
            trial.all("invalidate") { item.invalidate() }
        }
    }
}

/// Eventfds, made at the first use and kept.
enum Descriptors {
    private static let made = Shared<[EventDescriptor]>([])

    static func numbered(_ number: Int) -> Int32 { event(number).descriptor }

    static func event(_ number: Int) -> EventDescriptor {
        made.update { made in
            while made.count <= number { made.append(EventDescriptor()) }
            return made[number]
        }
    }

    /// As many descriptors as the process may have.
    static func allowMany() {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

/// Child processes that do nothing, made at the first use and killed at the end.
enum Children {
    private static let started = Shared<[pid_t]>([])

    static func numbered(_ number: Int) -> pid_t {
        started.update { started in
            while started.count <= number { started.append(start()) }
            return started[number]
        }
    }

    /// Starts a child that ends soon if this program is killed.
    static func start() -> pid_t { startShell("exec sleep 120") }

    static func end() {
        for child in started.value {
            kill(child, SIGKILL)
            waitpid(child, nil, 0)
        }
    }
}
