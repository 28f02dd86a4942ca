// SPDX-License-Identifier: Apache-2.0
// The environment variables that switch on stall reports, timelines and the check in an unchanged program.

import CGRun
import CGRunDiagnostics
import GRunLoop
import Glibc

enum Environment {
    /// Applies `GRUN_STALLS` and `GRUN_TIMELINE` to a new loop. With `GRUN_STALLS=200ms`, each loop's stalls are logged
    /// until the loop's thread ends. With `GRUN_TIMELINE=run.html`, all loops are recorded, and a picture is written
    /// when the process exits.
    static func startDiagnostics(of loop: GRunLoop) {
        _ = timeline
        if loop.isMain { StartUpCheck.begin() }
        guard let threshold = stalls, !GRunLoop.isServedByAnotherCopy else { return }
        let watcher = StallWatcher(
            loop, threshold: threshold, signal: StallWatcher.usualSignal, isLogged: true,
            tell: GRunLoop.StallMonitor.logger(of: loop))
        // The watcher lives until the loop's thread ends. If no thread can be created for the watcher, the loop is not
        // watched. The failure is not logged, because a log handler may use `GRunLoop.current`, which is still being
        // created.
        _ = watcher.start()
    }

    /// The threshold of `GRUN_STALLS`; nil if the variable is not set, or is not a duration.
    private static let stalls: Nanoseconds? = {
        guard let text = cgrun_environment("GRUN_STALLS").map({ String(cString: $0) }), !text.isEmpty else {
            return nil
        }
        let threshold = span(text)
        if threshold == nil { complain() }
        return threshold
    }()

    /// The output file that `GRUN_TIMELINE` names; nil if the variable is not set, or if another copy of the library
    /// serves the process. The first access to this property starts the recording.
    private static let timeline: OutputFile? = {
        guard !GRunLoop.isServedByAnotherCopy, let path = cgrun_copy_timeline_path() else { return nil }
        defer { free(path) }
        GRunLoop.Timeline.ofProcess.start()
        atexit { Environment.writeTimeline() }
        return OutputFile(path)
    }()

    /// Called when the process exits. A forked child writes nothing, because the records belong to the parent process.
    private static func writeTimeline() {
        guard let file = timeline, !Fork.isChild else { return }
        do throws(GRunLoop.SystemError) { try GRunLoop.Timeline.ofProcess.write(to: file) } catch {
            Log.warning("GRUN_TIMELINE: \(error)")
        }
    }

    /// Logs that `GRUN_STALLS` is not a duration. A separate thread logs this message, because a log handler may use
    /// `GRunLoop.current`, and the calling thread's loop is still being created.
    private static func complain() {
        _ = startDiagnosticsThread { _ in
            let text = cgrun_environment("GRUN_STALLS").map { String(String(cString: $0).prefix(40)) } ?? ""
            Log.warning(
                "GRUN_STALLS=\(text) is not a time span, so no stalls are logged; write 200ms or 0.5s, for example")
            return nil
        }
    }

    /// Parses a duration such as "200ms" or "0.5s". A number without a unit, such as "200", means milliseconds. Returns
    /// nil for any other text, and for a number that is not positive.
    private static func span(_ text: String) -> Nanoseconds? {
        let isSeconds = text.hasSuffix("s") && !text.hasSuffix("ms")
        let digits = text.hasSuffix("ms") ? text.dropLast(2) : isSeconds ? text.dropLast() : text[...]
        guard let number = Double(digits), number > 0, number.isFinite else { return nil }
        return Nanoseconds(saturating: .seconds(min(number * (isSeconds ? 1 : 0.001), 1e9)))
    }
}
