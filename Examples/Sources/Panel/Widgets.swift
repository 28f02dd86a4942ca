// SPDX-License-Identifier: Apache-2.0
// The parts of the window that a toolkit provides, as closures.

/// The connection from the panel to a toolkit. GTK 3 and GTK 4 each make one.
@MainActor
public struct Widgets {
    public var setText: (String) -> Void
    public var text: () -> String
    public var setFraction: (Double) -> Void
    public var fraction: () -> Double
    /// The line of the timers, and that of the frames.
    public var setTimers: (String) -> Void
    public var setFrames: (String) -> Void
    /// Presses or releases the toggle button, which notifies the panel.
    public var setTracking: (Bool) -> Void
    /// Writes the window's content to a PNG file. Returns whether that worked.
    public var saveScreenshot: (String) -> Bool
    /// Ends the toolkit's main loop.
    public var quit: () -> Void

    public init(
        setText: @escaping (String) -> Void, text: @escaping () -> String, setFraction: @escaping (Double) -> Void,
        fraction: @escaping () -> Double, setTimers: @escaping (String) -> Void, setFrames: @escaping (String) -> Void,
        setTracking: @escaping (Bool) -> Void, saveScreenshot: @escaping (String) -> Bool, quit: @escaping () -> Void
    ) {
        self.setText = setText
        self.text = text
        self.setFraction = setFraction
        self.fraction = fraction
        self.setTimers = setTimers
        self.setFrames = setFrames
        self.setTracking = setTracking
        self.saveScreenshot = saveScreenshot
        self.quit = quit
    }
}

/// Replaces GTK's cast macros, which Swift cannot use.
public func view<Widget, Kind>(_ widget: UnsafeMutablePointer<Widget>, as kind: Kind.Type) -> UnsafeMutablePointer<Kind>
{
    UnsafeMutableRawPointer(widget).assumingMemoryBound(to: kind)
}

public func made<Widget>(_ widget: UnsafeMutablePointer<Widget>?) -> UnsafeMutablePointer<Widget> {
    guard let widget else { fatalError("GTK has made no widget") }
    return widget
}
