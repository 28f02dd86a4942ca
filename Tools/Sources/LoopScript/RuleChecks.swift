// SPDX-License-Identifier: Apache-2.0
// How the rules of Exclusions.swift are applied while a program runs.

import Glibc

extension Executor {
    /// Returns the rule that forbids an action at this point.
    func reasonToSkip(_ action: Action) -> Rule? {
        switch action {
        case .add(.timer(let timer), let mode):
            if isFiring(timer), movedWhileFiring.contains(timer) { return .ownDateInSeveralModes }
            return returnsBesideItsBatch(timer, to: mode == "common" ? commonModes : [mode]) ? .removedTimerFires : nil
        case .addCommonMode(let mode):
            let returns = program.timers.indices.contains {
                commonItems.contains(.timer($0)) && returnsBesideItsBatch($0, to: [mode])
            }
            if returns { return .removedTimerFires }
            // Only one of the loops knows that a ghost is a common item.
            let moved = movedWhileFiring.first { face.contains(.timer($0), in: "common") || isGhost(.timer($0)) }
            return moved == nil ? nil : .ownDateInSeveralModes
        case .remove(let item, let mode): return reasonToKeep(item, in: mode)
        case .invalidate(let item):
            if case .source(let source) = item, activations.contains(where: { $0.pendingSources.last == source }) {
                return .lastSourceDecides
            }
            return takesWaitedItem(item) ? .waitedItemGone : nil
        case .makeReady(let port):
            return inAfterWaiting && writtenPorts.contains(port) ? .portReadBeforeAfterWaiting : nil
        case .move(let timer, _):
            if let frame = callouts.last(where: { $0.item == .timer(timer) }) {
                let mode = activations[frame.depth - 1].mode
                return modes(of: .timer(timer)).contains { $0 != mode } ? .ownDateInSeveralModes : nil
            }
            return takesWaitedItem(.timer(timer)) ? .waitedItemGone : nil
        case .run(_, let limit, _): return reasonNotToRun(limit)
        case .busy(let gaps): return reasonNotToBeBusy(gaps)
        case .query(.contains(let item, "common")):
            return isGhost(item) ? .ghostCommonItem : nil
        default: return nil
        }
    }

    private func reasonToKeep(_ item: ItemID, in mode: ModeName) -> Rule? {
        let touched = mode == "common" ? (face.contains(item, in: "common") ? commonModes : []) : [mode]
        switch item {
        case .source(let source):
            let waits = activations.contains { $0.pendingSources.contains(source) && touched.contains($0.mode) }
            return waits ? .removedSourcePerforms : nil
        case .timer(let timer):
            let inBatch = batchModes.contains(where: touched.contains)
            let stays = modes(of: item).contains { !touched.contains($0) }
            if inBatch, stays, isDue(timer) { return .removedTimerFires }
            return takesWaitedItem(item) ? .waitedItemGone : nil
        case .port(let port):
            return inAfterWaiting && writtenPorts.contains(port) ? .portReadBeforeAfterWaiting : nil
        case .observer: return nil
        }
    }

    /// Whether a due timer without a mode joins other modes than that of a running batch, in which it may have been.
    private func returnsBesideItsBatch(_ timer: Int, to joined: some Sequence<ModeName>) -> Bool {
        guard modes(of: .timer(timer)).isEmpty, isDue(timer) else { return false }
        return batchModes.contains { !joined.contains($0) }
    }

    /// The modes whose due timers are being called.
    private var batchModes: [ModeName] {
        callouts.compactMap { frame in
            guard case .timer? = frame.item, frame.depth > 0 else { return nil }
            return activations[frame.depth - 1].mode
        }
    }

    private func reasonNotToRun(_ limit: RunLimit) -> Rule? {
        if inAfterWaiting, readyItems() > 0 { return .waitedItemGone }
        switch limit {
        case .poll, .negative: return nil
        case .gaps, .forever: return inEntryWithDeadline ? .entryTakesTime : nil
        }
    }

