// SPDX-License-Identifier: Apache-2.0
// The hook for traces, recordings and stall monitors: a loop reports to its probe.

package import CGRun

/// Receives reports about a loop's work. The conforming type is in the target `GRunLoopDiagnostics`, so that the loop
/// itself knows nothing about traces, recordings and stall monitors.
///
/// If the process contains `GRunLoopDiagnostics`, each loop has a probe from the start. Otherwise no loop has a probe.
/// A loop reports stages and changes only while loops are traced (`cgrun_is_tracing()`), and callouts only while loops
/// are traced or watched (`cgrun_is_inspecting()`).
///
/// Threads: the loop's own thread, except where a function's comment names other threads. A function whose name ends in
/// `Locked` is called with the loop's lock held, and the others without it.
package protocol LoopProbe: AnyObject {
    /// The loop's count of callouts, and the requests of watching threads. Valid as long as the probe lives.
    var pulse: UnsafeMutablePointer<cgrun_pulse> { get }
    /// The loop is ready for use. For the main loop, this function is called on the thread that first uses the main
    /// loop. That thread need not be the main thread.
    func loopIsReady(_ loop: GRunLoop)
    /// A stage of a pass begins. ``PassStage/entry`` is also reported while loops are only watched.
    func stageBeginsLocked(_ stage: PassStage, of loop: GRunLoop)
    /// A callout is about to begin. It is already counted and recorded in its frame. The loop calls this function right
    /// before the program's code. If loops are not traced, the loop calls it only in two cases. A watching thread waits
    /// to be woken, or a watching thread does not know the loop's thread yet.
    ///
    /// - Parameters:
    ///   - closure: the closure that is called; `.none` if it is not known.
    ///   - due: the deadline of a delayed perform; nil for any other callout.
    func calloutBegins(_ mark: CalloutMark, _ closure: ClosureSymbol.Words, due: Nanoseconds?, of loop: GRunLoop)
    /// The stack of runs changes, or a sleep begins or ends.
    func changesLocked(_ change: LoopChange, of loop: GRunLoop)
    /// A host is about to poll. Called only while loops are traced or watched.
    func hostWillPollLocked(of loop: GRunLoop)
    /// The loop's home context has changed or was removed. Any thread.
    func homeContextHasChangedLocked()
    /// The loop's thread ends. The probe wakes the threads that watch the loop.
    func loopEndsLocked()
    /// The loop has ended. The probe releases its references to the loop's objects.
    func loopHasEnded()
}

/// A stage of a pass. The raw value is the stage's number in recordings, not its number in ARCHITECTURE.md.
package enum PassStage: Int64 {
    case entry, beforeTimers, beforeSources, blocks, sources, mainQueueCheck, beforeWaiting, wait, afterWaiting
    case service, exit

    init(_ activity: GRunLoop.Activity) {
        switch activity {
        case .entry: self = .entry
        case .beforeTimers: self = .beforeTimers
        case .beforeSources: self = .beforeSources
        case .beforeWaiting: self = .beforeWaiting
        case .afterWaiting: self = .afterWaiting
        default: self = .exit
        }
    }
}

/// A change of a loop that is not a stage of a pass.
package enum LoopChange {
    /// A run begins. It is already on the stack of runs.
    case runBegins
    /// A run ends. It is still on the stack of runs.
    case runEnds
    case sleeps
    /// The loop is awake, although the sleep has not ended yet.
    case wakes
    /// A host's poll has returned. The loop ends its sleep next.
    case hostHasPolled
}

// While nothing is traced or watched, a call of `tell` costs one comparison with a word at a fixed address, and a jump.
// `scripts/trace-cost` defines GRUN_NO_TRACE to count these instructions. The code behind the jump is not inlined and
// has plain arguments, so that the caller need not save registers.

extension GRunLoop {
    /// Reports that a stage of a pass begins. Call this function with the lock held.
    @inline(__always) func tell(_ stage: PassStage) {
        #if !GRUN_NO_TRACE
            if _slowPath(cgrun_is_tracing()) { tellStage(stage) }
        #endif
    }

    /// Reports that the stage of this activity begins. Call this function with the lock held.
    @inline(__always) func tell(_ activity: Activity) {
        #if !GRUN_NO_TRACE
            // A stall monitor must notice the beginning of a run, even if the run calls no code of the program.
            if _slowPath(activity == .entry ? cgrun_is_inspecting() : cgrun_is_tracing()) { tellActivity(activity) }
        #endif
    }

    /// Reports that the stack of runs changes, or that a sleep begins or ends. Call this function with the lock held.
    @inline(__always) func tell(_ change: LoopChange) {
        #if !GRUN_NO_TRACE
            if _slowPath(cgrun_is_tracing()) { tellChange(change) }
        #endif
    }

    /// Reports that a callout begins. Call this function right before the program's code, without a lock.
    @inline(__always) func tell(
        _ mark: @autoclosure () -> CalloutMark, closure: @autoclosure () -> ClosureSymbol.Words = .none,
        due: @autoclosure () -> Nanoseconds? = nil
    ) {
        #if !GRUN_NO_TRACE
            if _slowPath(cgrun_is_inspecting()) { tellCallout(mark(), closure(), due()) }
        #endif
    }

    @inline(never) private func tellStage(_ stage: PassStage) { probe?.stageBeginsLocked(stage, of: self) }

    @inline(never) private func tellActivity(_ activity: Activity) {
        probe?.stageBeginsLocked(PassStage(activity), of: self)
    }

    @inline(never) private func tellChange(_ change: LoopChange) { probe?.changesLocked(change, of: self) }

    @inline(never) private func tellCallout(
        _ mark: CalloutMark, _ closure: ClosureSymbol.Words, _ due: Nanoseconds?
    ) {
        // A loop without a probe is never watched or traced.
        guard let pulse else { return }
        let wants = cgrun_pulse_count(pulse)
        // During a callout there is always a frame.
        innermost.unsafelyUnwrapped._withUnsafeGuaranteedRef { $0.callout.store(mark.bits, ordering: .relaxed) }
        if wants != 0 || cgrun_is_tracing() { probe?.calloutBegins(mark, closure, due: due, of: self) }
    }
}
