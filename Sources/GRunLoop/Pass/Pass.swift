// SPDX-License-Identifier: Apache-2.0
// The run loop itself: one pass, stage by stage, in the order of Core Foundation's.
//
//   1 entry (once) · 2 beforeTimers · 3 beforeSources · 4 blocks · 5 version-0 sources, and blocks again if one was handled ·
//   6 main-queue pre-check · 7 beforeWaiting · 8 wait · 9 afterWaiting · 10 service one live item · 11 blocks · 12 end checks ·
//   exit (once)
//
// The stages are never inlined: a profile shows them by name, and what one costs does not depend on its neighbours.

extension GRunLoop {
    /// What of a pass decides whether its driver makes another.
    struct PassOutcome {
        /// A source was handled: a version-0 or version-1 source, the main queue, or a context.
        let handledSource: Bool
        /// There was anything to service at all.
        let foundSomething: Bool
    }

    /// One pass: stages 2 to 11. With the lock held before and after; never held in user code.
    func runPassLocked(_ run: Activation) -> PassOutcome {
        let mode = run.mode
        beginPassLocked(run)
        notifyLocked(.beforeTimers, mode)  // 2
        notifyLocked(.beforeSources, mode)  // 3
        runBlocksLocked(mode)  // 4
        mark(.sources)
        var handled = performSourcesLocked(run)  // 5
        if handled { runBlocksLocked(mode) }

        // 6 to 9; a host has done its own waiting.
        let found =
            run.isHosted
            ? Found(item: lookLocked(run, mainQueueFirst: !run.servedMainQueueLast))
            : takeReadyLocked(run, polls: handled || run.onlyPolls)
        run.ignoresWakeUps = true
        for served in found.contexts { dispatchLocked(served, run) }
        mark(.service)
        handled = serviceLocked(found.item, run) || handled || !found.contexts.isEmpty  // 10
        runBlocksLocked(mode)  // 11
        return PassOutcome(handledSource: handled, foundSomething: handled || found.item != nil)
    }

    /// Wake-ups count again. An outer run's deadline that passed while they did not is spent: it was one of the ignored.
    private func beginPassLocked(_ run: Activation) {
        if run.ignoresWakeUps, run.nextAncestorDeadline != .never {
            _ = run.takePassedAncestorDeadlines(at: .now())
        }
        run.ignoresWakeUps = false
        run.owesPass = false
    }

    // MARK: 2, 3, 7, 9, entry and exit

    /// Tells the observers of a stage, if there are any.
    @inline(__always) func notifyLocked(_ activity: Activity, _ mode: ModeState) {
        mark(activity)
        if mode.observed.contains(activity) { callObserversLocked(activity, mode) }
    }

    /// In order. Who was removed meanwhile is still called, who was invalidated is not (149, 150).
    @inline(never) private func callObserversLocked(_ activity: Activity, _ mode: ModeState) {
        let called = mode.observers.filter { $0.activities.contains(activity) && $0.canBeCalledLocked }
        guard !called.isEmpty else { return }
        activation?.kept += called as [AnyObject]
        lock.unlock()
        for observer in called { observer.deliver(activity, in: mode, of: self) }
        lock.lock()
    }

    // MARK: 5

    /// Performs what is signalled now, in order; only the first if the run returns after a source. Answers whether any was.
    @inline(never) func performSourcesLocked(_ run: Activation) -> Bool {
        let mode = run.mode
        guard !mode.signalled.isEmpty else { return false }
        var collected: [(source: Source, signal: UInt64)] = []
        for (id, source) in mode.signalled {
            run.kept.append(source)
            let signal = source.signalOrder
            if signal != 0 {
                collected.append((source, signal))
            } else {
                // Performed in another mode since. A new signal from a callout of this pass is for the next one (item 91).
                mode.signalled[id] = nil
            }
        }
        collected.sort { ($0.source.order, $0.signal) < ($1.source.order, $1.signal) }
        var handled = false
        for (source, _) in collected {
            // What is not performed stays in the mode's list, where a nested run finds it.
            if handled && run.returnsAfterSource { break }
            // Removed since: it does not perform, and keeps its signal.
            guard mode.signalled.removeValue(forKey: ObjectIdentifier(source)) != nil, source.takeSignal() else { continue }
            handled = true
            lock.unlock()
            callOutToSource(source, of: self)
            lock.lock()
        }
        return handled
    }

    // MARK: 10

    private func dispatchLocked(_ served: ServedContext, _ run: Activation) {
        run.kept.append(served)
        lock.unlock()
        let outerDepth = ownDispatchDepth
        ownDispatchDepth = Contexts.depth + 1
        callOutToContext(served, of: self)
        ownDispatchDepth = outerDepth
        lock.lock()
    }

    /// Services one item; answers whether that counts as a handled source.
    @inline(never) func serviceLocked(_ item: ReadyItem?, _ run: Activation) -> Bool {
        run.servedMainQueueLast = false
        guard let item else { return false }
        lastKind = item.kind
        switch item {
        case .wakeUp:
            return false
        case .timers:
            fireTimersLocked(run)
            return false
        case .mainQueue:
            run.servedMainQueueLast = true
            return drainMainQueueLocked()
        case .descriptor(let source):
            run.kept.append(source)
            return performLocked(source, run.mode)
        }
    }

    /// Fires every timer that is due at this instant, in order. Each is looked at again before its call: an earlier one may have
    /// invalidated, removed or moved it, and a nested run may have fired it.
    private func fireTimersLocked(_ run: Activation) {
        let mode = run.mode
        let due = mode.heap.due(by: .now())
        run.kept += due as [AnyObject]
        for timer in due {
            guard timer.guardian.isBound(to: lock), timer.isValidLocked, timer.places.contains(mode), !timer.isFiring,
                timer.deadline <= Nanoseconds.now()
            else { continue }
            timer.fireLocked(in: mode, of: self)
        }
    }

    private func performLocked(_ source: DescriptorSource, _ mode: ModeState) -> Bool {
        let events = batch.pending(in: mode)
        guard let index = events.firstIndex(where: { mode.descriptors.receiver(of: $0)?.source === source }),
            let (_, ready) = mode.descriptors.receiver(of: events[index])
        else { return false }
        batch.consume(source.conditions, at: index)
        mode.lastDescriptor = source.descriptor
        lock.unlock()
        callOutToDescriptorSource(source, ready, of: self)
        lock.lock()
        return true
    }
}
