// SPDX-License-Identifier: Apache-2.0
// The probe of a loop, which supplies traces, recordings and stall monitors with data.

import CGRun
import CGRunDiagnostics
import GRunLoop

/// Receives a loop's stages and callouts, and passes them to the loop's trace and recorder. Stall monitors do not
/// receive these events: they read `beat`.
final class LoopDiagnostics: LoopProbe {
    /// Counts the callouts of the loop's thread and the polls of its host, so that stall monitors see progress.
    let beat: UnsafeMutablePointer<cgrun_beat> = cgrun_beat_new()

    // MARK: The loop's thread only

    private(set) var tracer: GRunLoop.Trace?
    /// Set while a timeline records the loop.
    private(set) var recorder: Recorder?

    // MARK: Guarded by the loop's lock

    /// The number of stall monitors that watch the loop. If this number is not zero, or if a timeline records,
    /// `beatSource` records when a host polls.
    private(set) var watchers = 0
    private var beatSource: BeatSource?

    deinit {
        cgrun_beat_unref(beat)
    }

    // MARK: What the loop tells

    /// The first member of the beat. The loop counts its callouts in this member.
    var pulse: UnsafeMutablePointer<cgrun_pulse> {
        UnsafeMutableRawPointer(beat).assumingMemoryBound(to: cgrun_pulse.self)
    }

    func loopIsReady(_ loop: GRunLoop) { Environment.startDiagnostics(of: loop) }

    func stageBeginsLocked(_ stage: PassStage, of loop: GRunLoop) {
        if case .entry = stage { runBeginsLocked(on: loop) }
        guard cgrun_is_tracing() else { return }
        if let tracer { tracer.record(.stage(GRunLoop.Trace.Stage(stage)), of: loop) }
        record(CGRUN_RECORD_STAGE, stage.rawValue, of: loop)
    }

    /// Counts the run, so that a stall monitor sees progress even if the run makes no callouts.
    private func runBeginsLocked(on loop: GRunLoop) {
        _ = cgrun_pulse_count(pulse)
        loop.noteRunBeginsLocked()
    }

    func calloutBegins(_ mark: CalloutMark, _ closure: ClosureSymbol.Words, due: Nanoseconds?, of loop: GRunLoop) {
        cgrun_beat_answer(beat)
        guard cgrun_is_tracing() else { return }
        if let tracer, let callout = GRunLoop.Trace.Callout(mark) {
            tracer.record(.callout(callout, activity: mark.activity), of: loop)
        }
        record(mark, closure, due: due, of: loop)
    }

    func changesLocked(_ change: LoopChange, of loop: GRunLoop) {
        switch change {
        case .runBegins:
            activeRecorder(of: loop)?.setDepth(loop.runCountLocked)
            record(CGRUN_RECORD_ENTER, driverLocked(of: loop), of: loop)
        case .runEnds:
            record(CGRUN_RECORD_LEAVE, driverLocked(of: loop), of: loop)
            activeRecorder(of: loop)?.setDepth(loop.runCountLocked - 1)
        case .sleeps: record(CGRUN_RECORD_SLEEP, of: loop)
        case .wakes where loop.isAsleepLocked:
            record(CGRUN_RECORD_AWAKE, of: loop)
            recordWakerLocked(of: loop)
        case .hostHasPolled: if loop.isCurrent { recordWakerLocked(of: loop) }
        case .wakes: break
        }
    }

    /// While the loop is watched or recorded, adds a GSource that records when the host's polls begin and end.
    /// Otherwise removes this GSource. A loop that drives itself never has this GSource.
    func hostWillPollLocked(of loop: GRunLoop) {
        guard recordsHost(of: loop) || watchers > 0 else { return stopNotingPollsLocked() }
        guard beatSource == nil, let context = loop.homeContextLocked else { return }
        beatSource = BeatSource(of: beat, in: context)
        // GLib prepares the new source only in the next iteration, so record the poll of this iteration here.
        cgrun_beat_note_poll(beat)
    }

    func homeContextHasChangedLocked() { stopNotingPollsLocked() }

    private func stopNotingPollsLocked() { beatSource.take()?.close() }

    func loopEndsLocked() {
        if watchers > 0 { cgrun_beat_nudge(beat) }
    }

    func loopHasEnded() {
        endTracing()
        dropRecorder()
    }

    // MARK: The trace

    func begin(_ trace: GRunLoop.Trace) {
        let former = tracer
        if former == nil { Recording.count(1) }
        tracer = trace
        // Release the former trace after the assignment. The trace's events may own the last reference to an item. The
        // item's deinit is user code and may access `tracer`.
        withExtendedLifetime(former) {}
    }

    func endTracing() {
        let former = tracer
        if former != nil { Recording.count(-1) }
        tracer = nil
        withExtendedLifetime(former) {}
    }

    // MARK: Stall monitors

    /// Begins to watch the loop. The loop adds `beatSource` only at the beginning of a sleep, so this function returns
    /// a kick that interrupts the present sleep.
    func beginWatchLocked(_ loop: GRunLoop) -> Kick? {
        // While no monitor watches, the loop does not record its callouts. So a callout that was recorded earlier may
        // be outdated.
        if watchers == 0 { loop.forgetCalloutsLocked() }
        watchers += 1
        cgrun_count_inspecting(1)
        return loop.interruptSleepLocked()
    }

    func endWatchLocked() {
        watchers -= 1
        cgrun_count_inspecting(-1)
        if watchers == 0 { stopNotingPollsLocked() }
    }

    /// Whether a host polls now; nil if the host's polls are not recorded.
    var isHostPollingLocked: Bool? { beatSource == nil ? nil : cgrun_beat_host_polls(beat) }

