// SPDX-License-Identifier: Apache-2.0
// The panel checks itself: before, during and after tracking.

import ArgumentParser
import GRunLoop
import Glibc

/// The options of the window programs.
public struct CheckOptions: ParsableArguments, Sendable {
    @Flag(help: "Press the button, check what the window shows, and end.")
    var check = false

    @Flag(help: "With --check: a gap between frames of 50 ms and more is a failure.")
    var gateFrames = false

    @Option(help: "With --check: write what the window shows to a PNG file.")
    var screenshot: String?

    public init() {}
}

/// Drives the panel for two seconds, and prints the results.
@MainActor
public final class Check {
    private static let phase = Duration.milliseconds(700)
    private static let longestGap = 50

    private let panel: Panel
    private let options: CheckOptions
    private var failures: [String] = []

    init(_ panel: Panel, _ options: CheckOptions) {
        self.panel = panel
        self.options = options
        start()
    }

    /// The exit status, once the toolkit's main loop has ended.
    public var status: Int32 { failures.isEmpty ? 0 : 1 }

    private func start() {
        startWatchdog()
        Task {
            // The first frames of a window are slow.
            try? await Task.sleep(for: .milliseconds(200))
            panel.restartFrames()
            let before = await counts()
            panel.press(true)
            let during = await counts()
            panel.press(false)
            let after = await counts()
            panel.stop()
            // Waits until the last change is laid out and drawn.
            try? await Task.sleep(for: .milliseconds(100))
            report(before, during, after)
            panel.quit()
        }
    }

    /// Counts the fires of the two timers in a phase.
    private func counts() async -> (byDefault: Int, common: Int) {
        let start = panel.counts
        try? await Task.sleep(for: Self.phase)
        return (panel.counts.byDefault - start.byDefault, panel.counts.common - start.common)
    }

    private func report(
        _ before: (byDefault: Int, common: Int), _ during: (byDefault: Int, common: Int),
        _ after: (byDefault: Int, common: Int)
    ) {
        for (name, count, fires) in [("before", before, true), ("tracking", during, false), ("after", after, true)] {
            expect(
                (count.byDefault > 0) == fires && count.common > 0, name,
                "default timer \(count.byDefault), common timer \(count.common)")
        }
        expect(panel.text == "A @MainActor task has written this \(panel.updatesSoFar) times", "label", panel.text)
        expect(panel.updatesSoFar >= 10, "task", "\(panel.updatesSoFar) steps")
        expect(panel.fraction == 1, "bar", "\(panel.fraction)")
        let gap = panel.frames.longest
        expect(!options.gateFrames || gap < Self.longestGap, "frames", "\(panel.frames.count), longest gap \(gap) ms")
        if let path = options.screenshot { expect(panel.saveScreenshot(path), "screenshot", path) }
    }

    private func expect(_ holds: Bool, _ what: String, _ figure: String) {
        print(
            "  \(holds ? "ok    " : "FAILED") \(what)" + String(repeating: " ", count: max(1, 12 - what.count)) + figure
        )
        if !holds { failures.append(what) }
    }
}

/// Ends the process with a message if the loop hangs. Not on the main actor, because it uses another thread.
private func startWatchdog() {
    var thread = pthread_t()
    let body: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { _ in
        sleep(20)
        complain("the check has not ended in 20 s")
        _exit(2)
    }
    pthread_create(&thread, nil, body, nil)
}
