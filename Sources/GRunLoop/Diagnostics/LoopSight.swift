// SPDX-License-Identifier: Apache-2.0
// The state of a loop as other threads and the probe see it, and the functions with which they change this state.

import CGRun

/// The activity of a loop at one moment.
package enum LoopSight: Equatable {
    /// The loop sleeps, or neither a run nor a host drives it.
    case waits
    /// A callout is under way or about to begin. If two readings are equal, the callout has not returned between them.
    /// A new callout would change `count`, a sleep would change `sleep`, and the end of a nested run would change
    /// `frame`.
    case isBusy(count: UInt32, sleep: Nanoseconds, frame: UInt)
    /// The loop's thread has ended.
    case hasEnded

    /// The value of `frame` while another thread holds the loop's lock, so that only the count is known. No frame has
    /// this address.
    package static let unknownFrame = UInt.max
}

/// The innermost run and its callout. Reading this state allocates no memory, because the loop's thread may hold the
/// allocator's lock.
package struct RunSight {
    package let callout: CalloutMark
    package let mode: GRunLoop.Mode
    package let isHosted: Bool
    /// How many GLib dispatches were on the stack when the run began.
    package let depth: Int
}

/// The details of a callout, read with the loop's lock held. Reading them allocates no memory, because the loop's
/// thread may hold the allocator's lock. If the reading thread waited for the allocator, every thread that needs the
/// loop's lock would also wait. In a debug build, iterating over a collection allocates memory. So only timers and idle
/// queues are found, which need no iteration.
package struct CalloutDetails {
    package var label: Labels.Label?
    /// True if the label could not be read, because another thread held the lock of the labels.
    package var isLabelUnknown = false
    /// The detail of the called item. Nil if the callout has no item, or if the mode no longer contains the item.
    package var item: ItemDetail?
    /// How many runs are on the stack.
    package var depth = 0

    package init(depth: Int = 0) { self.depth = depth }
}

// MARK: With the lock held, on any thread

extension GRunLoop {
    /// Returns the activity of the loop at this moment.
    ///
    /// - Parameters:
    ///   - count: how many callouts and runs have begun.
    ///   - isHostPolling: whether a host polls; nil if the host's polls are not recorded.
    package func sightLocked(count: UInt32, isHostPolling: Bool?) -> LoopSight {
        if isDead { return .hasEnded }
        let frame = innermost.map { UInt(bitPattern: $0.toOpaque()) } ?? 0
        if sleep.isUnderWay {
            // Under a host, the sleep begins in the hub's prepare function. GLib may then dispatch another source
            // without checking the hub, so the loop is busy although the sleep has not ended.
            guard isHostInControl, isHostPolling == false else { return .waits }
            return .isBusy(count: count, sleep: 0, frame: frame)
        }
        if frame == 0, isHostPolling != false { return .waits }
        return .isBusy(count: count, sleep: frame == 0 ? 0 : sleep.serialOfLast(), frame: frame)
    }

    /// The innermost run; nil if no run is on the stack.
    package var runSightLocked: RunSight? {
        guard let frame else { return nil }
        return RunSight(
            callout: CalloutMark(bits: frame.callout.load(ordering: .relaxed)), mode: frame.mode.name,
            isHosted: frame.run.isHosted, depth: frame.depth)
    }

    /// Whether the loop sleeps in a common mode, so that a block of the main queue would wake it up.
    package var awaitsMainQueueLocked: Bool { sleep.isUnderWay && servedMode.isCommon && !MainQueue.isDraining }

    /// The details of the callout that the loop is in. Read this property while the loop is busy.
    package var calloutDetailsLocked: CalloutDetails {
        guard let frame else { return CalloutDetails() }
        var details = CalloutDetails(depth: runCountLocked)
        let mark = CalloutMark(bits: frame.callout.load(ordering: .relaxed))
        guard let item = itemLocked(mark, in: frame) else { return details }
        switch Labels.withoutAllocation(of: item) {
        case .label(let label): details.label = label
        case .none: break
        case .unknown: details.isLabelUnknown = true
        }
        details.item =
            switch mark.kind {
            case .idleWork: .words("an idle queue")
            case .port: .words("a port")
            default: ItemDetail.locked(of: item)
            }
        return details
    }

