// SPDX-License-Identifier: Apache-2.0
// Who is served next, and when others have their turn: docs/decisions/turns.md.

import CGRun

/// Decides for one run which kind of item is served next, and when the others have their turn. Own thread only.
///
/// Usually the kinds that are ready take turns. Once the run has served its own items for a *slice* of time in a row,
/// it owes a turn to each other kind that is ready, and where a host drives to the host first. Until these turns are
/// over it serves nothing else.
///
///     state        entered when                                    serves             left when
///     free         the run begins; the last owed turn is over      every kind         a slice is used up
///     owes turns   a slice is used up, and other kinds are ready   the kinds in       each of them was served, or was
///                                                                  `owed`, once each  not ready any more
///     host's turn  a slice is used up, and a host drives           nothing            the dispatch ends; `owed` have
///                                                                                     their turns in the next one
///
/// If the owed turns use up a slice themselves, the run owes turns again.
struct Scheduler {
    static let standardSlice: Nanoseconds = 4_000_000

    // MARK: Turns

    /// The kinds that are owed a turn. Empty: every kind may be served.
    private(set) var owed: ItemKinds = []
    /// For the rest of the host's dispatch the run serves nothing. `owed` have their turn in the next dispatch.
    private(set) var isHostsTurn = false

    var owesTurns: Bool { isHostsTurn || !owed.isEmpty }

    /// Whether a step of this kind may begin.
    func mayServe(_ kind: ItemKind) -> Bool {
        !owesTurns || owed.contains(kind) && !isHostsTurn
    }

    /// The kinds among those that are ready that may be served now. While turns are owed, a wake-up waits.
    func allowed(of ready: ItemKinds) -> ItemKinds {
        if isHostsTurn { return [] }
        return owed.isEmpty ? ready : ready.intersection(owed)
    }

    /// The slice is used up, and a new row begins, with one turn for each of `kinds`.
    mutating func oweTurns(to kinds: ItemKinds) {
        owed = kinds
        restartRow()
    }

    /// The slice is used up where a host drives. In the next dispatch `kinds` have their turns.
    mutating func yieldToHost(then kinds: ItemKinds) {
        owed = kinds
        isHostsTurn = true
    }

    mutating func endTurn(of kinds: ItemKinds) { owed.subtract(kinds) }

    /// A dispatch of the host begins, perhaps in a callout of another dispatch.
    mutating func beginDispatch() {
        interruptRow()
        passesFromMemory = 0
        asked = .no
        endDescriptors()
    }

    /// The dispatch ends. A dispatch around it continues with the turns that are owed.
    mutating func endDispatch() {
        isHostsTurn = false
        interruptRow()
    }

    // MARK: Passes that ask the kernel nothing

    enum Served {
        case mainQueue, descriptor, other
    }

    /// The item of the last pass. The main queue is asked first unless it was that item, or the pass is the run's first
    /// (item 53). After a descriptor's event more are likely, so the epoll is asked before the loop sleeps.
    private(set) var served = Served.mainQueue
    var prefersMainQueue: Bool { served != .mainQueue }

    mutating func noteServed(_ what: Served) { served = what }
    /// The row of a descriptor's events is over.
    mutating func endDescriptors() { if served == .descriptor { served = .other } }

    /// How many more passes may be made from memory. Zero until the run's first look: otherwise a program that runs the
    /// loop for one source at a time would serve nothing else.
    private var passesFromMemory = 0
    private static let mostPassesFromMemory = 64

    /// After 64 passes from memory, of which a wake-up counts as four, the loop looks at everything.
    var mayServeFromMemory: Bool { passesFromMemory > 0 && !owesTurns && !isSliceUsedUp }
    mutating func notePassesFromMemory(_ passes: Int) { passesFromMemory -= passes }
    /// The loop looks at everything that may be ready.
    mutating func noteLook() {
        passesFromMemory = perturbs(CGRUN_SITE_ROW) ? 1 + perturbed(below: 5) : Self.mostPassesFromMemory
    }

    private enum Asked {
        case no, thisPass, nextPass
    }

