// SPDX-License-Identifier: Apache-2.0
// How long the loop serves its own items in a row before others have their turn.

import CGRun

/// A row of our own items, and how long it has lasted since its first item. What lies between two items counts: under a
/// host that serves one short timer in each iteration, sources of a lower priority wait for the iterations as well. A
/// row ends when nothing of ours is left to do, as in a sleep, or when the others have had their turn. Own thread only.
struct TimeSlice {
    static let standard: Nanoseconds = 4_000_000

    private enum Row {
        case none
        /// An item is being called, or the pass goes on to the next.
        case underWay
        /// The host's iteration goes on, or a look of ours; its length is known at the next item.
        case interrupted
        /// Our own wait goes on; it may be a sleep.
        case waiting
    }

    private var row = Row.none
    private var start: Nanoseconds = 0
    private var lastLook: Nanoseconds = 0
    /// `.never` where no clock was read.
    private var waitEnd = Nanoseconds.never
    /// After how many items the clock is read: after each at first and while they are long, after more once they are
    /// short. Counted for each kind, so that short timers do not hide a long block.
    private var strides = Counts.ones
    private var untilLook = Counts.ones
    /// The row has lasted longer than a slice. Kept from the last check, so that a later caller need not read the
    /// clock.
    private(set) var isOver = false

    private static let longestStride: UInt64 = 8
    /// The longest time between two readings of the clock.
    private static let stretch: Nanoseconds = 100_000
    /// A gap of this length between two items is not counted: a sleep, or another process had the processor. It does
    /// not end the row: on a busy machine no row would last.
    private static let pause: Nanoseconds = 1_000_000
    /// A wait of this length was a sleep: there was nothing to do, so a new row begins.
    private static let nap: Nanoseconds = 100_000

    /// An item of ours is about to be called.
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

    /// The host's iteration goes on, or a look of ours.
    mutating func interrupt() {
        if row == .underWay { row = .interrupted }
        waitEnd = .never
    }

    /// A wait of ours is over, at `end` if that is known.
    mutating func noteWait(until end: Nanoseconds = .never) {
        if row != .none { row = .waiting }
        waitEnd = end
    }

    /// The others have had their turn, or had nothing to do: a new row begins.
    mutating func restart() {
        start = lastLook
        isOver = false
    }

    /// Nothing of ours is left to do, or it is the host's turn.
    mutating func end() {
        row = .none
        waitEnd = .never
        isOver = false
    }

    /// A small number for each kind, all in one word: resetting them at the beginning of a run takes no loop.
    private struct Counts {
        static var ones: Self { Self(word: 0x0101_0101_0101_0101) }

        var word: UInt64

        subscript(kind: ItemKind) -> UInt64 {
            @inline(__always) get { word >> shift(kind) & 0xFF }
            @inline(__always) set { word = word & ~(0xFF << shift(kind)) | newValue << shift(kind) }
        }

        /// It is not zero.
        mutating func decrease(_ kind: ItemKind) { word &-= 1 << shift(kind) }

        @inline(__always) private func shift(_ kind: ItemKind) -> UInt64 {
            UInt64(kind.rawValue & 7) * 8
        }
    }

    /// After each item: whether a slice of `length` is used up.
    @inline(__always) mutating func isSpent(_ length: Nanoseconds, after kind: ItemKind) -> Bool {
        if row == .underWay, length <= Self.standard, perturbs(CGRUN_SITE_SLICE) { isOver = true }
        if untilLook[kind] > 1 {
            untilLook.decrease(kind)
            return isOver
        }
        if row == .underWay, !isOver { look(length, kind, at: .now()) }
        return isOver
    }

    @inline(never) mutating func look(_ length: Nanoseconds, _ kind: ItemKind, at now: Nanoseconds) {
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
