// SPDX-License-Identifier: Apache-2.0
// Stages 8 and 10 for descriptors: what is ready is fetched in batches, and performed one a pass or in rows.

import CGRun
import Glibc

extension GRunLoop {
    /// 10. Performs a source, and then those that have been fetched after it. Returns whether an item counts as a
    /// handled source.
    func serviceDescriptorLocked(_ source: Unmanaged<DescriptorSource>, _ frame: Frame, _ mode: ModeState) -> Bool {
        frame.run.scheduler.noteServed(.descriptor)
        let handled = performLocked(source, frame, mode)
        return serviceRowLocked(frame, mode) || handled
    }

    /// Services fetched events one after the other, as long as each next pass would do nothing else and notify no
    /// observer. A traced loop makes no rows, so that a trace shows each pass. Returns whether an item counts as a
    /// handled source.
    private func serviceRowLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        let run = frame.run
        var handled = false
        while isRowLocked(frame, mode) {
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
            guard let source = item.descriptor else { return serviceLocked(item, frame, mode) || handled }
            if performLocked(source, frame, mode) { handled = true }
        }
        return handled
    }

    /// Whether the passes between two descriptors can be left out. A run with a limit looks at the clock between them,
    /// and the main queue goes before the next one.
    @inline(__always) private func isRowLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
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

    /// Takes the next fetched event of a descriptor. Nil if a wake-up or a timer may come first, or if nothing is
    /// ready.
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

    /// Asks the mode's epoll for events if the last batch is used up. Returns whether it did. A batch whose remaining
    /// events are all of removed sources counts as not used up.
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

    /// Asks the mode's epoll what is ready.
    func fetchLocked(_ mode: ModeState) {
        if !batch.fetch(from: mode) { loseDescriptorsLocked("epoll_wait", errno) }
        endFetchLocked(mode)
    }

    private func endFetchLocked(_ mode: ModeState) {
        if batch.dropOrphans(of: mode) { replaceEpollLocked(of: mode) }
    }

    /// A number was closed or given another file while it was watched, but a copy of its old file is open. The kernel
    /// would report that file for ever, and no number is left to remove it by. A new epoll does not know it.
    private func replaceEpollLocked(of mode: ModeState) {
        let lost = batch.takeLost()
        let error = mode.descriptors.rebuild()
        // Its other events are of watches that are no more. The new epoll reports them again.
        batch.discard()
        hostPoll.forgetEpoll(of: mode)
        lock.unlock()
        // In a sandbox the events may be of a source that was removed: the kernel has refused to end its watch.
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

private func warnOfUnwatched(_ mode: ModeState, _ error: GRunLoop.DescriptorError) {
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
    loop.begin(CalloutMark(.descriptor, source), .descriptor(source), closure: Code.of(source.handler))
    loop.handledSources &+= 1
    source.handler(source, ready)
    cgrun_keep_frame()
}
