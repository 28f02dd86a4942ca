// SPDX-License-Identifier: Apache-2.0
// Where a loop records what it does, while a recording is under way. Where it calls the program: Beat.swift.

import CGRun

extension GRunLoop {
    /// With the lock held: the stack of runs changes, a sleep begins, or one is over. It costs what a stage does.
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

    /// With the lock held.
    func record(_ stage: Trace.Stage) { put(CGRUN_RECORD_STAGE, 0, stage.number) }

    /// Without a lock: the program is called.
    @inline(never) func record(_ mark: CalloutMark, _ closure: Code.Words, due: Nanoseconds?) {
        // What is known by its address needs no code.
        let key = Recorder.key(mark, code: mark.item == 0 ? Code.called(by: closure) : 0)
        var item: UInt32 = 0
        if let ring = beat.pointee.ring { item = cgrun_ring_item(ring, Recording.number, key, Labels.version) }
        if item == 0 { item = activeRecorder?.number(of: mark, key, code: Code.called(by: closure)) ?? 0 }
        put(CGRUN_RECORD_CALLOUT, item, (due ?? deadline(mark)).map(onRealClock) ?? 0)
    }

    /// Of a timer that is called.
    private func deadline(_ mark: CalloutMark) -> Nanoseconds? {
        guard mark.kind == .timer, let object = mark.object else { return nil }
        let timer = unsafeDowncast(object, to: Timer.self)
        return timer.guardian.withLock { timer.dates.deadline }
    }

    /// When what is called was due.
    private func onRealClock(_ deadline: Nanoseconds) -> Nanoseconds {
        guard let virtualTime else { return deadline }
        let late = virtualTime.now.subtractingSaturating(deadline)
        return late > 0 ? Nanoseconds.now().subtractingSaturating(late) : 0
    }

    /// On the loop's thread.
    @inline(__always) private func put(_ kind: cgrun_record_kind, _ item: UInt32 = 0, _ extra: Int64 = 0) {
        let mode = innermost?._withUnsafeGuaranteedRef { UnsafeRawPointer($0.modeReference.toOpaque()) }
        if let ring = beat.pointee.ring, cgrun_ring_put_in(ring, Recording.number, mode, kind, item, extra) { return }
        putAnew(kind, item, extra)
    }

    /// In another mode, or in another recording.
    @inline(never) private func putAnew(_ kind: cgrun_record_kind, _ item: UInt32, _ extra: Int64) {
        activeRecorder?.put(kind, item, extra, in: frame?.mode ?? host.ambientMode)
    }

    // MARK: Its recorder

    /// On the loop's thread; nil if nothing is recorded.
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
        // A host's polls are recorded on this thread only, which has to be known for that.
        cgrun_beat_want(beat, UInt32(CGRUN_BEAT_UNKNOWN))
        cgrun_beat_answer(beat)
        beat.pointee.ring = made.ring
        // Until it is dropped: where the recording has ended, the loop is to notice.
        Recording.count(1)
        return made
    }

    /// On the loop's thread: the recording is over, or the loop is.
    func dropRecorder() {
        guard let recorder else { return }
        recorder.end(at: .now())
        Recording.count(-1)
        beat.pointee.ring = nil
        self.recorder = nil
    }

    /// On a thread that iterates the home context, with the lock held: whether the polls of a host are recorded.
    func recordsHostLocked() -> Bool {
        guard isCurrent, let recorder = activeRecorder else { return false }
        recorder.noteHost()
        return true
    }
}
