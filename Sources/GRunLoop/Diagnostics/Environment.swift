// SPDX-License-Identifier: Apache-2.0
// What a program's environment asks for, without a change of the program.

import CGRun
import Glibc

extension GRunLoop {
    /// `GRUN_STALLS=200ms`: each loop of a thread is watched as long as it lives, and its stalls are logged.
    /// `GRUN_TIMELINE=run.html`: all loops are recorded, and a picture is written at the exit of the process.
    func inspectIfAsked() {
        _ = Environment.timeline
        guard let threshold = Environment.stalls, OneCopy.other == nil else { return }
        let watcher = StallWatcher(
            self, threshold: threshold, signal: StallWatcher.usualSignal, isLogged: true,
            tell: StallMonitor.logger(of: self))
        // Nobody ends it but the end of the loop's thread. If the system has no thread left it is not watched: nothing
        // can be said while a loop is being made.
        _ = watcher.start()
    }
}

private enum Environment {
    /// Nil: they are not asked for. Read once.
    static let stalls: Nanoseconds? = {
        guard let text = cgrun_environment("GRUN_STALLS").map({ String(cString: $0) }), !text.isEmpty else {
            return nil
        }
        let threshold = span(text)
        if threshold == nil { complain() }
        return threshold
    }()

    /// Where the picture is written to; nil: none is asked for. Once it is known the process is recorded.
    static let timeline: OutputFile? = {
        guard OneCopy.other == nil, let path = cgrun_copy_timeline_path() else { return nil }
        defer { free(path) }
        GRunLoop.Timeline.ofProcess.start()
        atexit { Environment.writeTimeline() }
        return OutputFile(path)
    }()

    /// Not in a child, which has what its parent had.
    private static func writeTimeline() {
        guard let file = timeline, !Fork.isChild else { return }
        do throws(GRunLoop.Timeline.WriteError) { try GRunLoop.Timeline.ofProcess.write(to: file) } catch {
            Log.warning("GRUN_TIMELINE: \(error)")
        }
    }

    /// On a thread of its own: a handler of the program's may ask for the loop that is being made.
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

    /// "200ms", "0.5s", or "200", which is milliseconds. Nil for what is none of these or not positive.
    static func span(_ text: String) -> Nanoseconds? {
        let isSeconds = text.hasSuffix("s") && !text.hasSuffix("ms")
        let digits = text.hasSuffix("ms") ? text.dropLast(2) : isSeconds ? text.dropLast() : text[...]
        guard let number = Double(digits), number > 0, number.isFinite else { return nil }
        return Nanoseconds(saturating: .seconds(min(number * (isSeconds ? 1 : 0.001), 1e9)))
    }
}
