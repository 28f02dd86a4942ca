// SPDX-License-Identifier: Apache-2.0
// Stages 8 and 10 for descriptors: fetches events in batches, and performs the sources of these events. Normally each
// pass performs one source. If the next pass would only perform another source, the loop skips the other stages, and
// performs several sources in a row.

import CGRun
import Glibc

extension GRunLoop {
    /// Stage 10: performs a source, and then more sources in a row, as long as the loop can skip the passes between
    /// them. Returns whether at least one item counts as a handled source.
    func serviceDescriptorLocked(_ source: Unmanaged<DescriptorSource>, _ frame: Frame, _ mode: ModeState) -> Bool {
        frame.run.scheduler.noteServed(.descriptor)
        let handled = performLocked(source, frame, mode)
        return serviceEventsLocked(frame, mode) || handled
    }

    /// Services one event after another, as long as the loop can skip the passes between them. The last item may be
    /// something other than a descriptor. Returns whether at least one item counts as a handled source.
    private func serviceEventsLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        let run = frame.run
        var handled = false
        while canSkipPassLocked(frame, mode) {
            run.scheduler.beginPass()
            if let (source, ready, _) = takeEventLocked(run, mode) {
                callOutLocked(to: source, ready, frame)
                handled = true
                continue
            }
            guard let item = takeFromMemoryLocked(run, mode) else {
                run.scheduler.leavePass()
                break
            }
            guard let source = item.descriptor else {
                run.scheduler.endDescriptors()
                return serviceLocked(item, frame, mode) || handled
            }
            if performLocked(source, frame, mode) { handled = true }
        }
        return handled
    }

    /// Returns whether the loop can skip the pass before the next descriptor. The pass is needed if the run has a time
    /// limit, because a pass reads the clock. The pass is also needed if it would serve the main queue first. A traced
    /// loop never skips a pass.
    @inline(__always) private func canSkipPassLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        let run = frame.run
        return isNextHeadEmptyLocked(frame, mode) && run.deadline == .never && !mode.descriptors.isEmpty
            && run.stage == .tail && (!run.isHosted || isHostBetweenPassesLocked(in: mode))
            && !run.scheduler.usesUpSlice(sliceLength, after: .descriptor) && !mainQueueGoesFirstLocked(run, mode)
    }

    private func performLocked(_ wanted: Unmanaged<DescriptorSource>, _ frame: Frame, _ mode: ModeState) -> Bool {
        guard let (source, ready, _) = batch.take(wanted, in: mode) else { return false }
        callOutLocked(to: source, ready, frame)
        return true
    }

    @inline(__always) private func callOutLocked(
        to source: Unmanaged<DescriptorSource>, _ ready: DescriptorSource.Conditions, _ frame: Frame
    ) {
        unlock(toCall: source, in: frame)
        source._withUnsafeGuaranteedRef { callOutToDescriptorSource($0, ready, of: self) }
        lock.lock()
    }

    // MARK: What is fetched

    /// Takes the next event. If the batch is used up, fetches a new batch first. Returns nil if no descriptor is ready,
    /// or if a wake-up or a timer is ready. Also returns nil if the loop must first ask the kernel about every kind of
    /// item.
    @inline(__always) func takeEventLocked(_ run: Run, _ mode: ModeState) -> DescriptorSet.Receiver? {
        guard readyLocked([.wakeUp, .timer], in: mode).isEmpty, servesFromMemoryLocked(run) else { return nil }
        let hasFetched = fetchIfUsedUpLocked(mode)
        if hasFetched {
            run.scheduler.noteAsked()
            if batch.isLarge, !batch.confirmOne(in: mode) { replaceEpollLocked(of: mode) }
        }
        guard let receiver = batch.takeFirst(in: mode) else {
            if hasFetched { endFetchLocked(mode) }
            return nil
        }
        lastServed = .descriptor
        run.scheduler.notePassesFromMemory(1)
        return receiver
    }

    /// Queries the mode's epoll if the batch is used up. Returns whether the epoll was queried. A batch that still has
    /// events is not used up, even if the sources of these events were removed.
    @discardableResult func refillBatchLocked(_ mode: ModeState) -> Bool {
        guard fetchIfUsedUpLocked(mode) else { return false }
        endFetchLocked(mode)
        return true
    }

    @inline(__always) private func fetchIfUsedUpLocked(_ mode: ModeState) -> Bool {
        guard batch.isEmpty(in: mode), mode.descriptors.watched >= 0 else { return false }
        if !batch.fetch(from: mode) { loseDescriptorsLocked("epoll_wait", errno) }
        return true
    }

    /// Queries the mode's epoll, even if the batch is not used up.
    func fetchLocked(_ mode: ModeState) {
        if !batch.fetch(from: mode) { loseDescriptorsLocked("epoll_wait", errno) }
        endFetchLocked(mode)
    }

    private func endFetchLocked(_ mode: ModeState) {
        if batch.dropOrphans(of: mode) { replaceEpollLocked(of: mode) }
    }

    /// Replaces the mode's epoll after the program closed a watched number or reused it for another file. The old file
    /// is still open through a duplicate, so the old epoll would report the old file forever. The old watch cannot be
    /// removed, because the watched number no longer belongs to the old file.
    private func replaceEpollLocked(of mode: ModeState) {
        let lost = batch.takeLost()
        let error = mode.descriptors.rebuild()
        // The other events of the batch belong to watches of the old epoll. The new epoll reports these events again.
        batch.discard()
        host.poll.forgetEpoll(of: mode)
        lock.unlock()
        // If a sandbox forbids watching, no number was lost. The sandbox may have kept the loop from ending the watch
        // of a removed source.
        if case .forbidden = error {} else { warn(of: lost) }
        if let error { warnOfUnwatched(mode, error) }
        lock.lock()
    }
}

private func warn(of lost: [LostNumber]) {
    for number in lost {
        Log.warning(
            "descriptor \(number.descriptor) was closed or replaced by dup2() while a DescriptorSource\(number.label) "
                + "watched it, and a copy keeps the old file open. Remove or invalidate the source first")
    }
}

private func warnOfUnwatched(_ mode: ModeState, _ error: GRunLoop.SystemError) {
    if case .forbidden = error {
        Log.warning("\(error). The descriptors of mode \(mode.name) are not watched any more")
    } else {
        Log.warning(
            "the descriptors of mode \(mode.name) are not watched any more, because no descriptor is left. "
                + "Close descriptors or raise the limit, and then add a descriptor source to the mode again")
    }
}

@inline(never) func callOutToDescriptorSource(
    _ source: GRunLoop.DescriptorSource, _ ready: GRunLoop.DescriptorSource.Conditions, of loop: GRunLoop
) {
    loop.tell(CalloutMark(.descriptor, source), closure: ClosureSymbol.of(source.handler))
    loop.handledSources &+= 1
    source.handler(source, ready)
    cgrun_keep_frame()
}
