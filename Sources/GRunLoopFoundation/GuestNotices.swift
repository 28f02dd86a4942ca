// SPDX-License-Identifier: Apache-2.0
// What is noticed of the calls that give Foundation's run loop something to do, and to whom it is owed.

import CGRunFoundation
import GRunLoop

extension Guest {
    /// Any thread: Core Foundation was told something, in these modes if that matters.
    func noticed(_ kind: cgrun_notice_kind, _ modes: UnsafeRawPointer?) {
        if let modes, !cgrun_guest_is_default_mode(modes) { meet(namedIn: modes) }
        switch kind {
        case CGRUN_NOTICE_WAKE_UP: owe(quietly: false)
        case CGRUN_NOTICE_COMMON_MODE: if let modes { names(in: modes).forEach(becameCommonThere) }
        case CGRUN_NOTICE_BLOCK: oweQuietly()
        case CGRUN_NOTICE_OBSERVER:
            // It is perhaps a notification queue's.
            self.modes.withLock { $0?.values.forEach { $0.oweObservers() } }
            oweQuietly()
        // By itself it wakes nothing; but after a callback of Core Foundation's another pass would come.
        case CGRUN_NOTICE_SIGNAL: oweQuietly()
        case CGRUN_NOTICE_SOURCE: if loop.isCurrent { oweQuietly() }
        case CGRUN_NOTICE_LAST_OBSERVER: owesOrder.store(true, ordering: .relaxed)
        default: break
        }
    }

    private func becameCommonThere(_ name: GRunLoop.Mode) {
        do { try loop.addCommonMode(name) } catch { meet(name)?.lacksCommon.store(true, ordering: .relaxed) }
    }

    /// Core Foundation may have made a mode of these just now: what it waits for is looked for then.
    private func meet(namedIn modes: UnsafeRawPointer) {
        var isNew =
            cgrun_guest_is_common_modes(modes)
            && self.modes.withLock { $0?.values.contains { !$0.isWatched } } == true
        for name in names(in: modes) { isNew = meet(name)?.isWatched == false || isNew }
        if isNew { owe(quietly: false) }
    }

    /// What a run of Core Foundation's is not woken for is its own affair, if its own thread has told it so before it
    /// sleeps; unless a loop inside a callout of that run comes to it first.
    private func oweQuietly() {
        guard loop.isCurrent else { return owe(quietly: true) }
        guard isRunThere else { return owe(quietly: activities.last?.isInsideRun == true) }
        owesAfterRun = true
        owe(quietly: false)
    }

    func owe(quietly: Bool) {
        let isNews = modes.withLock { modes in
            modes?.values.reduce(false) { $1.owe(quietly: quietly) || $0 } ?? false
        }
        if isNews { loop.wakeUp() }
    }

    /// A run of Core Foundation's is over: what it has left is ours.
    func oweAfterRun() {
        guard owesAfterRun else { return }
        owesAfterRun = false
        owe(quietly: activities.last?.isInsideRun == true)
    }

    /// The loop's thread: what is owed still is to be done without a new notice. In a mode that nobody is about to run
    /// it waits.
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

    /// Any thread, in the place of CFRunLoopStop: of a pass of ours nobody knows, so that what is meant is the run
    /// further out.
    func stop() {
        stops.withLock {
            cgrun_guest_stop(address)
            if $0.isInPass { $0.isOwed = true }
        }
    }

    /// Any thread: whether Core Foundation would say so, were it not our loop that sleeps.
    var isWaiting: Bool { isServed && atomicWaiting.load(ordering: .relaxed) }

    /// The loop's thread: whether Core Foundation runs its loop, not for us.
    var isRunThere: Bool {
        if let last = activities.last { return last.run != nil }
        guard let name = cgrun_guest_copy_current_mode(address) else { return false }
        cgrun_guest_release(name)
        return true
    }
}
