// SPDX-License-Identifier: Apache-2.0
// Stages 8 and 10 for descriptors: fetches ready descriptors in batches, and performs their sources. Normally each pass
// performs one source. In a row, the loop performs several in succession and leaves out the passes between them.

import CGRun
import Glibc

extension GRunLoop {
    /// Stage 10: performs a source, and then the sources whose events were fetched after it, if they form a row.
    /// Returns whether at least one item counts as a handled source.
    func serviceDescriptorLocked(_ source: Unmanaged<DescriptorSource>, _ frame: Frame, _ mode: ModeState) -> Bool {
        frame.run.scheduler.noteServed(.descriptor)
        let handled = performLocked(source, frame, mode)
        return serviceEventsLocked(frame, mode) || handled
    }

    /// Services fetched events one after the other, as long as each pass in between would do nothing else and notify no
    /// observer. A traced loop makes no rows, so that the trace shows each pass. Returns whether at least one item
    /// counts as a handled source.
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

    /// Whether the passes between two descriptors can be left out. They cannot if the run has a limit, because such a
    /// pass looks at the clock. Nor can they if the main queue has to be served before the next descriptor.
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

    /// Takes the next event of a descriptor, and fetches a batch if the last one is used up. Returns nil if a wake-up
    /// or a timer may come first, if a full look is due, or if nothing is ready.
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

    /// Asks the mode's epoll for events if the last batch is used up. Returns whether it asked. A batch is not used up
    /// while events are left in it, even if all of them are of removed sources.
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

    /// Asks the mode's epoll what is ready, even if the last batch is not used up.
    func fetchLocked(_ mode: ModeState) {
        if !batch.fetch(from: mode) { loseDescriptorsLocked("epoll_wait", errno) }
        endFetchLocked(mode)
    }

    private func endFetchLocked(_ mode: ModeState) {
        if batch.dropOrphans(of: mode) { replaceEpollLocked(of: mode) }
    }

    /// Replaces the mode's epoll by a new one, after a watched number was closed or given another file. A copy keeps
    /// the old file open, so the kernel would report that file forever, and no number is left to remove it by. A new
    /// epoll does not know the old file.
    private func replaceEpollLocked(of mode: ModeState) {
        let lost = batch.takeLost()
        let error = mode.descriptors.rebuild()
        // The other events of the batch are of watches that do not exist any more. The new epoll reports them again.
        batch.discard()
        host.poll.forgetEpoll(of: mode)
        lock.unlock()
        // In a sandbox no number is lost. The event may be of a removed source whose watch the kernel has refused to
        // end.
        if case .forbidden = error {} else { warn(of: lost) }
        if let error { warnOfUnwatched(mode, error) }
        lock.lock()
    }
}

private func warn(of lost: [LostNumber]) {
    for number in lost {
        Log.warning(
            "descriptor \(number.descriptor) was closed while a DescriptorSource\(number.label) watched it, or "
                + "dup2() gave the number another file, and the old file lives on in a copy; remove or invalidate "
                + "the source first")
    }
}

private func warnOfUnwatched(_ mode: ModeState, _ error: GRunLoop.SystemError) {
    if case .forbidden = error {
        Log.warning("\(error). The descriptors of mode \(mode.name) are not watched any more")
    } else {
        Log.warning(
            "no descriptor is left to watch the descriptors of mode \(mode.name) with; close some or raise the "
                + "limit, and add one to the mode again")
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
