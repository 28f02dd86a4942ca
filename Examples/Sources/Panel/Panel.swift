// SPDX-License-Identifier: Apache-2.0
// A window that is fed by everything that says "main": a task, a background queue, timers of two modes.

import Dispatch
import GRunLoop

/// The program behind the window. GTK's own main loop runs; nothing here polls it, and the only set-up is that
/// `GRunLoop.main` is touched.
@MainActor
public final class Panel {
    private let widgets: Widgets
    private var updates = 0
    private var tracking: GRunLoop.PushedMode?
    private var timers: [GRunLoop.Timer] = []
    private var task: Task<Void, Never>?

    /// How often the timer of the default mode and that of the common modes have fired.
    private(set) var counts = (byDefault: 0, common: 0)
    private(set) var frames = FrameGaps()

    public init(_ widgets: Widgets) {
        self.widgets = widgets
    }

    /// Returns the check that goes on from now, if there is to be one.
    public func start(_ options: CheckOptions) -> Check? {
        start()
        return options.check ? Check(self, options) : nil
    }

    private func start() {
        // A task of the main actor, which sleeps between its steps.
        task = Task {
            while !Task.isCancelled {
                updates += 1
                widgets.setText("A @MainActor task has written this \(updates) times")
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
        // Work elsewhere, which hands its progress to the main queue.
        DispatchQueue.global().async { [widgets] in
            for step in 1...100 {
                Thread.sleep(milliseconds: 12)
                DispatchQueue.main.async { widgets.setFraction(Double(step) / 100) }
            }
        }
        let byDefault = GRunLoop.Timer(interval: .milliseconds(10), repeats: true) { @MainActor [self] _ in
            counts.byDefault += 1
        }
        let common = GRunLoop.Timer(interval: .milliseconds(10), repeats: true) { @MainActor [self] _ in
            counts.common += 1
        }
        let display = GRunLoop.Timer(interval: .milliseconds(50), repeats: true, tolerance: .milliseconds(10)) {
            @MainActor [self] _ in show()
        }
        GRunLoop.main.add(byDefault, forMode: .default)
        GRunLoop.main.add(common, forMode: .common)
        GRunLoop.main.add(display, forMode: .common)
        timers = [byDefault, common, display]
    }

    public func stop() {
        task?.cancel()
        for timer in timers { timer.invalidate() }
    }

    private func show() {
        widgets.setTimers("default timer \(counts.byDefault), common timer \(counts.common)")
        widgets.setFrames("longest gap between frames \(frames.longest) ms")
    }

    // MARK: What the toolkit tells

    /// For the `gpointer` of the toolkit's callbacks: the window holds the panel.
    public var data: UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    /// In a callback of the toolkit's, which is on the main thread.
    public nonisolated static func tell(_ data: UnsafeMutableRawPointer?, _ body: @MainActor (Panel) -> Void) {
        let address = UInt(bitPattern: data)
        MainActor.assumeIsolated {
            guard let data = UnsafeRawPointer(bitPattern: address) else { return }
            body(Unmanaged<Panel>.fromOpaque(data).takeUnretainedValue())
        }
    }

    /// The toggle: a drag would do the same, for as long as it lasts.
    public func trackingToggled(_ isOn: Bool) {
        if isOn, tracking == nil {
            do {
                tracking = try GRunLoop.main.push(ambientMode: .tracking)
            } catch {
                widgets.setText("\(error)")
            }
        } else if !isOn {
            tracking?.pop()
            tracking = nil
        }
    }

    /// A frame is drawn; `time` is the frame clock's, in microseconds.
    public func frame(at time: Int64) {
        frames.add(time)
    }

    // MARK: For the check

    var text: String { widgets.text() }
    var fraction: Double { widgets.fraction() }
    var updatesSoFar: Int { updates }

    func press(_ isOn: Bool) { widgets.setTracking(isOn) }
    func restartFrames() { frames = FrameGaps() }
    func saveScreenshot(_ path: String) -> Bool { widgets.saveScreenshot(path) }
    func quit() { widgets.quit() }
}
