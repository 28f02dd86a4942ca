// SPDX-License-Identifier: Apache-2.0
// Finds the ready GLib contexts before stage 7 and in stage 8, and dispatches them before stage 10.

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

    /// Called after the contexts had their turn. Dispatches the ready contexts again, up to two times. One dispatch
    /// serves only one priority of a context, so these two rounds serve lower priorities. No round begins after `end`,
    /// because each dispatch may draw a frame for 25 ms and delay the loop's timers.
    private func yieldLocked(_ frame: Frame, until end: Nanoseconds) {
        for _ in 0..<2 {
            guard .now() < end else { return }
            let ready = readyContextsLocked(frame)
            guard !ready.isEmpty else { return }
            for served in ready { dispatchLocked(served, frame) }
        }
    }

    /// Returns the ready contexts of the run, without waiting. Releases the lock during the poll.
    func readyContextsLocked(_ frame: Frame) -> [ServedContext] {
        let hasContexts = frame.run.isHosted ? !host.poll.carried.isEmpty : !frame.contexts.list.isEmpty
        return hasContexts ? pollLocked(frame, own: OwnDescriptors()).readyContexts : []
    }

    /// Polls the run's contexts and the `own` descriptors without waiting. Releases the lock during the poll.
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
