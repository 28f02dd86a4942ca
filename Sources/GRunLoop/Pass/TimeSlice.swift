// SPDX-License-Identifier: Apache-2.0
// How long the loop serves its own items in a row before GLib's other sources have their turn.

/// The time that our own items have taken, in a row. Under a host it counts across dispatches of the hub, until there is nothing of ours to
/// do or the loop has yielded: a slice that began anew with each dispatch would give GTK no frame. Guarded by the loop's lock.
struct TimeSlice {
    static let standard: Nanoseconds = 4_000_000

    private var used: Nanoseconds = 0
    /// When the work under way began, `.never` while there is none: a pass that finds nothing to do reads no clock for it.
    private var start = Nanoseconds.never
    private var lastLook: Nanoseconds = 0
    /// The clock is read after so many items: each time at first and while they are long, rarely once they have been short.
    private var stride = 1
    private var untilLook = 1
    /// Found at the last look: whoever asks next, who may look for another reason, is to know.
    private var isOver = false

    private static let longestStride = 8
    /// A stretch between two looks at the clock is not to take longer.
    private static let stretch: Nanoseconds = 100_000

    /// A wait is over: our work begins with the next item, or, where the present is known, now.
    mutating func resume(at now: Nanoseconds = .never) {
        start = now
        lastLook = now
        stride = 1
        untilLook = 1
        isOver = false
    }

    /// Something of ours is about to be called.
    @inline(__always) mutating func begin() {
        if start == .never { begin(at: .now()) }
    }

    private mutating func begin(at now: Nanoseconds) {
        start = now
        lastLook = now
    }

    /// Our work ends, for the time being.
    mutating func pause() {
        if start != .never { used += .now() - start }
        start = .never
    }

    /// There was nothing of ours to do, or the others have had their turn.
    mutating func restart() {
        used = 0
        isOver = false
        if start != .never { start = .now() }
    }

    /// After each item, and each pass of a host's: whether a slice of `length` is used up.
    mutating func isSpent(_ length: Nanoseconds) -> Bool {
        untilLook -= 1
        guard untilLook <= 0, !isOver else { return isOver }
        let now = Nanoseconds.now()
        if start == .never { begin(at: now) }
        let taken = now - lastLook
        lastLook = now
        if taken * 2 <= Self.stretch {
            stride = min(stride * 2, Self.longestStride)
        } else if taken > Self.stretch {
            stride = max(1, stride / 4)
        }
        untilLook = stride
        isOver = used + (now - start) >= length
        return isOver
    }
}

extension GRunLoop {
    /// How long the loop serves its own items in a row before whatever else is ready in its contexts has its turn: GTK's drawing, other
    /// sources of GLib; their turn is up to three dispatches, fewer once they have taken as long. Each step of a pass overruns the slice by one item, or
    /// by eight where those before them were short. 4 ms at first, at which GTK draws every frame under any load of ours; more than 8 costs
    /// frames. Zero and negative: a step is one item. One that is too long is no limit.
    ///
    /// A snapshot of the main dispatch queue is one item: libdispatch runs it to its end.
    ///
    /// Threads: any; it takes effect at the next step of a pass. There is no corresponding Core Foundation function.
    public var hostTimeSlice: Duration {
        get { lock.withLock { timeSlice }.duration }
        set { lock.withLock { timeSlice = max(0, Nanoseconds(saturating: newValue)) } }
    }

    /// With the lock held, after each item of a step: whether the rest of the step is left for a later pass, because the slice is used up.
    /// Where we drive, only if a context really is ready: then the order of a pass depends on no clock otherwise.
    @inline(__always) func isCutLocked(_ run: Activation) -> Bool {
        if !run.isCut, run.slice.isSpent(timeSlice) { cutLocked(run) }
        return run.isCut
    }

    /// The same without the lock, in a callout of ours that is several items: jobs, performs.
    func isSliceSpent() -> Bool {
        lock.withLock { activation.map(isCutLocked) ?? false }
    }

    @inline(never) func cutLocked(_ run: Activation) {
        if run.isHosted {
            run.isCut = true
        } else {
            run.isCut = !readyContextsLocked(run).isEmpty
            run.slice.restart()
        }
    }

    /// With the lock held, the pass was cut and the contexts that were ready were dispatched: once more, and again, so that the lower
    /// priorities of a context have their turn as well. A dispatch serves one; it may be a frame that takes 25 ms to draw, and our timers would be
    /// late for each of three.
    func yieldLocked(_ run: Activation, until end: Nanoseconds) {
        for _ in 0..<2 {
            guard .now() < end else { return }
            let ready = readyContextsLocked(run)
            guard !ready.isEmpty else { return }
            for served in ready { dispatchLocked(served, run) }
        }
    }

    /// With the lock held before and after: a look at the contexts that does not wait. Under a host, which looks at the home context
    /// itself, at the further ones.
    func readyContextsLocked(_ run: Activation) -> [ServedContext] {
        if run.isHosted, host.carried.isEmpty { return [] }
        let contexts = run.isHosted ? host.carried.served : run.contexts.list
        guard !contexts.isEmpty else { return [] }
        lock.unlock()
        let ready = poller.poll(contexts, own: OwnDescriptors(), deadline: .min).readyContexts
        lock.lock()
        return ready
    }
}
