// SPDX-License-Identifier: Apache-2.0
// What the checks need of a toolkit.

import Glibc

/// A toolkit with one window. GTK 3 and GTK 4 each make one; everything is called on the main thread.
public struct Toolkit {
    /// What the window draws.
    let drawing: Drawing
    /// Has the window drawn in every frame, until the number that it returns is given to ``removeTick``.
    let addTick: () -> UInt32
    let removeTick: (UInt32) -> Void
    /// A round trip to the display server, which waits for its answer.
    let roundTrip: () -> Void
    /// Presents the window anew.
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

    /// Has the window drawn in every frame, or not.
    func setAnimating(_ isAnimating: Bool) {
        if isAnimating, drawing.tick == nil {
            drawing.tick = addTick()
        } else if !isAnimating, let tick = drawing.tick.take() {
            removeTick(tick)
        }
    }
}

/// What the window's drawing function counts and is told. Main thread only.
public final class Drawing: @unchecked Sendable {
    /// How many frames were drawn so far.
    var frames = 0
    /// How long drawing a frame is to take.
    var milliseconds = 0
    var tick: UInt32?

    public init() {}

    /// For the drawing function's `gpointer`. The toolkit holds the drawing.
    public var data: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    /// The drawing function.
    public static func draw(_ data: UnsafeMutableRawPointer?) {
        guard let data else { return }
        let drawing = Unmanaged<Drawing>.fromOpaque(data).takeUnretainedValue()
        drawing.frames += 1
        usleep(UInt32(drawing.milliseconds) * 1000)
    }
}