    /// Whether the last answer of the mode's epoll is still good: for this pass, or in a row of events for the next.
    private var asked = Asked.no
    var hasAsked: Bool { asked == .thisPass }
    mutating func noteAsked() { asked = .thisPass }
    mutating func beginPass() { asked = asked == .nextPass ? .thisPass : .no }
    /// Reverts ``beginPass()``: the row had no further event. The epoll's answer stays good for the next pass.
    mutating func leavePass() { if asked == .thisPass { asked = .nextPass } }
    /// Blocks may change what is ready, so the epoll is asked again.
    mutating func forgetAsked() { asked = .no }

    // MARK: The slice of time

    /// A row of the loop's own items. The time between two items counts: under a host that serves one short timer in
    /// each iteration, sources of a lower priority wait for the iterations as well. A row ends when nothing of ours is
    /// left to do, as in a sleep, or when the others have had their turn.
    private enum Row {
        case none
        /// An item is being called, or the pass goes on to the next.
        case underWay
        /// The host's iteration goes on, or a look of ours. Its length is known at the next item.
        case interrupted
        /// Our own wait goes on. It may be a sleep.
        case waiting
    }

    private var row = Row.none
    private var rowStart: Nanoseconds = 0
    private var lastReading: Nanoseconds = 0
    /// `.never` where no clock was read.
    private var waitEnd = Nanoseconds.never
    /// After how many items the clock is read: after each at first and while they are long, after more once they are
    /// short. Counted for each kind, so that short timers do not hide a long block.
    private var strides = Counts.ones
    private var untilReading = Counts.ones
    /// The row has lasted longer than a slice. Kept from the last reading of the clock.
    private(set) var isSliceUsedUp = false

    private static let longestStride: UInt64 = 8
    /// The longest time between two readings of the clock.
    private static let stretch: Nanoseconds = 100_000
    /// A gap of this length between two items is not counted: a sleep, or another process had the processor. It does
    /// not end the row: on a busy machine no row would last.
    private static let pause: Nanoseconds = 1_000_000
    /// A wait of this length was a sleep: there was nothing to do, so a new row begins.
    private static let nap: Nanoseconds = 100_000

    /// An item of ours is about to be called.
    @inline(__always) mutating func beginItem() {
        if row != .underWay { beginItem(at: waitEnd) }
    }

    @inline(never) mutating func beginItem(at known: Nanoseconds) {
        let now = known == .never ? .now() : known
        if row == .none || (row == .waiting && now - lastReading >= Self.nap) {
            rowStart = now
            isSliceUsedUp = false
            strides = .ones
        } else if now - lastReading >= Self.pause {
            rowStart += now - lastReading
            strides = .ones
        }
        untilReading = .ones
        row = .underWay
        lastReading = now
    }

    /// The host's iteration goes on, or a look of ours.
    mutating func interruptRow() {
        if row == .underWay { row = .interrupted }
        waitEnd = .never
    }

    /// A wait of ours is over, at `end` if that is known.
    mutating func noteWait(until end: Nanoseconds = .never) {
        if row != .none { row = .waiting }
        waitEnd = end
    }

    /// The others have had their turn, or had nothing to do: a new row begins.
    mutating func restartRow() {
        rowStart = lastReading
        isSliceUsedUp = false
    }

    /// Nothing of ours is left to do, or it is the host's turn.
    mutating func endRow() {
        row = .none
        waitEnd = .never
        isSliceUsedUp = false
    }

    /// A small number for each kind, all in one word: resetting them at the beginning of a run takes no loop.
    private struct Counts {
        static var ones: Self { Self(word: 0x0101_0101_0101_0101) }

        var word: UInt64

        subscript(kind: ItemKind) -> UInt64 {
            @inline(__always) get { word >> shift(kind) & 0xFF }
            @inline(__always) set { word = word & ~(0xFF << shift(kind)) | newValue << shift(kind) }
        }

        mutating func decrease(_ kind: ItemKind) { word &-= 1 << shift(kind) }

        @inline(__always) private func shift(_ kind: ItemKind) -> UInt64 { UInt64(kind.rawValue & 7) * 8 }
    }

