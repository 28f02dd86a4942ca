// SPDX-License-Identifier: Apache-2.0
// The notice that is written to standard error if the report of a stall is late.

import CGRun
import CGRunDiagnostics
import GRunLoop

/// The plain notice of a stall, without function names. If the report is late, another thread writes this notice
/// (`notice.c`). The report is late if the watcher waits for a lock that the stalled thread holds. Scheduling and
/// cancelling the notice allocates no memory.
///
/// Threads: one thread at a time.
final class StallNotice {
    private typealias Report = GRunLoop.StallReport

    /// If the report with names takes longer than this time, the notice is written.
    private static let grace: Nanoseconds = 50_000_000

    /// Nil while this object is closed.
    private var notice: OpaquePointer?

    /// Returns 0, or the error of `pthread_create`.
    func open() -> Int32 { cgrun_notice_new(&notice) }

    func close() {
        if let notice { cgrun_notice_free(notice) }
        notice = nil
    }

    func schedule(
        _ sight: StallSight, _ sample: UnsafePointer<cgrun_sample>?, of loop: GRunLoop, after span: Nanoseconds
    ) {
        guard let notice else { return }
        let isHosts = sight.isHosts(depth: Int(sample?.pointee.depth ?? 0))
        cgrun_notice_clear(notice)
        put("GRunLoop: stall: a callback of ")
        if loop.isMain {
            put("the main run loop")
        } else {
            put("the run loop 0x")
            cgrun_notice_put_number(notice, UInt64(UInt(bitPattern: ObjectIdentifier(loop))), 16)
        }
        put(" has not returned after ")
        cgrun_notice_put_number(notice, UInt64(max(0, span) / 1_000_000), 10)
        put(" ms: ")
        put(Report.name(of: isHosts ? .host : sight.callout))
        if let mode = sight.mode {
            put(" in mode ")
            put(mode.rawValue)
        }
        put(isHosts || sight.driver == .host ? ", driven by a host" : ", driven by the loop")
        put("; a report with function names follows when the thread releases a lock")
        cgrun_notice_end_line(notice)
        if let sample { cgrun_notice_put_frames(notice, sample) }
        cgrun_notice_schedule(notice, Nanoseconds.now().addingSaturating(Self.grace))
    }

    func cancel() {
        if let notice { cgrun_notice_cancel(notice) }
    }

    private func put(_ text: String) {
        guard let notice else { return }
        var text = text
        text.withUTF8 { cgrun_notice_put(notice, $0.baseAddress, $0.count) }
    }
}
