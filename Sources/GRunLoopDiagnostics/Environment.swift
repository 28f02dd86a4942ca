// SPDX-License-Identifier: Apache-2.0
// The environment variables that switch on stall reports and timelines, without a change of the program.

import CGRun
import CGRunDiagnostics
import GRunLoop
import Glibc

enum Environment {
    /// Applies `GRUN_STALLS` and `GRUN_TIMELINE` to a new loop. With `GRUN_STALLS=200ms`, each loop of a thread is
    /// watched as long as it lives, and its stalls are logged. With `GRUN_TIMELINE=run.html`, all loops are recorded,
    /// and a picture is written when the process exits.
    static func startDiagnostics(of loop: GRunLoop) {
        _ = timeline
        guard let threshold = stalls, !GRunLoop.isServedByAnotherCopy else { return }
        let watcher = StallWatcher(
            loop, threshold: threshold, signal: StallWatcher.usualSignal, isLogged: true,
            tell: GRunLoop.StallMonitor.logger(of: loop))
        // Only the end of the loop's thread ends the watcher. If the system has no thread left, the loop is not
        // watched. This cannot be logged, because a log handler may ask for the loop that is being made.
        _ = watcher.start()
    }

    /// The threshold of `GRUN_STALLS`; nil if the variable is not set, or is not a span. It is read once.
    private static let stalls: Nanoseconds? = {
        guard let text = cgrun_environment("GRUN_STALLS").map({ String(cString: $0) }), !text.isEmpty else {
            return nil
        }
        let threshold = span(text)
        if threshold == nil { complain() }
        return threshold
    }()

    /// The file of `GRUN_TIMELINE`; nil if no picture is wanted. The first access starts the recording.
    private static let timeline: OutputFile? = {
        guard !GRunLoop.isServedByAnotherCopy, let path = cgrun_copy_timeline_path() else { return nil }
        defer { free(path) }
        GRunLoop.Timeline.ofProcess.start()
        atexit { Environment.writeTimeline() }
        return OutputFile(path)
    }()

    /// Writes the picture when the process exits. A forked child writes none, because its records are those of its
    /// parent.
    private static func writeTimeline() {
        guard let file = timeline, !Fork.isChild else { return }
        do throws(GRunLoop.SystemError) { try GRunLoop.Timeline.ofProcess.write(to: file) } catch {
            Log.warning("GRUN_TIMELINE: \(error)")
        }
    }

    /// Logs that `GRUN_STALLS` is not a span. It does so on a separate thread, because a log handler of the program may
    /// ask for the loop that is being made.
    private static func complain() {
        var thread = pthread_t()
        let error = pthread_create(
            &thread, nil,
            { _ in
                let text = cgrun_environment("GRUN_STALLS").map { String(String(cString: $0).prefix(40)) } ?? ""
                Log.warning("GRUN_STALLS=\(text): no stalls are logged; write it as 200ms or 0.5s")
                return nil
            }, nil)
        if error == 0 { pthread_detach(thread) }
    }

    /// Parses "200ms", "0.5s", or "200", which means milliseconds. Returns nil for any other text, and for a number
    /// that is not positive.
    private static func span(_ text: String) -> Nanoseconds? {
        let isSeconds = text.hasSuffix("s") && !text.hasSuffix("ms")
        let digits = text.hasSuffix("ms") ? text.dropLast(2) : isSeconds ? text.dropLast() : text[...]
        guard let number = Double(digits), number > 0, number.isFinite else { return nil }
        return Nanoseconds(saturating: .seconds(min(number * (isSeconds ? 1 : 0.001), 1e9)))
    }
}
