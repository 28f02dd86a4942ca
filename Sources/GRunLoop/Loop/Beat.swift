// SPDX-License-Identifier: Apache-2.0
// What a callout leaves behind for a thread that watches the loop: that one has begun, and which.

import CGRun

/// A callout in one word: what kind it is and, if it is of an item, where that is. The item is not held, and may have
/// gone.
struct CalloutMark {
    enum Kind: UInt {
        case none, block, source, timer, descriptor, mainQueue, context, idleWork, port
        case entry, beforeTimers, beforeSources, beforeWaiting, afterWaiting, exit
    }

    // An object begins at a multiple of 16.
    let bits: UInt

    init(bits: UInt) { self.bits = bits }
    init(_ kind: Kind) { bits = kind.rawValue }
    init(_ kind: Kind, _ item: AnyObject) { bits = UInt(bitPattern: ObjectIdentifier(item)) | kind.rawValue }

    init(_ observer: GRunLoop.Observer, _ activity: GRunLoop.Activity) {
        switch activity {
        case .entry: self.init(.entry, observer)
        case .beforeTimers: self.init(.beforeTimers, observer)
        case .beforeSources: self.init(.beforeSources, observer)
        case .beforeWaiting: self.init(.beforeWaiting, observer)
        case .afterWaiting: self.init(.afterWaiting, observer)
        default: self.init(.exit, observer)
        }
    }

    var kind: Kind { Kind(rawValue: bits & 15) ?? .none }
    /// 0 for none.
    var item: UInt { bits & ~15 }
}

extension GRunLoop {
    /// Before the program is called. While no loop of the process is traced or watched, it costs a comparison with a
    /// word at a fixed address, and a jump.
    @inline(__always) func begin(
        _ mark: @autoclosure () -> CalloutMark, _ callout: @autoclosure () -> Trace.Callout, _ activity: Activity? = nil
    ) {
        #if !GRUN_NO_TRACE
            if _slowPath(cgrun_is_inspecting()) {
                let wants = cgrun_beat_begin(beat)
                // What calls out has a frame.
                innermost.unsafelyUnwrapped._withUnsafeGuaranteedRef {
                    $0.callout.store(mark().bits, ordering: .relaxed)
                }
                if _slowPath(wants != 0) { answer(wants, callout(), activity) }
            }
        #endif
    }

    @inline(never) private func answer(_ wants: UInt32, _ callout: Trace.Callout, _ activity: Activity?) {
        cgrun_beat_answer(beat)
        if wants & UInt32(CGRUN_BEAT_RECORDED) != 0 { record(callout, activity) }
    }

    /// With the lock held: a run begins, in a frame that may have been another one's. A host's sleep is over then, also
    /// if GLib has left the hub's check out.
    func beatAtEntryLocked() {
        _ = cgrun_beat_begin(beat)
        frame?.callout.store(0, ordering: .relaxed)
        if let frame, !frame.run.isHosted { sleep.end() }
    }

    /// With the lock held, a host iterates the home context: GLib says when its polls have ended, as long as the loop
    /// is watched. Where we drive nobody pays for that.
    func beatWithHostLocked() {
        guard watchers > 0, beatSource == nil, let home else { return }
        beatSource = BeatSource(of: beat, in: home.context)
        // It is not prepared any more before the poll that follows.
        cgrun_beat_note_poll(beat)
    }

    /// With the lock held: the home context is another, or nobody watches any more.
    func stopBeatingLocked() {
        beatSource.take()?.close()
    }
}
