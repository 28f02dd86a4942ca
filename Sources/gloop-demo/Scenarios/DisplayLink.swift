// SPDX-License-Identifier: Apache-2.0
// Scenario display-link: a source of frames that uses one timer.

import GRunLoop

/// A repeating timer can drive a display link (item 277). If the timer is in several modes, it still fires once for
/// each frame (item 135). Frames that a long callout misses are dropped and not replayed (item 119). A fire date in the
/// far future pauses the timer, and the timer stays in its modes (item 122). Invalidating the timer removes it from
/// every mode and releases its closure.
enum DisplayLink {
    static let scenario = Scenario(
        "display-link", "A frame source that drops missed frames, pauses, and serves several modes.",
        expected: """
            drawing    | frame    | on the grid
            drawing    | the callout takes 3.5 frames
            drawing    | frame    | on the grid | at least 3 frames were dropped
            tracking   | frame    | on the grid
            paused     | the run returned timedOut
            paused     | is paused: true, is in drawing: yes
            drawing    | frame    | on the grid
            invalidate | is in drawing: no, in tracking: no
            invalidate | its view is released: yes
            """, body: run)

    private static let drawing: GRunLoop.Mode = "display-link.drawing"
    private static let tracking: GRunLoop.Mode = "display-link.tracking"

    private static func run(_ log: Recorder) {
        let loop = GRunLoop.main
        let (link, view) = makeLink(loop, log)
        link.add(to: loop, [drawing, tracking])

        // The callout of the first frame takes long and does not end its run. All later frames end their runs.
        loop.run(mode: drawing, for: .patience)
        loop.run(mode: tracking, for: .patience)

        link.isPaused = true
        log.line("paused", "the run returned \(loop.run(mode: drawing, for: link.interval * 4))")
        log.line("paused", "is paused: \(link.isPaused), is in drawing: \(link.isIn(loop, drawing))")
        link.isPaused = false
        loop.run(mode: drawing, for: .patience)

        link.invalidate()
        log.line("invalidate", "is in drawing: \(link.isIn(loop, drawing)), in tracking: \(link.isIn(loop, tracking))")
        log.line("invalidate", "its view is released: \(view.object == nil ? "yes" : "no")")
    }

    /// Only the link's closure retains the view.
    private static func makeLink(_ loop: GRunLoop, _ log: Recorder) -> (FrameSource, Weak<View>) {
        let view = View()
        let link = FrameSource(interval: .milliseconds(10)) { frame in
            let name = loop.currentMode == drawing ? "drawing" : "tracking"
            let isFirst = view.frames.increment() == 1
            log.line(
                name, "frame", frame.isOnGrid ? "on the grid" : "off the grid",
                view.expectsDrop.value && frame.dropped >= 3 ? "at least 3 frames were dropped" : "")
            log.note(
                "frame \(frame.number), \(milliseconds(frame.timestamp.duration(to: GRunLoop.now))) after its timestamp"
            )
            view.expectsDrop.value = isFirst
            if isFirst {
                log.line(name, "the callout takes 3.5 frames")
                linger(until: frame.timestamp.advanced(by: .milliseconds(35)))
            } else {
                loop.stop()
            }
        }
        return (link, Weak(view))
    }
}

private final class View: Sendable {
    let frames = Shared(0)
    let expectsDrop = Shared(false)
}

private struct Weak<Object: AnyObject> {
    private(set) weak var object: Object?

    init(_ object: Object) {
        self.object = object
    }
}

private final class FrameSource: Sendable {
    struct Frame {
        /// The date of the frame. `number` is the number of intervals of the grid up to this date.
        let timestamp: GRunLoop.Instant
        let number: Int64
        let isOnGrid: Bool
        /// How many frames were skipped since the last call of the closure.
        let dropped: Int64
    }

    let interval: Duration
    private let timer: GRunLoop.Timer
    private let grid: Shared<Grid?>

    init(interval: Duration, handler: @escaping @Sendable (Frame) -> Void) {
        let grid = Shared<Grid?>(nil)
        let last = Shared<Int64>(-1)
        self.interval = interval
        self.grid = grid
        timer = GRunLoop.Timer(interval: interval, repeats: true) { timer in
            let timestamp = timer.fireDate
            let known = grid.value ?? Grid(of: timer)
            grid.value = known
            let number = known.index(of: timestamp)
            let dropped = number - last.value - 1
            last.value = number
            handler(Frame(timestamp: timestamp, number: number, isOnGrid: known.contains(timestamp), dropped: dropped))
        }
    }

    func add(to loop: GRunLoop, _ modes: [GRunLoop.Mode]) {
        for mode in modes { loop.add(timer, forMode: mode) }
    }

    func isIn(_ loop: GRunLoop, _ mode: GRunLoop.Mode) -> String {
        loop.contains(timer, forMode: mode) ? "yes" : "no"
    }

    /// A paused link stays in its modes. When the link is resumed, it continues with the next date of its grid.
    var isPaused: Bool {
        get { timer.fireDate == GRunLoop.distantFuture }
        set { timer.fireDate = newValue ? GRunLoop.distantFuture : nextDate }
    }

    func invalidate() {
        timer.invalidate()
    }

    private var nextDate: GRunLoop.Instant {
        guard let grid = grid.value else { return GRunLoop.now.advanced(by: interval) }
        return grid.first.advanced(by: interval * Int(grid.index(of: GRunLoop.now) + 1))
    }
}
