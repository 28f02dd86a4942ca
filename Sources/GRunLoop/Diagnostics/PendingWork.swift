// SPDX-License-Identifier: Apache-2.0
// The pending work of a loop in words, for the message of a failed test.

extension GRunLoop {
    /// The work that waits in the loop's default mode, as lines of text. Each timer and each delayed perform has a line
    /// with the time until it is due. Each signalled source has a line. One line is the number of blocks. The last line
    /// is the number of tasks that wait for the loop. Any thread.
    package var pendingWork: [String] {
        guard !Fork.isChild else { return [] }
        let (timers, blocks, sources, tasks) = lock.withLock { () -> ([TimerHeap.Member], Int, [Source], Int) in
            let mode = defaultMode
            return (
                mode.heap.due(by: .never), mode.blocks.live + commonBlocks.live, mode.sources.values.map(\.source),
                waiters.count
            )
        }
        var lines = timers.map { member in
            switch member {
            case .timer(let timer):
                "timer\(Labels.suffix(of: timer)) due in \(ahead(Nanoseconds(saturating: timer.fireDate)))"
            case .perform(_, let due): "delayed perform due in \(ahead(due))"
            }
        }
        if blocks > 0 { lines.append(blocks == 1 ? "1 block" : "\(blocks) blocks") }
        lines += sources.filter(\.isSignalled).map { "signalled source\(Labels.suffix(of: $0))" }
        if tasks > 0 {
            lines.append(tasks == 1 ? "1 task that awaits the loop" : "\(tasks) tasks that await the loop")
        }
        return lines
    }

    /// True if the innermost run has work that needs no sleep, or if a main-queue block exists that libdispatch has not
    /// announced yet. False if no run is on the stack. Read this property on the loop's own thread, outside of a
    /// main-queue block.
    package var hasReadyWork: Bool {
        lock.withLock {
            guard let frame else { return false }
            let isQueued = servesMainQueueLocked(frame.mode) && !MainQueue.isEmpty
            return isQueued || !readyLocked(.wakeUp, in: frame.mode).isEmpty || !readyForTurnsLocked(frame).isEmpty
        }
    }

    private func ahead(_ date: Nanoseconds) -> String {
        date == .never ? "16 years or more" : "\(briefSeconds(date.subtractingSaturating(time))) s"
    }
}
