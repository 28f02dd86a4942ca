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
        guard let recorder = activeRecorder else { return }
        let mode = frame?.mode ?? host.ambientMode
        switch kind {
        case CGRUN_RECORD_ENTER:
            recorder.setDepth(runCountLocked)
            recorder.put(kind, in: mode)
        case CGRUN_RECORD_LEAVE:
            recorder.put(kind, in: mode)
            recorder.setDepth(runCountLocked - 1)
        case CGRUN_RECORD_AWAKE where sleep.isUnderWay:
            recorder.put(kind, in: mode)
            recordWaker(recorder, mode)
        case CGRUN_RECORD_WOKEN: recordWaker(recorder, mode)
        case CGRUN_RECORD_SLEEP: recorder.put(kind, in: mode)
        default: break
        }
    }

    private func recordWaker(_ recorder: Recorder, _ mode: ModeState) {
        guard let kicker = sleep.takeKicker() else { return }
        recorder.put(CGRUN_RECORD_WOKEN, UInt32(bitPattern: kicker.thread), kicker.time, in: mode)
    }

    /// With the lock held.
    func record(_ stage: Trace.Stage) {
        guard let recorder = activeRecorder, let frame else { return }
        recorder.put(CGRUN_RECORD_STAGE, 0, Int64(Trace.Stage.all.firstIndex(of: stage) ?? 0), in: frame.mode)
    }

    /// Without a lock: the program is called.
    @inline(never) func record(_ mark: CalloutMark, code: UInt) {
        guard let recorder = activeRecorder, let frame = innermost?.takeUnretainedValue() else { return }
        recorder.callout(mark, code: code, late: lateness(of: mark), frame.mode)
    }

    /// Of a timer that is called.
    private func lateness(of mark: CalloutMark) -> Nanoseconds {
        guard mark.kind == .timer, let timer = mark.object as? Timer else { return 0 }
        return max(0, time.subtractingSaturating(timer.guardian.withLock { timer.dates.deadline }))
    }

    // MARK: Its recorder

    /// Nil if nothing is recorded, and on another thread than the loop's, which may dispatch its GSources.
    private var activeRecorder: Recorder? {
        guard isCurrent else { return nil }
        if let recorder, recorder.isCurrent { return recorder }
        return changeRecorder()
    }

    @inline(never) private func changeRecorder() -> Recorder? {
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
        recorder.end()
        Recording.count(-1)
        beat.pointee.ring = nil
        self.recorder = nil
    }

    /// On a thread that iterates the home context, with the lock held: whether the polls of a host are recorded.
    func recordsHostLocked() -> Bool {
        guard let recorder = activeRecorder else { return false }
        recorder.noteHost()
        return true
    }
}
