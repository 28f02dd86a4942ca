// SPDX-License-Identifier: Apache-2.0
// Decides which kind of work a run serves next: see docs/decisions/scheduling.md.

import CGRun

/// Decides which kind of item one run serves next, and when the other kinds have their turn. Used on the loop's own
/// thread only.
///
/// Usually the ready kinds take turns. A run serves the loop's own items in a row until a *slice* of time is used up.
/// Then each other ready kind gets a turn. If a host drives, the host gets its turn first. Until these pending turns
/// are over, the run serves only the kinds that have a pending turn.
///
///     state          entered when                          serves                     left when
///     free           the run begins; no turn is pending    every kind                 a slice is used up
///     turns pending  a slice is used up, others are ready  `pendingTurns`, once each  each was served, or is not ready
///     host's turn    a slice is used up, a host drives     nothing                    the host's dispatch ends
///
/// If the pending turns use up a slice themselves, the other ready kinds get turns again.
struct Scheduler {
    static let standardSlice: Nanoseconds = 4_000_000

    // MARK: Turns

    /// The kinds whose turn is pending. If the set is empty and it is not the host's turn, every kind may be served.
    private(set) var pendingTurns: ItemKinds = [] { didSet { updateHasPendingTurns() } }
    /// True if the run serves nothing for the rest of the host's dispatch. The kinds in `pendingTurns` then wait for
    /// the next dispatch.
    private(set) var isHostsTurn = false { didSet { updateHasPendingTurns() } }
    /// This property is stored and not computed, because each step of each pass reads it.
    private(set) var hasPendingTurns = false
    private mutating func updateHasPendingTurns() { hasPendingTurns = isHostsTurn || !pendingTurns.isEmpty }

    /// Returns whether a step that serves `kind` is allowed to begin.
    func mayServe(_ kind: ItemKind) -> Bool { !hasPendingTurns || pendingTurns.contains(kind) && !isHostsTurn }

    /// Returns the kinds in `ready` that may be served now. While turns are pending, a wake-up is served only if no
    /// other kind is ready.
    func allowed(of ready: ItemKinds) -> ItemKinds {
        if isHostsTurn { return [] }
        return pendingTurns.isEmpty || ready == .wakeUp ? ready : ready.intersection(pendingTurns)
    }

    /// Gives each of `kinds` one turn, and begins a new row of items.
    mutating func giveTurns(to kinds: ItemKinds) {
        pendingTurns = kinds
        restartRow()
    }

    /// Gives the host its turn, because the slice is used up. `kinds` get their turns in the host's next dispatch.
    mutating func yieldToHost(then kinds: ItemKinds) {
        pendingTurns = kinds
        isHostsTurn = true
    }

    mutating func endTurn(of kinds: ItemKinds) { pendingTurns.subtract(kinds) }

    /// Called when a dispatch of the host begins, perhaps inside a callout of another dispatch.
    mutating func beginDispatch() {
        interruptRow()
        passesFromMemory = 0
        asked = .no
        endDescriptors()
    }

    /// Called when a dispatch of the host ends. If this dispatch was nested in another dispatch, the outer dispatch
    /// continues with the pending turns.
    mutating func endDispatch() {
        isHostsTurn = false
        interruptRow()
    }

    // MARK: Passes without a full look

    enum Served {
        case mainQueue, descriptor, other
    }

    /// The kind of the item that the last pass served. If the last pass served the main queue, stage 6 skips this
    /// queue. Because of the initial value, stage 6 of a run's first pass also skips the main queue (item 53).
    ///
    /// After a descriptor's event, more events are likely. So the loop asks the epoll first, and makes a full look only
    /// if the epoll has no event.
    private(set) var served = Served.mainQueue
    var prefersMainQueue: Bool { served != .mainQueue }

    mutating func noteServed(_ what: Served) { served = what }
    /// Called when no further descriptor event follows.
    mutating func endDescriptors() { if served == .descriptor { served = .other } }

