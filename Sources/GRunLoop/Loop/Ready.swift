// SPDX-License-Identifier: Apache-2.0
// What is ready in a mode. The wait, the deadline of a sleep, a host's `prepare` and `check`, the scheduler and virtual
// time all ask these functions, and no other code knows when a kind of item is ready.

import CGRun

extension GRunLoop {
    /// With the lock held: which of `kinds` are ready in the mode, as far as this process's memory tells.
    ///
    /// Only the kernel knows whether the main queue, a context or a further descriptor is ready: see
    /// ``lookLocked(_:_:polled:now:)`` and ``readyForTurnsLocked(_:)``.
    ///
    /// - Parameters:
    ///   - kinds: a literal, so that the compiler leaves out the rest.
    ///   - now: the current time, if the caller knows it. Nil: the clock is read if the mode has timers.
    @inline(__always) func readyLocked(
        _ kinds: ItemKinds = [.wakeUp, .timer, .descriptor, .port], in mode: ModeState, at now: Nanoseconds? = nil
    ) -> ItemKinds {
        var ready: ItemKinds = []
        if kinds.contains(.wakeUp), owed.contains(.wakeUp) { ready.insert(.wakeUp) }
        if kinds.contains(.port), mode.ports.haveWork { ready.insert(.port) }
        // An event whose source has left counts until somebody looks at it.
        if kinds.contains(.descriptor), !batch.isEmpty(in: mode) { ready.insert(.descriptor) }
        if kinds.contains(.source), !mode.signalled.isEmpty { ready.insert(.source) }
        if kinds.contains(.block), hasVisibleBlocksLocked(mode) { ready.insert(.block) }
        if kinds.contains(.timer), mode.heap.earliest <= now ?? timeForTimersLocked(mode) { ready.insert(.timer) }
        return ready
    }

    /// The current time, for the mode's timers. Without timers it is `.min`, and the clock is not read.
    func timeForTimersLocked(_ mode: ModeState) -> Nanoseconds {
        mode.heap.earliest == .never ? .min : time
    }

    /// With the lock held: the kinds that stage 10 can serve now. Asks the kernel, but not for the contexts.
    ///
    /// - Parameters:
    ///   - polled: what the host's poll has just found. Nil: this function asks the kernel.
    ///   - now: the current time, if the mode has timers.
    func lookLocked(
        _ run: Run, _ mode: ModeState, polled: HostState.Polled? = nil, now: Nanoseconds
    ) -> ItemKinds {
        if itemChooser != nil, mode.descriptors.watched >= 0 {
            // A chooser is shown everything that is ready at this moment.
            fetchLocked(mode)
        } else if polled?.descriptors ?? !run.scheduler.hasAsked {
            refillBatchLocked(mode)
        }
        var ready = readyLocked(in: mode, at: now)
        if servesMainQueueLocked(mode), polled?.mainQueue ?? MainQueue.isReady { ready.insert(.mainQueue) }
        return ready
    }

    /// With the lock held, which it releases meanwhile: the kinds that are ready now, except a wake-up. Does not wait,
    /// and takes nothing. Under a host, which looks at the home context itself, it looks at the other contexts only.
    func readyForTurnsLocked(_ frame: Frame) -> ItemKinds {
        let mode = frame.mode
        var ready = readyLocked([.block, .source, .timer, .port], in: mode)
        if servesMainQueueLocked(mode), MainQueue.isReady { ready.insert(.mainQueue) }
        let found = pollLocked(frame, own: OwnDescriptors(descriptors: mode.descriptors.watched))
        if !found.readyContexts.isEmpty { ready.insert(.context) }
        if found.descriptors { ready.insert(.descriptor) }
        return ready
    }

    /// The kinds that are ready, to decide whose turn it is. A hint: any of them may come or go the next moment.
    func kindsForTurnsLocked(_ frame: Frame) -> ItemKinds {
        var ready = readyForTurnsLocked(frame)
        if perturbs(CGRUN_SITE_TURN) { ready.subtract(.some(perturbed(below: 256))) }
        if perturbs(CGRUN_SITE_STALE_TURN) { ready.formUnion(.some(perturbed(below: 256))) }
        return ready
    }

    /// With the lock held: whether sources are signalled or blocks wait. A pass serves them. They do not end a wait.
    func hasLeftoversLocked(_ mode: ModeState) -> Bool {
        !readyLocked([.source, .block], in: mode).isEmpty
    }

    private func hasVisibleBlocksLocked(_ mode: ModeState) -> Bool {
        mode.blocks.first(from: hiddenBlocks) != nil
            || (mode.isCommon && commonBlocks.first(from: hiddenBlocks) != nil)
    }
}
