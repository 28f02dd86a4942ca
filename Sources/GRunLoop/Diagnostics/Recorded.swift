// SPDX-License-Identifier: Apache-2.0
// How a loop records what it does while a recording is under way. The call before each callout is in Beat.swift.

import CGRun

extension GRunLoop {
    /// Records that the stack of runs changes, or that a sleep begins or ends. Call it with the lock held. It costs as
    /// much as marking a stage.
    @inline(__always) func markChange(_ kind: cgrun_record_kind) {
        #if !GRUN_NO_TRACE
            if _slowPath(cgrun_is_tracing()) { recordChange(kind) }
        #endif
    }

    @inline(never) private func recordChange(_ kind: cgrun_record_kind) {
        switch kind {
        case CGRUN_RECORD_ENTER:
            activeRecorder?.setDepth(runCountLocked)
            put(kind, 0, driverLocked)
        case CGRUN_RECORD_LEAVE:
            put(kind, 0, driverLocked)
            activeRecorder?.setDepth(runCountLocked - 1)
        case CGRUN_RECORD_AWAKE where sleep.isUnderWay:
            put(kind)
            recordWakerLocked()
        case CGRUN_RECORD_WOKEN: if isCurrent { recordWakerLocked() }
        case CGRUN_RECORD_SLEEP: put(kind)
        default: break
        }
    }

    private var driverLocked: Int64 {
        guard let frame else { return 0 }
        let own = frame.depth > 0 ? CGRUN_DRIVER_LOOP_IN_HOST : CGRUN_DRIVER_LOOP
        return Int64((frame.run.isHosted ? CGRUN_DRIVER_HOST : own).rawValue)
    }

    private func recordWakerLocked() {
        guard let kicker = sleep.takeKicker() else { return }
        put(CGRUN_RECORD_WOKEN, UInt32(bitPattern: kicker.thread), kicker.time)
    }

    /// Records that a stage begins. Call it with the lock held.
    func record(_ stage: Trace.Stage) { put(CGRUN_RECORD_STAGE, 0, stage.number) }

    /// Records a callout. It is called without a lock, right before the program's code.
    @inline(never) func record(_ mark: CalloutMark, _ closure: ClosureSymbol.Words, due: Nanoseconds?) {
        // A recording identifies idle work by its code, because the closures of a queue have little in common.
        let mark = mark.kind == .idleWork ? CalloutMark(.idleWork) : mark
        // An item is identified by its address, so its code is not needed.
        let key = Recorder.key(mark, code: mark.item == 0 ? ClosureSymbol.called(by: closure) : 0)
        let due = (due ?? deadline(mark)).map(onRealClock) ?? 0
        if let ring = beat.pointee.ring {
            let item = cgrun_ring_item(ring, Recording.number, key, Labels.version)
            if item != 0, put(CGRUN_RECORD_CALLOUT, item, due, in: ring) { return }
        }
        // The number of an item belongs to one recording, and another one may have begun meanwhile.
        guard let recorder = activeRecorder else { return }
        var item = cgrun_ring_item(recorder.ring, Recording.number, key, Labels.version)
        if item == 0 { item = recorder.number(of: mark, key, code: ClosureSymbol.called(by: closure)) }
        recorder.put(CGRUN_RECORD_CALLOUT, item, due, in: frame?.mode ?? host.ambientMode)
    }

    /// Returns the deadline of the timer that is called; nil if the callout is not a timer's.
    private func deadline(_ mark: CalloutMark) -> Nanoseconds? {
        guard mark.kind == .timer, let object = mark.object else { return nil }
        let timer = unsafeDowncast(object, to: Timer.self)
        return timer.guardian.withLock { timer.dates.deadline }
    }

    /// Converts a deadline to the real clock, which records use. In virtual time it returns 0 if the callout is not
    /// late.
    private func onRealClock(_ deadline: Nanoseconds) -> Nanoseconds {
        guard let virtualTime else { return deadline }
        let late = virtualTime.now.subtractingSaturating(deadline)
        return late > 0 ? Nanoseconds.now().subtractingSaturating(late) : 0
    }

    /// Adds a record that is not about an item. Call it on the loop's thread.
    ///
    /// - Parameter thread: the thread that has woken the loop.
    @inline(__always) private func put(_ kind: cgrun_record_kind, _ thread: UInt32 = 0, _ extra: Int64 = 0) {
        if let ring = beat.pointee.ring, put(kind, thread, extra, in: ring) { return }
        putElsewhere(kind, thread, extra)
    }

    /// Returns false if the mode has changed, or if another recording is under way.
    @inline(__always) private func put(
        _ kind: cgrun_record_kind, _ item: UInt32, _ extra: Int64, in ring: OpaquePointer
    ) -> Bool {
        let mode = innermost?._withUnsafeGuaranteedRef { UnsafeRawPointer($0.modeReference.toOpaque()) }
        return cgrun_ring_put_in(ring, Recording.number, mode, kind, item, extra)
    }

    @inline(never) private func putElsewhere(_ kind: cgrun_record_kind, _ thread: UInt32, _ extra: Int64) {
        activeRecorder?.put(kind, thread, extra, in: frame?.mode ?? host.ambientMode)
    }

    // MARK: The recorder of the loop

    /// The loop's recorder in the recording that is under way; nil if nothing is recorded. Call it on the loop's
    /// thread.
    private var activeRecorder: Recorder? {
        if let recorder, recorder.isCurrent { return recorder }
        return changeRecorder()
    }

    @inline(never) private func changeRecorder() -> Recorder? {
        guard recorder != nil || Recording.isUnderWay else { return nil }
        dropRecorder()
        guard !isDead, let made = Recording.makeRecorder(of: self) else { return nil }
        made.setDepth(runCountLocked)
        recorder = made
        // Only a host's polls on this thread are recorded, so the beat must know the thread.
        cgrun_beat_want(beat, UInt32(CGRUN_BEAT_UNKNOWN))
        cgrun_beat_answer(beat)
        beat.pointee.ring = made.ring
        // Keeps recording switched on until the recorder is dropped, so that the loop notices the end of the recording.
        Recording.count(1)
        return made
    }

    /// Ends the loop's recorder. Called on the loop's thread, when the recording is over or the loop ends.
    func dropRecorder() {
        guard let recorder else { return }
        recorder.end(at: .now())
        Recording.count(-1)
        beat.pointee.ring = nil
        self.recorder = nil
    }

    /// Returns whether the polls of a host are recorded, and notes that a host drives the loop. Called with the lock
    /// held, on a thread that iterates the home context.
    func recordsHostLocked() -> Bool {
        guard isCurrent, let recorder = activeRecorder else { return false }
        recorder.noteHost()
        return true
    }
}
