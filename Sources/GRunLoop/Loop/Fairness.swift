// SPDX-License-Identifier: Apache-2.0
// Whose turn it is once a slice of time is used up: what is ready now, and what waits.

import CGRun

extension GRunLoop {
    /// With the lock held, after each item of a step: whether the rest of the step waits, because the slice is used up
    /// and other kinds have their turn. Where we drive this is so only if other kinds are ready: otherwise the order of
    /// a pass depends on no clock.
    ///
    /// - Parameter kind: what the step serves. Of the other kinds those that are ready now come before it, each once:
    ///   `Turns.remaining`.
    @inline(__always) func isCutLocked(_ frame: Frame, after kind: ItemKind) -> Bool {
        frame.run.turns.slice.isSpent(sliceLength, after: kind) && cutLocked(frame, after: kind)
    }

    @inline(never) func cutLocked(_ frame: Frame, after kind: ItemKind) -> Bool {
        if frame.run.isHosted {
            yieldToHostLocked(frame, after: kind)
            return true
        }
        let run = frame.run
        // The kinds that are owed a turn share one slice. Once that is used up, each gets one item.
        guard !run.turns.areOwed else { return true }
        // Virtual time must not depend on a real clock.
        run.turns.giveTurns(to: virtualTime == nil ? kindsForTurnsLocked(frame).subtracting(.init(kind)) : [])
        guard run.turns.areOwed else { return false }
        cuts += 1
        return true
    }

    /// The dispatch ends, in whatever stage. The next one begins with the kinds that are owed a turn then.
    private func yieldToHostLocked(_ frame: Frame, after kind: ItemKind) {
        let run = frame.run
        guard !run.turns.isHostsTurn else { return }
        cuts += 1
        var next = run.turns.remaining.subtracting(.init(kind))
        if next.isEmpty {
            let ready = kindsForTurnsLocked(frame)
            let others = ready.subtracting(.init(kind))
            // If no other kind is ready, the next dispatch goes on with the same kind at once.
            next = others.isEmpty ? ready.intersection(.found) : others
        }
        run.turns.yieldToHost(then: next)
    }

    /// The same without the lock, in a callout that runs several items: jobs, performs.
    func isSliceSpent() -> Bool {
        lock.withLock { frame.map { isCutLocked($0, after: .source) } ?? false }
    }

    /// The kinds that are ready, to decide whose turn it is. A hint: any of them may come or go the next moment.
    private func kindsForTurnsLocked(_ frame: Frame) -> ItemKinds {
        var ready = readyForTurnsLocked(frame)
        if perturbs(CGRUN_SITE_TURN) { ready.subtract(.some(perturbed(below: 256))) }
        if perturbs(CGRUN_SITE_STALE_TURN) { ready.formUnion(.some(perturbed(below: 256))) }
        return ready
    }

    /// With the lock held: these kinds have had their turn. When all that were owed one have, a new slice begins.
    @inline(__always) func endTurnLocked(_ frame: Frame, of kinds: ItemKinds) {
        if frame.run.turns.areOwed { endOwedTurnLocked(frame, of: kinds) }
    }

    /// If these turns used up a slice themselves, the other kinds have their turn again.
    @inline(never) private func endOwedTurnLocked(_ frame: Frame, of kinds: ItemKinds) {
        let run = frame.run
        // What is owed then is for the next dispatch.
        guard !run.turns.isHostsTurn else { return }
        run.turns.endTurn(of: kinds)
        guard !run.turns.areOwed, !run.isHosted else { return }
        run.turns.giveTurns(to: run.turns.slice.isOver ? kindsForTurnsLocked(frame).subtracting(kinds) : [])
    }

    /// The same for what a wait has found. A kind that it has not found is not ready any more, and its turn is over.
    func endTurnsLocked(_ frame: Frame, of found: Found) {
        let kind = found.item?.kind ?? .wakeUp
        endOwedTurnLocked(frame, of: kind == .wakeUp ? .found : [ItemKinds(kind), .context])
    }
}