    private func reasonNotToBeBusy(_ gaps: Int) -> Rule? {
        if inEntryWithDeadline { return .entryTakesTime }
        let end = grid.date(gap: grid.gap + gaps, slot: Grid.busySlot)
        return activations.contains { $0.deadline.map { $0 <= end } ?? false } ? .busyDeadline : nil
    }

    private var inEntryWithDeadline: Bool {
        callouts.contains { $0.activity == 1 && $0.depth > 0 && activations[$0.depth - 1].deadline != nil }
    }

    var inAfterWaiting: Bool { callouts.contains { $0.activity == 64 } }

    /// The number of ready items, where the timers count as one, in the mode of a run that is in an afterWaiting
    /// observer. With several such runs, the greatest number counts.
    private func readyItems() -> Int {
        callouts.lazy.filter { $0.activity == 64 && $0.depth > 0 }
            .map { self.readyItems(in: self.activations[$0.depth - 1].mode) }.max() ?? 0
    }

    private func readyItems(in mode: ModeName) -> Int {
        let timers = program.timers.indices.contains {
            face.contains(.timer($0), in: mode) && isDue($0)
        }
        let ports = program.ports.indices.filter {
            writtenPorts.contains($0) && face.contains(.port($0), in: mode)
        }
        return (timers ? 1 : 0) + ports.count
    }

    private func takesWaitedItem(_ item: ItemID) -> Bool {
        guard inAfterWaiting, readyItems() > 1 else { return false }
        switch item {
        case .timer(let timer): return isDue(timer)
        case .port(let port): return writtenPorts.contains(port)
        case .source, .observer: return false
        }
    }

    private func isDue(_ timer: Int) -> Bool {
        guard !isFiring(timer), let date = face.date(ofTimer: timer) else { return false }
        return date <= Int64(Grid.now)
    }

    private func isGhost(_ item: ItemID) -> Bool {
        guard commonItems.contains(item), modes(of: item).isEmpty else { return false }
        if case .timer = item { return true }
        return !face.isValid(item)
    }

    func modes(of item: ItemID) -> [ModeName] {
        face.allModes.filter { $0 != "common" && face.contains(item, in: $0) }
    }

    /// Notes which sources this pass has collected, when the first of them performs (`Rule.lastSourceDecides`).
    func collectSources(first: Int) {
        guard !isEnding, let activation = activations.last else { return }
        let last = activations.count - 1
        if let position = activation.pendingSources.firstIndex(of: first) {
            activations[last].pendingSources.removeSubrange(...position)
            return
        }
        guard !activation.returnsAfterSource else { return }
        let collected = program.sources.indices.filter {
            $0 != first && face.isSignalled(source: $0) && face.contains(.source($0), in: activation.mode)
        }
        activations[last].pendingSources = collected.sorted {
            let one = program.sources[$0].order
            let other = program.sources[$1].order
            return one == other ? signalOrder[$0, default: 0] < signalOrder[$1, default: 0] : one < other
        }
    }

    /// Any callout that is not a source's shows that this pass has performed its sources.
    func sourcesAreThrough() {
        if !activations.isEmpty { activations[activations.count - 1].pendingSources = [] }
    }

    /// Restores what a nested run took from the outer run (`Rule.lastSourceDecides`).
    func afterNestedRun() {
        let activation = activations[activations.count - 1]
        if let source = activation.pendingSources.last, face.isValid(.source(source)),
            !face.isSignalled(source: source)
        {
            count(.lastSourceDecides)
            record("signalled again (\(Rule.lastSourceDecides.rawValue)): S\(source)")
            perform(.signal(source))
        }
    }

    public func wouldOversleep() -> Bool {
        guard let activation = activations.last else { return false }
        let isOver = activation.deadline.map { $0 < Grid.now } ?? false
        guard activeRuns.isStopped || isOver && !isItemReady(in: activation.mode) else { return false }
        count(.wakeUpEaten)
        return true
    }

    private func isItemReady(in mode: ModeName) -> Bool {
        program.timers.indices.contains { face.contains(.timer($0), in: mode) && isDue($0) }
            || writtenPorts.contains { face.contains(.port($0), in: mode) }
    }
}
