// SPDX-License-Identifier: Apache-2.0
// Stage 5 of a pass: performs the version-0 sources that are signalled.

import CGRun

extension GRunLoop {
    /// Performs the signalled sources in order, or only the first source if the run returns after a source. Returns
    /// whether any source was performed.
    @inline(__always) func performSourcesLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        tell(.sources)
        guard !mode.signalled.isEmpty else {
            if frame.run.scheduler.hasPendingTurns { endSourcesTurnLocked(frame, mode) }
            return false
        }
        return frame.run.scheduler.mayServe(.source) && performSignalledLocked(frame, mode)
    }

    @inline(never) private func performSignalledLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        frame.run.scheduler.beginItem()
        let handled: Bool
        if let only = mode.signalled.takeOnly() {
            handled = performLocked(only, frame, mode)
            if handled { endItemLocked(frame, of: .source) }
        } else {
            handled = performBatchLocked(frame, mode)
        }
        if frame.run.scheduler.hasPendingTurns { endSourcesTurnLocked(frame, mode, handled) }
        return handled
    }

    /// Ends the turn of the version-0 sources. If no turn is left and no source was handled, runs the blocks that
    /// waited for this turn. Otherwise the loop could sleep while these blocks wait.
    @inline(never) private func endSourcesTurnLocked(_ frame: Frame, _ mode: ModeState, _ handled: Bool = false) {
        endTurnLocked(frame, of: .source)
        if !handled, !frame.run.scheduler.hasPendingTurns { runBlocksLocked(frame, mode) }
    }

    @inline(never) private func performBatchLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        let outer = mode.signalled.beginBatch()
        var handled = false
        // A source that is still to be performed stays in the mode's list, where a nested run finds it. A source that
        // was removed from the mode has left the list, but keeps its signal.
        while let membership = mode.signalled.nextOfBatch() {
            guard performLocked(membership, frame, mode) else { continue }
            handled = true
            if frame.run.returnsAfterSource { break }
            if endItemLocked(frame, of: .source) {
                mode.signalled.cutBatch()
                break
            }
        }
        frame.kept.keep(all: mode.signalled.endBatch(resuming: outer))
        return handled
    }

    /// Performs a source of the mode. Returns false if the source is not signalled any more.
    private func performLocked(_ membership: Unmanaged<SourceMembership>, _ frame: Frame, _ mode: ModeState) -> Bool {
        let memberships = membership._withUnsafeGuaranteedRef {
            mode.signalled.remove($0)
            return $0.source.takeSignal()
        }
        guard let memberships else { return false }
        unlock(toCall: membership, in: frame)
        if !memberships.isEmpty { notePerformed(memberships, frame) }
        membership._withUnsafeGuaranteedRef { callOutToSource($0.source, of: self) }
        lock.lock()
        return true
    }

    /// Removes a source that is about to be performed from the lists of all its modes, in every loop. If the source's
    /// closure signals the source, this counts as a new signal in all these modes.
    private func notePerformed(_ memberships: [SourceMembership], _ frame: Frame) {
        frame.kept.keep(all: memberships)
        for membership in memberships {
            membership.loop.lock.withLock {
                if !membership.source.isSignalled { membership.mode.signalled.removePerformed(membership) }
            }
        }
    }
}

@inline(never) func callOutToSource(_ source: GRunLoop.Source, of loop: GRunLoop) {
    loop.tell(CalloutMark(.source, source), closure: ClosureSymbol.of(source.perform))
    loop.handledSources &+= 1
    source.perform()
    cgrun_keep_frame()
}
