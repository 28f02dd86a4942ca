// SPDX-License-Identifier: Apache-2.0
// The notices: reports of calls that give Foundation's run loop work. A notice marks the work as pending in the modes.

import CGRunFoundation
import GRunLoop

extension Guest {
    /// Records that a function of Core Foundation was called. `modes` has the modes of the call, or is nil. Threads:
    /// any.
    func noticed(_ kind: cgrun_notice_kind, _ modes: UnsafeRawPointer?) {
        if let modes, !cgrun_guest_is_default_mode(modes) { meet(namedIn: modes) }
        switch kind {
        case CGRUN_NOTICE_WAKE_UP: owe(quietly: false)
        case CGRUN_NOTICE_COMMON_MODE: if let modes { names(in: modes).forEach(becameCommonThere) }
        case CGRUN_NOTICE_BLOCK: oweQuietly()
        case CGRUN_NOTICE_OBSERVER:
            // The observer may belong to a notification queue.
            self.modes.withLock { $0?.values.forEach { $0.oweObservers() } }
            oweQuietly()
        // Signalling a source wakes no loop. But if a callback of Core Foundation signals a source, its run makes
        // another pass.
        case CGRUN_NOTICE_SIGNAL: oweQuietly()
        case CGRUN_NOTICE_SOURCE: if loop.isCurrent { oweQuietly() }
        case CGRUN_NOTICE_LAST_OBSERVER: owesOrder.store(true, ordering: .relaxed)
        default: break
        }
    }

    private func becameCommonThere(_ name: GRunLoop.Mode) {
        do { try loop.addCommonMode(name) } catch { meet(name)?.lacksCommon.store(true, ordering: .relaxed) }
    }

    /// Serves the modes that a call names. The call may have created them. If a mode is not watched yet, marks work as
    /// pending, because the pass for that work searches the mode's epoll.
    private func meet(namedIn modes: UnsafeRawPointer) {
        var isNew =
            cgrun_guest_is_common_modes(modes)
            && self.modes.withLock { $0?.values.contains { !$0.isWatched } } == true
        for name in names(in: modes) { isNew = meet(name)?.isWatched == false || isNew }
        if isNew { owe(quietly: false) }
    }

    /// Marks work for which Core Foundation does not wake its loop.
    ///
    /// If the loop's own thread gives a run of Core Foundation such work before the run sleeps, the run handles it
    /// itself. But if a callout of that run runs our loop first, our loop handles it.
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

    /// Marks work as pending that a run of Core Foundation may have left at its end.
    func oweAfterRun() {
        guard owesAfterRun else { return }
        owesAfterRun = false
        owe(quietly: activities.last?.isInsideRun == true)
    }

    /// Signals each mode that still has pending work, so that our loop serves it without a new notice. Wakes our loop
    /// only for the mode that it runs next. Threads: the loop's own.
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

    /// Replaces CFRunLoopStop. The program does not know of our passes. So a stop during a pass is meant for the run
    /// around the pass, and is repeated after the pass. Threads: any.
    func stop() {
        stops.withLock {
            cgrun_guest_stop(address)
            if $0.isInPass { $0.isOwed = true }
        }
    }

    /// Whether our loop sleeps in Core Foundation's place: then CFRunLoopIsWaiting must return true. Threads: any.
    var isWaiting: Bool { isServed && atomicWaiting.load(ordering: .relaxed) }

    /// Whether the innermost run or pass is a run of Core Foundation that is not ours. Threads: the loop's own.
    var isInCoreFoundationRun: Bool {
        if let last = activities.last { return last.run != nil }
        guard let name = cgrun_guest_copy_current_mode(address) else { return false }
        cgrun_guest_release(name)
        return true
    }
}
