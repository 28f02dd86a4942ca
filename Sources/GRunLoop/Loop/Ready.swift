// SPDX-License-Identifier: Apache-2.0
// Finds the kinds of work that are ready in a mode. The wait, the deadline of a sleep, a host's `prepare` and `check`,
// the scheduler and virtual time use the functions of this file. The steps of a pass do not need these functions,
// because each step only checks whether its own list is empty. Host/ContextStep.swift polls the contexts, because GLib
// may call code of the program during a poll.

import CGRun

extension GRunLoop {
    /// Returns those of `kinds` that are ready in the mode, as far as the loop knows without asking the kernel.
    ///
    /// Only the kernel knows whether the main queue, a context or a further descriptor is ready: see
    /// ``lookLocked(_:_:polled:now:)`` and ``readyForTurnsLocked(_:)``.
    ///
    /// - Parameters:
    ///   - kinds: a literal, so that the compiler leaves out the checks for the other kinds.
    ///   - now: the current time, if the caller knows it. If nil, the function reads the clock, but only if the mode
    ///     has timers.
    @inline(__always) func readyLocked(
        _ kinds: ItemKinds = [.wakeUp, .timer, .descriptor, .port], in mode: ModeState, at now: Nanoseconds? = nil
    ) -> ItemKinds {
        var ready: ItemKinds = []
        if kinds.contains(.wakeUp), pendingPasses.contains(.wakeUp) { ready.insert(.wakeUp) }
        if kinds.contains(.port), mode.ports.hasReadyItems { ready.insert(.port) }
        // An event whose source has left the mode counts as ready until the batch drops the event.
        if kinds.contains(.descriptor), !batch.isEmpty(in: mode) { ready.insert(.descriptor) }
        if kinds.contains(.source), !mode.signalled.isEmpty { ready.insert(.source) }
        if kinds.contains(.block), hasVisibleBlocksLocked(mode) { ready.insert(.block) }
        if kinds.contains(.timer), mode.heap.earliest <= now ?? timeForTimersLocked(mode) { ready.insert(.timer) }
        return ready
    }

    /// Returns the current time, for a comparison with the dates of the mode's timers. If the mode has no timers,
    /// returns `.min` and reads no clock.
    func timeForTimersLocked(_ mode: ModeState) -> Nanoseconds {
        mode.heap.earliest == .never ? .min : time
    }

    /// Returns the kinds that stage 10 can serve now. Asks the kernel, but not about contexts.
    ///
    /// - Parameters:
    ///   - polled: the results of the host's last poll. If nil, this function asks the kernel.
    ///   - now: the current time. It may be `.min` if the mode has no timers.
    func lookLocked(
        _ run: Run, _ mode: ModeState, polled: HostState.Polled? = nil, now: Nanoseconds
    ) -> ItemKinds {
        if itemChooser != nil, mode.descriptors.watched >= 0 {
            // A test that chooses the item must see all ready items.
            fetchLocked(mode)
        } else if polled?.descriptors ?? !run.scheduler.hasAsked {
            refillBatchLocked(mode)
        }
        var ready = readyLocked(in: mode, at: now)
        if servesMainQueueLocked(mode), polled?.mainQueue ?? MainQueue.isReady { ready.insert(.mainQueue) }
        return ready
    }

    /// Returns the kinds that are ready now, except a wake-up. Does not wait, and takes no item.
    ///
    /// If a host drives, this function polls all contexts of the mode except the home context, because the host polls
    /// that context itself. Releases the lock during the poll.
    func readyForTurnsLocked(_ frame: Frame) -> ItemKinds {
        let mode = frame.mode
        var ready = readyLocked([.block, .source, .timer, .port], in: mode)
        if servesMainQueueLocked(mode), MainQueue.isReady { ready.insert(.mainQueue) }
        let found = pollLocked(frame, own: OwnDescriptors(descriptors: mode.descriptors.watched))
        if !found.readyContexts.isEmpty { ready.insert(.context) }
        if found.descriptors { ready.insert(.descriptor) }
        return ready
    }

    /// Returns the ready kinds, from which the scheduler chooses the kinds that get a turn. The result is only a hint,
    /// because readiness may change the next moment. Tests add and remove random kinds.
    func kindsForTurnsLocked(_ frame: Frame) -> ItemKinds {
        var ready = readyForTurnsLocked(frame)
        if perturbs(CGRUN_SITE_TURN) { ready.subtract(.some(perturbed(below: ItemKinds.numberLimit))) }
        if perturbs(CGRUN_SITE_STALE_TURN) { ready.formUnion(.some(perturbed(below: ItemKinds.numberLimit))) }
        return ready
    }

    /// Returns whether a source is signalled or a block waits. A pass serves sources and blocks, but neither ends a
    /// wait.
    func hasLeftoversLocked(_ mode: ModeState) -> Bool {
        !readyLocked([.source, .block], in: mode).isEmpty
    }

    private func hasVisibleBlocksLocked(_ mode: ModeState) -> Bool {
        mode.blocks.first(from: hiddenBlocks) != nil
            || (mode.isCommon && commonBlocks.first(from: hiddenBlocks) != nil)
    }
}