    /// Searches the mode for the item of a callout. The mark's address must not be dereferenced, because the item may
    /// have been released already. The caller drops the item before it unlocks, so that this thread never releases the
    /// last reference.
    private func itemLocked(_ mark: CalloutMark, in frame: Frame) -> AnyObject? {
        let mode = frame.mode
        func isIt(_ item: AnyObject) -> Bool { CalloutMark.address(of: item) == mark.item }
        // Compares the addresses, because the frame may already hold the next item while a closure of the marked item
        // is being released. This function is not generic, because the first call of a generic function in a debug
        // build allocates memory for metadata.
        func marked(_ item: AnyObject?) -> AnyObject? {
            if let item, isIt(item) { item } else { nil }
        }
        return switch mark.kind {
        case nil, .wakeUp, .block, .mainQueue, .context: nil
        case .idleWork: marked(frame.called.idleQueue?.takeUnretainedValue())
        case .source: mode.sources.values.first { isIt($0.source) }?.source
        case .timer: marked(frame.called.timer?.takeUnretainedValue())
        case .descriptor: mode.descriptors.first(where: isIt)
        case .port: mode.ports.first(where: isIt)
        case .observer: mode.observers.first(where: isIt)
        }
    }

    /// The context in which a host drives the loop; nil if there is none.
    package var homeContextLocked: OpaquePointer? { home?.context }

    /// Clears the recorded callouts, which may be outdated: no callout is recorded while no thread watches the loop.
    package func forgetCalloutsLocked() {
        for frame in framesLocked { frame.callout.store(0, ordering: .relaxed) }
    }

    /// Returns a kick that ends the current sleep, so that the loop begins a new sleep. Returns nil if the loop does
    /// not sleep. Send the kick without the lock.
    package func interruptSleepLocked() -> Kick? { sleep.kick(self) }
}

// MARK: On the loop's thread

extension GRunLoop {
    /// Updates the state that watching threads read, when a run begins. Call this function with the lock held.
    ///
    /// The frame may have been used by an earlier run, so its last callout is cleared. If no host drives the new run,
    /// this function also ends the host's sleep, because GLib may not have called the hub's check function.
    package func noteRunBeginsLocked() {
        guard let frame else { return }
        frame.callout.store(0, ordering: .relaxed)
        if !frame.run.isHosted { sleep.end() }
    }

    /// The mode of the innermost run. If there is no run, the mode in which a host would serve the loop.
    package var servedMode: ModeState { frame?.mode ?? host.ambientMode }
    /// The address of the innermost run's mode; nil if there is no run.
    package var currentModeAddress: UnsafeRawPointer? {
        innermost?._withUnsafeGuaranteedRef { UnsafeRawPointer($0.modeReference.toOpaque()) }
    }

    /// Returns the thread that ended the present or most recent sleep, and the time of its kick. Returns nil if the
    /// thread is unknown, or if an earlier call returned it. Call this function with the lock held.
    package func takeWakerLocked() -> (thread: Int32, time: Nanoseconds)? {
        sleep.takeKicker().map { ($0.thread, $0.time) }
    }
    package var isAsleepLocked: Bool { sleep.isUnderWay }

    /// Returns the deadline of a callout on the real clock; nil if the callout has none. `due` is the deadline of a
    /// delayed perform. In virtual time, the result is nil unless the callout is late.
    package func calloutDeadline(of mark: CalloutMark, due: Nanoseconds?) -> Nanoseconds? {
        guard let deadline = due ?? timerDeadline(mark) else { return nil }
        guard let virtualTime else { return deadline }
        let late = virtualTime.now.subtractingSaturating(deadline)
        return late > 0 ? Nanoseconds.now().subtractingSaturating(late) : nil
    }

    private func timerDeadline(_ mark: CalloutMark) -> Nanoseconds? {
        guard mark.kind == .timer, let object = mark.object else { return nil }
        let timer = unsafeDowncast(object, to: Timer.self)
        return timer.guardian.withLock { timer.dates.deadline }
    }
}
