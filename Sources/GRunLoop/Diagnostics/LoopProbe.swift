// SPDX-License-Identifier: Apache-2.0
// The one hook for traces, recordings and stall monitors: a loop tells its probe what it does.

package import CGRun

/// Learns what a loop does. The target `GRunLoopDiagnostics` has the type that conforms: a loop itself does not know of
/// traces, recordings and stall monitors.
///
/// A loop has a probe from its beginning if the process contains `GRunLoopDiagnostics`, and otherwise none. The probe
/// learns of stages and changes only while loops are traced (`cgrun_is_tracing()`), and of callouts only while loops
/// are traced or watched (`cgrun_is_inspecting()`).
///
/// Threads: the loop's own, except where a function says otherwise. A function whose name ends in `Locked` is called
/// with the loop's lock held, and the others without it.
package protocol LoopProbe: AnyObject {
    /// Where the loop counts its callouts. Valid as long as the probe.
    var pulse: UnsafeMutablePointer<cgrun_pulse> { get }
    /// The loop is ready to be used. For the main loop this may be another thread, which has asked for it first.
    func loopIsReady(_ loop: GRunLoop)
    /// A stage of a pass begins. Called for ``PassStage/entry`` also while loops are only watched.
    func stageBeginsLocked(_ stage: PassStage, of loop: GRunLoop)
    /// A callout begins, and is counted and noted in its frame already. Called right before the program's code, if
    /// loops are traced, or if a thread that watches the loop is to be woken or does not know the loop's thread yet.
    ///
    /// - Parameters:
    ///   - closure: the closure that is called; `.none` if it is not known.
    ///   - due: the deadline of a delayed perform; nil for any other callout.
    func calloutBegins(_ mark: CalloutMark, _ closure: ClosureSymbol.Words, due: Nanoseconds?, of loop: GRunLoop)
    /// The stack of runs changes, or a sleep begins or ends.
    func changesLocked(_ change: LoopChange, of loop: GRunLoop)
    /// A host is about to poll. Called only while loops are traced or watched.
    func hostWillPollLocked(of loop: GRunLoop)
    /// The loop has another home context, or none any more. Any thread.
    func homeContextHasChangedLocked()
    /// The loop's thread ends. The probe wakes the threads that watch the loop.
    func loopEndsLocked()
    /// The loop has ended. The probe releases what it holds of the loop.
    func loopHasEnded()
}

/// A stage of a pass. The raw value stands for the stage in recordings. It is not the number of the stage in
/// ARCHITECTURE.md.
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
    /// A run begins, and is on the stack already.
    case runBegins
    /// A run ends, and is still on the stack.
    case runEnds
    /// The loop sleeps.
    case sleeps
    /// The loop is awake, although the sleep has not ended yet.
    case wakes
    /// A host's poll has returned. The loop ends its sleep next.
    case hostHasPolled
}

// While nothing is traced or watched, a call of `tell` costs a comparison with a word at a fixed address, and a jump.
// `scripts/trace-cost` defines GRUN_NO_TRACE to count the instructions. The code behind the jump is not inlined, and
// has plain arguments, so that it costs the caller no registers.

extension GRunLoop {
    /// Tells that a stage of a pass begins. Call it with the lock held.
    @inline(__always) func tell(_ stage: PassStage) {
        #if !GRUN_NO_TRACE
            if _slowPath(cgrun_is_tracing()) { tellStage(stage) }
        #endif
    }

    /// Tells that the stage begins in which observers of this activity are notified. Call it with the lock held.
    @inline(__always) func tell(_ activity: Activity) {
        #if !GRUN_NO_TRACE
            // The beginning of a run is a change for a stall monitor, even if the run calls nothing.
            if _slowPath(activity == .entry ? cgrun_is_inspecting() : cgrun_is_tracing()) { tellActivity(activity) }
        #endif
    }

    /// Tells that the stack of runs changes, or that a sleep begins or ends. Call it with the lock held.
    @inline(__always) func tell(_ change: LoopChange) {
        #if !GRUN_NO_TRACE
            if _slowPath(cgrun_is_tracing()) { tellChange(change) }
        #endif
    }

    /// Tells that a callout begins. Call it right before the program's code, without a lock.
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
        // Only a loop with a probe is ever watched or traced.
        guard let pulse else { return }
        let wants = cgrun_pulse_count(pulse)
        // Code that calls out always has a frame.
        innermost.unsafelyUnwrapped._withUnsafeGuaranteedRef { $0.callout.store(mark.bits, ordering: .relaxed) }
        if wants != 0 || cgrun_is_tracing() { probe?.calloutBegins(mark, closure, due: due, of: self) }
    }
}
