// SPDX-License-Identifier: Apache-2.0
// How long the loop serves its own items in a row before others have their turn.

/// A row of our own items, and how long it has lasted: from its first item on, with whatever lies between two of them.
/// A host whose every iteration serves one short timer spends its time on iterations, and sources of a lower priority
/// wait for all of it. It ends when there is nothing of ours to do, a sleep of ours for one, or the others have had
/// their turn. Guarded by the loop's lock.
struct TimeSlice {
    static let standard: Nanoseconds = 4_000_000

    private enum Row {
        case none
        /// An item is being called, or the pass goes on to the next.
        case underWay
        /// A host's iteration comes between. How long it takes the next item will know.
        case interrupted
        /// A wait of ours does, which may be a sleep.
        case waiting
    }

    private var row = Row.none
    private var start: Nanoseconds = 0
    private var lastLook: Nanoseconds = 0
    /// `.never` where no clock was read.
    private var waitEnd = Nanoseconds.never
    /// After how many items the clock is read: each time at first and while they are long, rarely once they have been
    /// short. Each kind has its own: short timers are not to hide a long block.
    private var strides = Counts.ones
    private var untilLook = Counts.ones
    /// The row has lasted longer than a slice: found at the last look, for whoever asks next.
    private(set) var isOver = false

    private static let longestStride: UInt64 = 8
    /// A stretch between two looks at the clock is not to take longer.
    private static let stretch: Nanoseconds = 100_000
    /// What lies between two items and takes so long is a sleep, or another process has the processor: no time of the
    /// row's. It does not end the row: on a busy machine none would last.
    private static let pause: Nanoseconds = 1_000_000
    /// A wait of ours that took so long has slept: there was nothing to do, and what comes is a new row.
    private static let nap: Nanoseconds = 100_000

    /// Something of ours is about to be called.
    @inline(__always) mutating func begin() {
        if row != .underWay { begin(at: waitEnd) }
    }

    @inline(never) mutating func begin(at known: Nanoseconds) {
        let now = known == .never ? .now() : known
        if row == .none || (row == .waiting && now - lastLook >= Self.nap) {
            start = now
            isOver = false
            strides = .ones
        } else if now - lastLook >= Self.pause {
            start += now - lastLook
            strides = .ones
        }
        untilLook = .ones
        row = .underWay
        lastLook = now
    }

    /// It is the host's iteration that goes on.
    @inline(__always) mutating func interrupt() {
        if row == .underWay { row = .interrupted }
        waitEnd = .never
    }

    /// A wait of ours is over, at `end` if that is known.
    @inline(__always) mutating func noteWait(until end: Nanoseconds = .never) {
        if row != .none { row = .waiting }
        waitEnd = end
    }

    /// The others have had their turn, or had no use for it: what comes is a new row.
    mutating func restart() {
        start = lastLook
        isOver = false
    }

    /// There was nothing of ours to do, or it is a host's turn.
    mutating func end() {
        row = .none
        waitEnd = .never
        isOver = false
    }

    /// A small number for each kind, all in one word: a run begins with all of them, and is to cost no loop.
    private struct Counts {
        static var ones: Self { Self(word: 0x0101_0101_0101_0101) }

        var word: UInt64

        subscript(kind: Turns) -> UInt64 {
            @inline(__always) get { word >> shift(kind) & 0xFF }
            @inline(__always) set { word = word & ~(0xFF << shift(kind)) | newValue << shift(kind) }
        }

        /// It is not zero.
        @inline(__always) mutating func decrease(_ kind: Turns) { word &-= 1 << shift(kind) }

        @inline(__always) private func shift(_ kind: Turns) -> UInt64 {
            UInt64(kind.rawValue.trailingZeroBitCount & 7) * 8
        }
    }

    /// After each item: whether a slice of `length` is used up.
    @inline(__always) mutating func isSpent(_ length: Nanoseconds, after kind: Turns) -> Bool {
        if untilLook[kind] > 1 {
            untilLook.decrease(kind)
            return isOver
        }
        if row == .underWay, !isOver { look(length, kind, at: .now()) }
        return isOver
    }

    @inline(never) mutating func look(_ length: Nanoseconds, _ kind: Turns, at now: Nanoseconds) {
        let taken = now - lastLook
        lastLook = now
        if taken * 2 <= Self.stretch {
            strides[kind] = min(strides[kind] * 2, Self.longestStride)
        } else if taken > Self.stretch {
            strides[kind] = max(1, strides[kind] / 4)
        }
        untilLook[kind] = strides[kind]
        isOver = now - start >= length
    }
}

extension GRunLoop {
    /// How long the loop serves its own items in a row before others that are ready have their turn: GTK's drawing and
    /// other sources of GLib, for up to three dispatches, fewer once they have taken as long; and those of our own
    /// kinds of work that have waited (blocks, sources, timers, descriptors, the main queue), each once. A row overruns
    /// the slice by one item, or by eight where those before them were short. 4 ms at first, at which GTK draws every
    /// frame under any load of ours; more than 8 costs frames. Zero and negative: a row is one item. One that is too
    /// long is no limit.
    ///
    /// A snapshot of the main dispatch queue is one item: libdispatch runs it to its end.
    ///
    /// Threads: any; it takes effect at the next step of a pass. There is no corresponding Core Foundation function.
    public var timeSlice: Duration {
        get { Fork.refuses("timeSlice") ? .zero : lock.withLock { sliceLength }.duration }
        set {
            guard !Fork.refuses("timeSlice") else { return }
            lock.withLock { sliceLength = max(0, Nanoseconds(saturating: newValue)) }
        }
    }
}
