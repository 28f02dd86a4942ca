// SPDX-License-Identifier: Apache-2.0
// The interface between the checks and a toolkit.

import Glibc

/// A toolkit with one window, made by GTK 3 and GTK 4. All calls come on the main thread.
public struct Toolkit {
    /// The content of the window.
    let drawing: Drawing
    /// Makes the window draw in every frame, until the returned number is passed to ``removeTick``.
    let addTick: () -> UInt32
    let removeTick: (UInt32) -> Void
    /// Makes a round trip to the display server, and waits for its reply.
    let roundTrip: () -> Void
    /// Presents the window again.
    let present: () -> Void

    public init(
        _ drawing: Drawing, addTick: @escaping () -> UInt32, removeTick: @escaping (UInt32) -> Void,
        roundTrip: @escaping () -> Void, present: @escaping () -> Void
    ) {
        self.drawing = drawing
        self.addTick = addTick
        self.removeTick = removeTick
        self.roundTrip = roundTrip
        self.present = present
    }

    /// Turns drawing in every frame on or off.
    func setAnimating(_ isAnimating: Bool) {
        if isAnimating, drawing.tick == nil {
            drawing.tick = addTick()
        } else if !isAnimating, let tick = drawing.tick.take() {
            removeTick(tick)
        }
    }
}

/// The counter and the settings of the window's drawing function. Main thread only.
public final class Drawing: @unchecked Sendable {
    /// How many frames were drawn so far.
    var frames = 0
    /// How long drawing a frame is to take.
    var milliseconds = 0
    var tick: UInt32?

    public init() {}

    /// The drawing function's `gpointer`. The toolkit retains the drawing.
    public var data: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    /// The drawing function.
    public static func draw(_ data: UnsafeMutableRawPointer?) {
        guard let data else { return }
        let drawing = Unmanaged<Drawing>.fromOpaque(data).takeUnretainedValue()
        drawing.frames += 1
        usleep(UInt32(drawing.milliseconds) * 1000)
    }
}