    /// Returns whether the loop waits, is busy or has ended.
    func sightLocked(of loop: GRunLoop) -> LoopSight {
        loop.sightLocked(count: cgrun_beat_count(beat), isHostPolling: isHostPollingLocked)
    }

    // MARK: The recorder

    /// Records a callout. Call this function without a lock, right before the callout.
    private func record(
        _ mark: CalloutMark, _ closure: ClosureSymbol.Words, due: Nanoseconds?, of loop: GRunLoop
    ) {
        // Identify idle work by its closure's code and not by its queue, because one queue runs many different
        // closures.
        let mark = mark.kind == .idleWork ? CalloutMark(.idleWork) : mark
        // The key contains the closure's code only if the callout has no item.
        let key = Recorder.key(mark, code: mark.item == 0 ? ClosureSymbol.called(by: closure) : 0)
        let deadline = loop.calloutDeadline(of: mark, due: due) ?? 0
        if let ring = beat.pointee.ring {
            let item = cgrun_ring_item(ring, Recording.number, key, Labels.version)
            if item != 0, put(CGRUN_RECORD_CALLOUT, item, deadline, in: ring, of: loop) { return }
        }
        // The ring may belong to an earlier recording, and an item's number is valid only in one recording. So look the
        // number up again, in the ring of the present recording.
        guard let recorder = activeRecorder(of: loop) else { return }
        var item = cgrun_ring_item(recorder.ring, Recording.number, key, Labels.version)
        if item == 0 { item = recorder.number(of: mark, key, code: ClosureSymbol.called(by: closure)) }
        recorder.put(CGRUN_RECORD_CALLOUT, item, deadline, in: loop.servedMode)
    }

    private func recordWakerLocked(of loop: GRunLoop) {
        guard let waker = loop.takeWakerLocked() else { return }
        record(CGRUN_RECORD_WOKEN, waker.time, thread: UInt32(bitPattern: waker.thread), of: loop)
    }

    private func driverLocked(of loop: GRunLoop) -> Int64 {
        guard let run = loop.runSightLocked else { return 0 }
        let own = run.depth > 0 ? CGRUN_DRIVER_LOOP_IN_HOST : CGRUN_DRIVER_LOOP
        return Int64((run.isHosted ? CGRUN_DRIVER_HOST : own).rawValue)
    }

    /// Adds a record that is not about an item.
    ///
    /// - Parameter thread: in a record of a wake-up, the thread that woke the loop.
    @inline(__always) private func record(
        _ kind: cgrun_record_kind, _ extra: Int64 = 0, thread: UInt32 = 0, of loop: GRunLoop
    ) {
        if let ring = beat.pointee.ring, put(kind, thread, extra, in: ring, of: loop) { return }
        recordElsewhere(kind, extra, thread: thread, of: loop)
    }

    @inline(never) private func recordElsewhere(
        _ kind: cgrun_record_kind, _ extra: Int64, thread: UInt32, of loop: GRunLoop
    ) {
        activeRecorder(of: loop)?.put(kind, thread, extra, in: loop.servedMode)
    }

    /// Adds a record to `ring`. Returns false if the loop's mode has changed, or if the ring belongs to another
    /// recording.
    private func put(
        _ kind: cgrun_record_kind, _ item: UInt32, _ extra: Int64, in ring: OpaquePointer, of loop: GRunLoop
    ) -> Bool {
        cgrun_ring_put_in(ring, Recording.number, loop.currentModeAddress, kind, item, extra)
    }

    /// Returns the loop's recorder for the recording that is under way, and makes this recorder if necessary. Returns
    /// nil if no recording is under way.
    private func activeRecorder(of loop: GRunLoop) -> Recorder? {
        if let recorder, recorder.isCurrent { return recorder }
        return changeRecorder(of: loop)
    }

    @inline(never) private func changeRecorder(of loop: GRunLoop) -> Recorder? {
        guard recorder != nil || Recording.isUnderWay else { return nil }
        dropRecorder()
        guard !loop.isDead, let made = Recording.makeRecorder(of: loop) else { return nil }
        made.setDepth(loop.runCountLocked)
        recorder = made
        // Only a host's polls on this thread are recorded, so the beat must know the thread.
        cgrun_beat_want(beat, UInt32(CGRUN_BEAT_UNKNOWN))
        cgrun_beat_answer(beat)
        beat.pointee.ring = made.ring
        // Keeps `cgrun_is_tracing()` true until the recorder is dropped. Otherwise the loop would not notice the end of
        // the recording, and would keep the recorder.
        Recording.count(1)
        return made
    }

    /// Called when the recording is over or the loop ends.
    private func dropRecorder() {
        guard let recorder else { return }
        recorder.end(at: .now())
        Recording.count(-1)
        beat.pointee.ring = nil
        self.recorder = nil
    }

    /// Returns whether a host's polls are recorded. If true, also stores in the recorder that a host drives the loop.
    /// Any thread that iterates the home context may call this function. On a thread other than the loop's own thread,
    /// the result is false.
    private func recordsHost(of loop: GRunLoop) -> Bool {
        guard loop.isCurrent, let recorder = activeRecorder(of: loop) else { return false }
        recorder.noteHost()
        return true
    }
}

extension GRunLoop {
    /// Every loop has a probe, because the hook that makes probes is set before any code of the program runs.
    var diagnostics: LoopDiagnostics {
        guard let probe else { preconditionFailure() }
        return unsafeDowncast(probe, to: LoopDiagnostics.self)
    }
}

/// `beat.c` sets this function as the hook when the program is loaded.
@_cdecl("cgrun_make_probe")
func makeProbe(_ probe: UnsafeMutableRawPointer) {
    probe.assumingMemoryBound(to: (any LoopProbe)?.self).pointee = LoopDiagnostics()
}
