// SPDX-License-Identifier: Apache-2.0
// Handles notices. Each notice reports a call that gives Foundation's run loop work, and marks work as pending in the
// modes.

import CGRunFoundation
import GRunLoop

extension Guest {
    /// Records that a function of Core Foundation was called. `modes` is the mode or the modes that the call names, or
    /// nil. Threads: any.
    func noticed(_ kind: cgrun_notice_kind, _ modes: UnsafeRawPointer?) {
        if let modes, !cgrun_guest_is_default_mode(modes) { meet(namedIn: modes) }
        switch kind {
        case CGRUN_NOTICE_WAKE_UP: owe(quietly: false)
        case CGRUN_NOTICE_COMMON_MODE: if let modes { names(in: modes).forEach(becameCommonThere) }
        case CGRUN_NOTICE_BLOCK: oweQuietly()
        case CGRUN_NOTICE_OBSERVER:
            // Any observer may belong to a notification queue, and the notifications of this queue must be posted soon.
            self.modes.withLock { $0?.values.forEach { $0.oweObservers() } }
            oweQuietly()
        // Signalling a source does not wake a loop. But if a callback in a run of Core Foundation signals a source,
        // that run makes another pass.
        case CGRUN_NOTICE_SIGNAL: oweQuietly()
        case CGRUN_NOTICE_SOURCE: if loop.isCurrent { oweQuietly() }
        case CGRUN_NOTICE_LAST_OBSERVER: owesOrder.store(true, ordering: .relaxed)
        default: break
        }
    }

    private func becameCommonThere(_ name: GRunLoop.Mode) {
        do { try loop.addCommonMode(name) } catch { meet(name)?.lacksCommon.store(true, ordering: .relaxed) }
    }

    /// Begins to serve the modes that a call names, because the call may have created them. If one of these modes is
    /// not watched yet, marks work as pending: the pass for this work searches the mode's epoll.
    private func meet(namedIn modes: UnsafeRawPointer) {
        var isNew =
            cgrun_guest_is_common_modes(modes)
            && self.modes.withLock { $0?.values.contains { !$0.isWatched } } == true
        for name in names(in: modes) { isNew = meet(name)?.isWatched == false || isNew }
        if isNew { owe(quietly: false) }
    }

    /// Marks quiet work as pending: work for which Core Foundation does not wake its loop.
    ///
    /// If the loop's own thread adds such work during a run of Core Foundation, this run does the work before it
    /// sleeps. But if a callout of this run runs our loop first, our loop does the work.
    private func oweQuietly() {
        guard loop.isCurrent else { return owe(quietly: true) }
        guard isInCoreFoundationRun else { return owe(quietly: activities.last?.isInsideRun == true) }
        owesAfterRun = true
        owe(quietly: false)
    }

    func owe(quietly: Bool) {
        let hasNews = modes.withLock { modes in
            modes?.values.reduce(false) { $1.owe(quietly: quietly) || $0 } ?? false
        }
        if hasNews { loop.wakeUp() }
    }

    /// Marks work as pending, because the run of Core Foundation that has just ended may have left work.
    func oweAfterRun() {
        guard owesAfterRun else { return }
        owesAfterRun = false
        owe(quietly: activities.last?.isInsideRun == true)
    }

    /// Signals each mode that still has pending work, so that our loop serves the mode without a new notice. Wakes our
    /// loop only if one of these modes is the mode that our loop runs now or next. Threads: the loop's own thread.
    func remind() {
        let next = loop.currentMode ?? loop.ambientMode
        let isNext = modes.withLock { modes in
            modes?.values.reduce(false) { isNext, mode in
                guard mode.isOwed else { return isNext }
                mode.source.signal()
                return isNext || mode.mode == next
            } ?? false
        }
        if isNext { loop.wakeUp() }
    }

    /// Replaces CFRunLoopStop. The program does not know about our passes. So the program means a stop during a pass
    /// for the run around the pass, and the stop is repeated after the pass. Threads: any.
    func stop() {
        stops.withLock {
            cgrun_guest_stop(address)
            if $0.isInPass { $0.isOwed = true }
        }
    }

    /// True if our loop sleeps in place of Core Foundation's loop, so that CFRunLoopIsWaiting must return true.
    /// Threads: any.
    var isWaiting: Bool { isServed && atomicWaiting.load(ordering: .relaxed) }

    /// True if the innermost run or pass is a run of Core Foundation that our library did not start. Threads: the
    /// loop's own thread.
    var isInCoreFoundationRun: Bool {
        if let last = activities.last { return last.run != nil }
        guard let name = cgrun_guest_copy_current_mode(address) else { return false }
        cgrun_guest_release(name)
        return true
    }
}
