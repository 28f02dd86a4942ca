// SPDX-License-Identifier: Apache-2.0
// Declarations that only the C interface needs: stall monitors by number, the timeline of the process, and the trace of
// a loop.

package import GRunLoop

extension GRunLoop {
    /// Starts a ``StallMonitor`` and returns the monitor's number, which is not 0. If `handler` is nil, stalls are
    /// logged. The last reference to the handler may be released on any thread.
    package func watchStalls(
        threshold: Duration, _ handler: (@Sendable (StallReport) -> Void)?
    ) throws(SystemError) -> UInt64 {
        let monitor =
            if let handler { try StallMonitor(self, threshold: threshold, handler: handler) } else {
                try StallMonitor(logging: self, threshold: threshold)
            }
        return NumberedStallMonitors.add(monitor, of: self)
    }

    /// Stops the monitor with this number, as ``StallMonitor/stop()`` does. Returns false if the monitor has already
    /// ended, or watches another loop. Threads: any.
    package func unwatchStalls(numbered id: UInt64) -> Bool {
        guard !Fork.refuses("unwatchStalls"), let monitor = NumberedStallMonitors.take(id, of: self) else {
            return false
        }
        monitor.stop()
        return true
    }

    /// Starts the process's ``Timeline``, which C programs and `GRUN_TIMELINE` share.
    package static func startTimeline() { Timeline.ofProcess.start() }

    /// Stops the process's ``Timeline``, as ``Timeline/stop()`` does.
    package static func stopTimeline() { Timeline.ofProcess.stop() }

    /// Writes a picture of the process's ``Timeline``, as ``Timeline/write(to:as:)`` does. If the file's name ends in
    /// `.json`, the picture has the format ``Timeline/Format/chromeJSON``, otherwise ``Timeline/Format/html``.
    package static func writeTimeline(to path: UnsafePointer<CChar>) throws(SystemError) {
        try Timeline.ofProcess.write(to: OutputFile(path))
    }

    /// The trace that records the loop; nil if the loop is not traced. Threads: the loop's own thread.
    package var trace: Trace? { diagnostics.tracer }
}