    /// The number of passes that may still serve an item without a full look. A full look polls everything that may be
    /// ready. Zero until the run's first full look. Otherwise, in a program that makes a run for each source, the loop
    /// would never make a full look.
    private var passesFromMemory = 0
    private static let mostPassesFromMemory = 64

    /// Whether a pass is allowed to serve an item without a full look. A full look is due after 64 such passes. A pass
    /// that serves a wake-up counts as four.
    var mayServeFromMemory: Bool { passesFromMemory > 0 && !hasPendingTurns && !isSliceUsedUp }
    mutating func notePassesFromMemory(_ passes: Int) { passesFromMemory -= passes }
    mutating func noteLook() {
        passesFromMemory = perturbs(CGRUN_SITE_ROW) ? 1 + perturbed(below: 5) : Self.mostPassesFromMemory
    }

    private enum Asked {
        case no, thisPass, nextPass
    }

    /// The pass that may use the result of the last epoll query, without another query.
    private var asked = Asked.no
    var hasAsked: Bool { asked == .thisPass }
    mutating func noteAsked() { asked = .thisPass }
    mutating func beginPass() { asked = asked == .nextPass ? .thisPass : .no }
    /// Reverts ``beginPass()``, because no further item was ready without a full look. The query of the epoll stays
    /// valid for the next pass.
    mutating func leavePass() { if asked == .thisPass { asked = .nextPass } }
    /// Called before blocks run. Blocks may make descriptors ready, so the loop must query the epoll again.
    mutating func forgetAsked() { asked = .no }

    // MARK: The slice of time

    /// The state of a row. A row is a series of items that the loop calls one after another. A row ends when the loop
    /// has nothing left to do, or when the other kinds have had their turn. The time between two items is part of the
    /// row. Otherwise a loop that fires one short timer in each host iteration would never use up a slice, and the
    /// host's other sources would wait.
    private enum Row {
        case none
        /// An item is being called, or the pass continues with the next item.
        case underWay
        /// The host continues its iteration, or the loop looks for ready items. The next item continues the row.
        case interrupted
        /// The loop waits, without a host. A wait that lasts for ``nap`` or longer ends the row.
        case waiting
    }

    private var row = Row.none
    private var rowStart: Nanoseconds = 0
    private var lastReading: Nanoseconds = 0
    /// The time when the last wait ended; `.never` if the loop did not read the clock then.
    private var waitEnd = Nanoseconds.never
    /// For each kind, the number of items between two readings of the clock. The number is one at first and while items
    /// are long, and increases up to eight while items are short. Each kind has its own count, so that short timers do
    /// not hide a long block.
    private var strides = KindCounts.ones
    private var untilReading = KindCounts.ones
    /// Whether the row had lasted for a slice when the clock was last read.
    private(set) var isSliceUsedUp = false

    private static let longestStride: UInt64 = 8
    /// The time that should pass between two readings of the clock: 0.1 ms.
    private static let stretch: Nanoseconds = 100_000
    /// A gap of 1 ms or more between two items does not count as part of the row. Another process may have had the
    /// processor in the gap. Such a gap does not end the row either. Otherwise rows would end too early on a busy
    /// machine.
    private static let pause: Nanoseconds = 1_000_000
    /// A wait of 0.1 ms or more counts as a sleep: the loop had nothing to do, so a new row begins.
    private static let nap: Nanoseconds = 100_000

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

    mutating func interruptRow() {
        if row == .underWay { row = .interrupted }
        waitEnd = .never
    }

    /// Called after a wait without a host. `end` is the current time, or `.never` if it is not known.
    mutating func noteWait(until end: Nanoseconds = .never) {
        if row != .none { row = .waiting }
        waitEnd = end
    }

    /// Begins a new row, because the other kinds have had their turn or were not ready.
    mutating func restartRow() {
        rowStart = lastReading
        isSliceUsedUp = false
    }

