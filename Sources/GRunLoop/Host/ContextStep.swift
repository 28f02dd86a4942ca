// SPDX-License-Identifier: Apache-2.0
// Finds the contexts that are ready, before stage 7 and in stage 8, and dispatches them before stage 10.

import CGRun

extension GRunLoop {
    @inline(never) func dispatchAllLocked(_ ready: [ServedContext], _ frame: Frame) {
        let isOwed = frame.run.scheduler.pendingTurns.contains(.context)
        let end = isOwed ? Nanoseconds.now().addingSaturating(sliceLength) : .min
        frame.run.scheduler.beginItem()
        for served in ready { dispatchLocked(served, frame) }
        if isOwed { yieldLocked(frame, until: end) }
    }

    @inline(never) func dispatchLocked(_ served: ServedContext, _ frame: Frame) {
        frame.kept.keep(served)
        let outerDepth = ownDispatchDepth
        ownDispatchDepth = Contexts.depth + 1
        lock.unlock()
        callOutToContext(served, of: self)
        lock.lock()
        ownDispatchDepth = outerDepth
    }

    /// Dispatches the ready contexts up to two times more, after they had the turn that they were owed. One dispatch
    /// serves only one priority of a context, so the sources of lower priorities have their turn, too. A dispatch may
    /// draw a frame for 25 ms. So no round begins after `end`, or our timers would be late by three frames. Call it
    /// with the lock held.
    private func yieldLocked(_ frame: Frame, until end: Nanoseconds) {
        for _ in 0..<2 {
            guard .now() < end else { return }
            let ready = readyContextsLocked(frame)
            guard !ready.isEmpty else { return }
            for served in ready { dispatchLocked(served, frame) }
        }
    }

    /// The contexts of the run that are ready now. Does not wait. The lock is held before and after.
    func readyContextsLocked(_ frame: Frame) -> [ServedContext] {
        let hasContexts = frame.run.isHosted ? !host.poll.carried.isEmpty : !frame.contexts.list.isEmpty
        return hasContexts ? pollLocked(frame, own: OwnDescriptors()).readyContexts : []
    }

    /// Polls the contexts of the run and the `own` descriptors without waiting. The lock is held before and after, and
    /// released meanwhile.
    func pollLocked(_ frame: Frame, own: OwnDescriptors) -> PollResult {
        let carried = frame.run.isHosted ? host.poll.carried.served : nil
        lock.unlock()
        defer { lock.lock() }
        return if let carried {
            poller.poll(carried, own: own, deadline: .min)
        } else {
            poller.poll(&frame.contexts, own: own, deadline: .min)
        }
    }
}

@inline(never) func callOutToContext(_ served: ServedContext, of loop: GRunLoop) {
    loop.tell(CalloutMark(.context))
    loop.handledSources &+= 1
    Contexts.dispatch(served.context)
    cgrun_keep_frame()
}