    /// After each item: whether a slice of `length` is used up.
    @inline(__always) mutating func usesUpSlice(_ length: Nanoseconds, after kind: ItemKind) -> Bool {
        if row == .underWay, length <= Self.standardSlice, perturbs(CGRUN_SITE_SLICE) { isSliceUsedUp = true }
        if untilReading[kind] > 1 {
            untilReading.decrease(kind)
            return isSliceUsedUp
        }
        if row == .underWay, !isSliceUsedUp { readClock(length, kind, at: .now()) }
        return isSliceUsedUp
    }

    @inline(never) mutating func readClock(_ length: Nanoseconds, _ kind: ItemKind, at now: Nanoseconds) {
        let taken = now - lastReading
        lastReading = now
        if taken * 2 <= Self.stretch {
            strides[kind] = min(strides[kind] * 2, Self.longestStride)
        } else if taken > Self.stretch {
            strides[kind] = max(1, strides[kind] / 4)
        }
        untilReading[kind] = strides[kind]
        isSliceUsedUp = now - rowStart >= length
    }
}

extension GRunLoop {
    /// With the lock held, after each item of a step: whether the rest of the step waits, because the slice is used up
    /// and other kinds have their turn. Where we drive this is so only if other kinds are ready: otherwise the order of
    /// a pass depends on no clock.
    @inline(__always) func isCutLocked(_ frame: Frame, after kind: ItemKind) -> Bool {
        frame.run.scheduler.usesUpSlice(sliceLength, after: kind) && cutLocked(frame, after: kind)
    }

    @inline(never) func cutLocked(_ frame: Frame, after kind: ItemKind) -> Bool {
        let run = frame.run
        if run.isHosted {
            yieldToHostLocked(frame, after: kind)
            return true
        }
        // The kinds that are owed a turn share one slice. Once that is used up, each gets one item.
        guard !run.scheduler.owesTurns else { return true }
        // Virtual time must not depend on a real clock.
        run.scheduler.oweTurns(to: virtualTime == nil ? kindsForTurnsLocked(frame).subtracting(.init(kind)) : [])
        guard run.scheduler.owesTurns else { return false }
        cuts += 1
        return true
    }

    /// The dispatch ends, in whatever stage. The next dispatch begins with the kinds that are owed a turn then.
    private func yieldToHostLocked(_ frame: Frame, after kind: ItemKind) {
        let run = frame.run
        guard !run.scheduler.isHostsTurn else { return }
        cuts += 1
        var next = run.scheduler.owed.subtracting(.init(kind))
        if next.isEmpty {
            let ready = kindsForTurnsLocked(frame)
            let others = ready.subtracting(.init(kind))
            // If no other kind is ready, the next dispatch goes on with the same kind.
            next = others.isEmpty ? ready.intersection(.found) : others
        }
        run.scheduler.yieldToHost(then: next)
    }

    /// Without the lock, in a callout that runs several items (jobs, performs): as ``isCutLocked(_:after:)``.
    func isSliceSpent() -> Bool {
        lock.withLock { frame.map { isCutLocked($0, after: .source) } ?? false }
    }

    /// With the lock held: these kinds have had their turn.
    @inline(__always) func endTurnLocked(_ frame: Frame, of kinds: ItemKinds) {
        if frame.run.scheduler.owesTurns { endOwedTurnLocked(frame, of: kinds) }
    }

    /// After the last owed turn a new row begins. If the turns used up a slice, the others have their turns again.
    @inline(never) private func endOwedTurnLocked(_ frame: Frame, of kinds: ItemKinds) {
        let run = frame.run
        // What is owed then is for the next dispatch.
        guard !run.scheduler.isHostsTurn else { return }
        run.scheduler.endTurn(of: kinds)
        guard !run.scheduler.owesTurns, !run.isHosted else { return }
        run.scheduler.oweTurns(
            to: run.scheduler.isSliceUsedUp ? kindsForTurnsLocked(frame).subtracting(kinds) : [])
    }

    /// A wait has found this. A kind that it has not found is not ready any more, and its turn is over.
    func endTurnsLocked(_ frame: Frame, of found: Found) {
        let kind = found.item?.kind ?? .wakeUp
        endOwedTurnLocked(frame, of: kind == .wakeUp ? .found : [ItemKinds(kind), .context])
    }
}