    /// Ends the row, because the loop has nothing left to do, or because it is the host's turn.
    mutating func endRow() {
        row = .none
        waitEnd = .never
        isSliceUsedUp = false
    }

    /// Called after each item. Returns whether the row has used up a slice of `length`.
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
    /// Called after each item of a step. If the items have used up the slice, the other ready kinds get their turn.
    /// Returns whether the rest of the step must wait for these turns.
    ///
    /// Without a host, the step continues if no other kind is ready. In that case, the order of items does not depend
    /// on a clock. This function may release the lock and take it again.
    @discardableResult @inline(__always) func endItemLocked(_ frame: Frame, of kind: ItemKind) -> Bool {
        frame.run.scheduler.usesUpSlice(sliceLength, after: kind) && endSliceLocked(frame, after: kind)
    }

    @inline(never) func endSliceLocked(_ frame: Frame, after kind: ItemKind) -> Bool {
        let run = frame.run
        if run.isHosted {
            yieldToHostLocked(frame, after: kind)
            return true
        }
        // All kinds whose turn is pending share one slice. After that slice, each remaining kind serves only one item.
        guard !run.scheduler.hasPendingTurns else { return true }
        // In virtual time no kind gets a turn, because the order of items must not depend on a real clock.
        run.scheduler.giveTurns(to: isInVirtualTime ? [] : kindsForTurnsLocked(frame).subtracting(.init(kind)))
        guard run.scheduler.hasPendingTurns else { return false }
        cuts += 1
        return true
    }

    /// Ends the dispatch in any stage of the pass. The next dispatch begins with the kinds that get a turn here.
    private func yieldToHostLocked(_ frame: Frame, after kind: ItemKind) {
        let run = frame.run
        guard !run.scheduler.isHostsTurn else { return }
        cuts += 1
        var next = run.scheduler.pendingTurns.subtracting(.init(kind))
        if next.isEmpty {
            let ready = kindsForTurnsLocked(frame)
            let others = ready.subtracting(.init(kind))
            // If no other kind is ready, `kind` itself gets the turn. Blocks and sources need no turn in this case,
            // because the head of the next pass serves them anyway.
            next = others.isEmpty ? ready.intersection(.found) : others
        }
        run.scheduler.yieldToHost(then: next)
    }

    /// Called after each of several items that one callout calls, such as jobs or performs. Returns whether the callout
    /// must leave the other items for later. Called without the lock.
    func endItemOfCallout() -> Bool {
        lock.withLock { frame.map { endItemLocked($0, of: .source) } ?? false }
    }

    /// Ends the turns of `kinds`, which were served or are not ready.
    @inline(__always) func endTurnLocked(_ frame: Frame, of kinds: ItemKinds) {
        if frame.run.scheduler.hasPendingTurns { endPendingTurnLocked(frame, of: kinds) }
    }

    /// After the last pending turn, a new row begins. If the turns have used up a slice, the other ready kinds get
    /// turns again.
    @inline(never) private func endPendingTurnLocked(_ frame: Frame, of kinds: ItemKinds) {
        let run = frame.run
        // During the host's turn, the pending turns are for the next dispatch.
        guard !run.scheduler.isHostsTurn else { return }
        run.scheduler.endTurn(of: kinds)
        guard !run.scheduler.hasPendingTurns, !run.isHosted else { return }
        let isUsedUp = run.scheduler.isSliceUsedUp
        run.scheduler.giveTurns(to: isUsedUp ? kindsForTurnsLocked(frame).subtracting(kinds) : [])
    }

    /// Ends the turns of the contexts and of the kind that was served, because these turns are over after a wait. If
    /// the wait found no item or only a wake-up, no kind in `ItemKinds.found` is ready, so all these turns end.
    func endTurnsLocked(_ frame: Frame, of found: Found) {
        let kind = found.item?.kind ?? .wakeUp
        endPendingTurnLocked(frame, of: kind == .wakeUp ? .found : [ItemKinds(kind), .context])
    }
}
