// SPDX-License-Identifier: Apache-2.0
// The kinds of work that are ready in a mode. The wait, the deadline of a sleep, a
// host's `prepare` and `check`, the scheduler and virtual time all ask these functions. A step by itself only checks
// whether its own list is empty. Contexts are asked in Host/ContextStep.swift, because GLib may call the program for
// that.

import CGRun

extension GRunLoop {
    /// Returns which of `kinds` are ready in the mode, as far as this process's memory tells. With the lock held.
    ///
    /// Only the kernel knows whether the main queue, a context or a further descriptor is ready: see
    /// ``lookLocked(_:_:polled:now:)`` and ``readyForTurnsLocked(_:)``.
    ///
    /// - Parameters:
    ///   - kinds: a literal, so that the compiler leaves out the checks for the other kinds.
    ///   - now: the current time, if the caller knows it. If nil, the function reads the clock if the mode has timers.
    @inline(__always) func readyLocked(
        _ kinds: ItemKinds = [.wakeUp, .timer, .descriptor, .port], in mode: ModeState, at now: Nanoseconds? = nil
    ) -> ItemKinds {
        var ready: ItemKinds = []
        if kinds.contains(.wakeUp), pendingPasses.contains(.wakeUp) { ready.insert(.wakeUp) }
        if kinds.contains(.port), mode.ports.hasReadyItems { ready.insert(.port) }
        // An event whose source has left the mode counts as ready until the loop looks at the event.
        if kinds.contains(.descriptor), !batch.isEmpty(in: mode) { ready.insert(.descriptor) }
        if kinds.contains(.source), !mode.signalled.isEmpty { ready.insert(.source) }
        if kinds.contains(.block), hasVisibleBlocksLocked(mode) { ready.insert(.block) }
        if kinds.contains(.timer), mode.heap.earliest <= now ?? timeForTimersLocked(mode) { ready.insert(.timer) }
        return ready
    }

    /// Returns the current time, to compare with the dates of the mode's timers. If the mode has no timers, returns
    /// `.min` and reads no clock.
    func timeForTimersLocked(_ mode: ModeState) -> Nanoseconds {
        mode.heap.earliest == .never ? .min : time
    }

    /// Returns the kinds that stage 10 can serve now. Asks the kernel, but not about contexts. With the lock held.
    ///
    /// - Parameters:
    ///   - polled: what the host's poll has just found. If nil, this function asks the kernel.
    ///   - now: the current time, if the mode has timers.
    func lookLocked(
        _ run: Run, _ mode: ModeState, polled: HostState.Polled? = nil, now: Nanoseconds
    ) -> ItemKinds {
        if itemChooser != nil, mode.descriptors.watched >= 0 {
            // A test's chooser is shown everything that is ready now.
            fetchLocked(mode)
        } else if polled?.descriptors ?? !run.scheduler.hasAsked {
            refillBatchLocked(mode)
        }
        var ready = readyLocked(in: mode, at: now)
        if servesMainQueueLocked(mode), polled?.mainQueue ?? MainQueue.isReady { ready.insert(.mainQueue) }
        return ready
    }

    /// Returns the kinds that are ready now, except a wake-up. It does not wait, and takes no item.
    ///
    /// Where a host drives, it looks at the other contexts only: the host itself looks at the home context. The lock is
    /// held before and after, but not meanwhile.
    func readyForTurnsLocked(_ frame: Frame) -> ItemKinds {
        let mode = frame.mode
        var ready = readyLocked([.block, .source, .timer, .port], in: mode)
        if servesMainQueueLocked(mode), MainQueue.isReady { ready.insert(.mainQueue) }
        let found = pollLocked(frame, own: OwnDescriptors(descriptors: mode.descriptors.watched))
        if !found.readyContexts.isEmpty { ready.insert(.context) }
        if found.descriptors { ready.insert(.descriptor) }
        return ready
    }

    /// Returns the kinds that are ready, to decide which kinds get a turn. It is a hint: a kind may become ready, or
    /// stop being ready, the next moment. Tests perturb it.
    func kindsForTurnsLocked(_ frame: Frame) -> ItemKinds {
        var ready = readyForTurnsLocked(frame)
        if perturbs(CGRUN_SITE_TURN) { ready.subtract(.some(perturbed(below: ItemKinds.numberLimit))) }
        if perturbs(CGRUN_SITE_STALE_TURN) { ready.formUnion(.some(perturbed(below: ItemKinds.numberLimit))) }
        return ready
    }

    /// Whether sources are signalled or blocks wait. A pass serves them, but they do not end a wait. With the lock
    /// held.
    func hasLeftoversLocked(_ mode: ModeState) -> Bool {
        !readyLocked([.source, .block], in: mode).isEmpty
    }

    private func hasVisibleBlocksLocked(_ mode: ModeState) -> Bool {
        mode.blocks.first(from: hiddenBlocks) != nil
            || (mode.isCommon && commonBlocks.first(from: hiddenBlocks) != nil)
    }
}
