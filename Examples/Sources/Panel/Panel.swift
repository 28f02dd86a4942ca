// SPDX-License-Identifier: Apache-2.0
// A window that is updated by everything that uses the main thread: a task, a background queue, timers of two modes.

import Dispatch
import GRunLoop

/// The program behind the window. GTK's own main loop runs, and no code polls it. The only set-up is the first use of
/// `GRunLoop.main`.
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

    /// Starts the panel. Returns the running check, if the options ask for one.
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
        // Background work that passes its progress to the main queue.
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

    // MARK: Events of the toolkit

    /// The `gpointer` of the toolkit's callbacks. The window retains the panel.
    public var data: UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    /// Called by the toolkit's callbacks, which come on the main thread.
    public nonisolated static func tell(_ data: UnsafeMutableRawPointer?, _ body: @MainActor (Panel) -> Void) {
        let address = UInt(bitPattern: data)
        MainActor.assumeIsolated {
            guard let data = UnsafeRawPointer(bitPattern: address) else { return }
            body(Unmanaged<Panel>.fromOpaque(data).takeUnretainedValue())
        }
    }

    /// The toggle starts or ends tracking, as a drag would.
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

    /// A frame is drawn. `time` is the frame clock's time in microseconds.
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
