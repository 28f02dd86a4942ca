// SPDX-License-Identifier: Apache-2.0
// The text that describes a loop: every mode with its items, deadlines and flags.

extension GRunLoop: CustomStringConvertible {
    /// A text for people, which lists the loop's modes, items, deadlines and flags. The format may change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        guard !Fork.isChild else { return "<GRunLoop \(hexAddress(self))>{forked}" }
        let snapshot = lock.withLock { snapshotLocked() }
        return snapshot.text()
    }

    private func snapshotLocked() -> LoopSnapshot {
        var loop = LoopSnapshot(
            address: hexAddress(self), wakeUpPending: pendingPasses.contains(.wakeUp),
            stopped: frame?.run.isStopped ?? false,
            ignoresWakeUps: frame?.run.stage.countsWakeUps != true, currentMode: frame?.mode.name.rawValue,
            commonModes: commonModes.map(\.rawValue).sorted(), commonItems: commonItems.ordered, time: time)
        for mode in modes.values.sorted(by: { $0.name.rawValue < $1.name.rawValue }) {
            loop.modes.append(
                .init(
                    name: mode.name.rawValue, epoll: mode.descriptors.epoll,
                    contexts: contextsLocked(of: mode).map { hexAddress($0.context) }, isCommon: mode.isCommon,
                    servesMainQueue: hasMainQueueLocked(mode),
                    sources: mode.sources.values.map(\.source), descriptors: mode.descriptors.all,
                    // The snapshot copies these arrays instead of sharing their storage. Before a change in place,
                    // Swift only checks the reference count. This check does not order the change after the last reads
                    // by a thread that has released the snapshot.
                    observers: mode.observers.all, idleQueues: mode.idleQueues.all, ports: mode.ports.all,
                    timers: mode.heap.due(by: .never) + mode.firing.map { .timer($0.takeUnretainedValue()) },
                    performing: performing.filter { $0.isIn(mode) }.map(\.due),
                    blocks: mode.blocks.live, softDeadline: mode.heap.earliest, hardDeadline: mode.heap.wakeUpTime()))
        }
        return loop
    }
}

/// The content of the description, copied under the loop's lock. The text is made without the lock, because an item's
/// description acquires the loop's lock.
private struct LoopSnapshot {
    struct ModeSnapshot {
        let name: String
        let epoll: Int32
        let contexts: [String]
        let isCommon: Bool
        let servesMainQueue: Bool
        let sources: [GRunLoop.Source]
        let descriptors: [GRunLoop.DescriptorSource]
        let observers: [GRunLoop.Observer]
        let idleQueues: [GRunLoop.IdleQueue]
        let ports: [GRunLoop.Port]
        let timers: [TimerHeap.Member]
        let performing: [Nanoseconds]
        let blocks: Int
        let softDeadline: Nanoseconds
        let hardDeadline: Nanoseconds
    }

    let address: String
    let wakeUpPending: Bool
    let stopped: Bool
    let ignoresWakeUps: Bool
    let currentMode: String?
    let commonModes: [String]
    let commonItems: [CommonItem]
    let time: Nanoseconds
    var modes: [ModeSnapshot] = []

    func text() -> String {
        var lines = [
            "<GRunLoop \(address)>{",
            "wake-up pending = \(yesNo(wakeUpPending)), stopped = \(yesNo(stopped)), "
                + "ignoreWakeUps = \(yesNo(ignoresWakeUps)),",
            "current mode = \(currentMode ?? "(none)"),",
            "common modes = [\(commonModes.joined(separator: ", "))],",
        ]
        lines += section("common mode items", commonItems.map(describe))
        for mode in modes {
            lines.append("<mode \(mode.name)>{")
            lines.append(
                "    common = \(yesNo(mode.isCommon)), main queue = \(yesNo(mode.servesMainQueue)), "
                    + "epoll = \(mode.epoll), blocks = \(mode.blocks), "
                    + "contexts = [\(mode.contexts.joined(separator: ", "))],")
            lines += section("sources0", mode.sources.map(\.description).sorted()).map { "    " + $0 }
            let version1 = (mode.descriptors.map(\.description) + mode.ports.map(\.description)).sorted()
            lines += section("sources1", version1).map { "    " + $0 }
            lines += section("observers", mode.observers.map(\.description)).map { "    " + $0 }
            lines += section("idle queues", mode.idleQueues.map(\.description).sorted()).map { "    " + $0 }
            let performing = mode.performing.map { describePerform(due: $0, isFiring: true) }
            lines += section("timers", mode.timers.map(describe) + performing).map { "    " + $0 }
            let (soft, hard) = (deadline(mode.softDeadline), deadline(mode.hardDeadline))
            lines.append("    soft deadline in: \(soft) / hard deadline in: \(hard)")
            lines.append("}")
        }
        lines.append("}")
        return lines.joined(separator: "\n")
    }

    private func section(_ title: String, _ items: [String]) -> [String] {
        if items.isEmpty { return ["\(title) = (none),"] }
        return ["\(title) = ["] + items.map { "    \($0)," } + ["],"]
    }

    private func describe(_ item: CommonItem) -> String {
        switch item {
        case .source(let source): source.description
        case .descriptor(let source): source.description
        case .timer(let timer): timer.description
        case .observer(let observer): observer.description
        case .idleQueue(let queue): queue.description
        case .port(let port): port.description
        case .context(let context): "<GMainContext \(hexAddress(context))>"
        }
    }

    private func describe(_ member: TimerHeap.Member) -> String {
        switch member {
        case .timer(let timer): timer.description
        case .perform(_, let due): describePerform(due: due, isFiring: false)
        }
    }

    private func describePerform(due: Nanoseconds, isFiring: Bool) -> String {
        GRunLoop.PerformName.text(isFiring: isFiring, ahead: due.subtractingSaturating(time))
    }

    private func deadline(_ date: Nanoseconds) -> String {
        date == .never ? "never" : "\(seconds(date.subtractingSaturating(time))) s (@ \(date))"
    }
}
