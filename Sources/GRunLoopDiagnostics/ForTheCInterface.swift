// SPDX-License-Identifier: Apache-2.0
// Functions that only the C interface needs: stall monitors by number, and the timeline of the process.

package import GRunLoop

extension GRunLoop {
    /// Starts a ``StallMonitor``, and returns its number, which is not 0. Without a closure stalls are logged. The
    /// closure is released on any thread.
    package func watchStalls(
        threshold: Duration, _ handler: (@Sendable (StallReport) -> Void)?
    ) throws(SystemError) -> UInt64 {
        let monitor =
            if let handler { try StallMonitor(self, threshold: threshold, handler: handler) } else {
                try StallMonitor(logging: self, threshold: threshold)
            }
        return NumberedStallMonitors.add(monitor, of: self)
    }

    /// Ends a monitor by its number, as ``StallMonitor/stop()`` does. Returns false if the monitor has ended already,
    /// or watches another loop. Any thread.
    package func unwatchStalls(numbered id: UInt64) -> Bool {
        guard !Fork.refuses("unwatchStalls"), let monitor = NumberedStallMonitors.take(id, of: self) else {
            return false
        }
        monitor.stop()
        return true
    }

    /// Starts the ``Timeline`` of programs in C and of `GRUN_TIMELINE`, as ``Timeline/start()`` does.
    package static func startTimeline() { Timeline.ofProcess.start() }

    /// Stops the ``Timeline`` of programs in C and of `GRUN_TIMELINE`, as ``Timeline/stop()`` does.
    package static func stopTimeline() { Timeline.ofProcess.stop() }

    /// Writes a picture of the ``Timeline`` of programs in C and of `GRUN_TIMELINE`, as ``Timeline/write(to:as:)``
    /// does. The file's name says the format.
    package static func writeTimeline(to path: UnsafePointer<CChar>) throws(SystemError) {
        try Timeline.ofProcess.write(to: OutputFile(path))
    }

    /// The trace that records the loop; nil if there is none. The loop's own thread.
    package var trace: Trace? { diagnostics.tracer }
}
