// SPDX-License-Identifier: Apache-2.0
// What the checks need of a toolkit.

/// A toolkit with one window. GTK 3 and GTK 4 each make one; everything is called on the main thread.
public struct Toolkit {
    public var name: String
    /// Has the window drawn in every frame, or not.
    public var setAnimating: (Bool) -> Void
    /// How many frames were drawn so far.
    public var frames: () -> Int
    /// How long drawing a frame is to take, in milliseconds.
    public var setDrawingTime: (Int) -> Void
    /// A round trip to the display server, which waits for its answer.
    public var roundTrip: () -> Void
    /// Presents the window anew.
    public var present: () -> Void

    public init(
        name: String, setAnimating: @escaping (Bool) -> Void, frames: @escaping () -> Int,
        setDrawingTime: @escaping (Int) -> Void,
        roundTrip: @escaping () -> Void, present: @escaping () -> Void
    ) {
        self.name = name
        self.setAnimating = setAnimating
        self.frames = frames
        self.setDrawingTime = setDrawingTime
        self.roundTrip = roundTrip
        self.present = present
    }
}
