// SPDX-License-Identifier: Apache-2.0
// Who was served, and who is to be served next.

import CGRun

/// Whose turn it is of the kinds of items that are ready: the one after the kind that was chosen last.
struct Rotation {
    private var last = ItemKind.port

    mutating func note(_ kind: ItemKind) { last = kind }

    /// The next of some kinds; nil if there is none.
    func next(of kinds: ItemKinds) -> ItemKind? { last.next(of: kinds) }
}

/// Who was served, who is to be served, and what may be served without asking the kernel. One for each run.
///
///     call              when                                         remaining            served        asked
///     beginDispatch     a dispatch of the host begins                -                    no descriptor no
///     endDispatch       it ends                                      less the host        -             -
///     giveTurns         a slice is used up, and we drive; the same   the others, ready    -             -
///                       of these turns, or they are over
///     yieldToHost       a slice is used up, and a host drives        the next, the host   -             -
///     endTurn           a kind has had its turn                      less that            -             -
///     noteServed        the tail of a pass; main queue; descriptor   -                    that          -
///     endDescriptors    another item is serviced                     -                    no descriptor -
///     noteAsked         in a row, or before a sleep after one        -                    -             this pass
///     beginPass         a pass begins                                -                    -             next → this,
///                                                                                                       this → no
///     leavePass         a row that has begun a pass makes none       -                    -             this → next
///     forgetAsked       blocks are run                               -                    -             no
///
/// A look allows 64 passes from memory (`noteLook`), of which each takes its part (`noteFromMemory`); a dispatch of the
/// host begins with none. Own thread only.
struct Turns {
    /// The row of our own items that is under way.
    var slice = TimeSlice()
    /// The kinds that were ready when the slice was used up: only they are served now. Empty: all are.
    private(set) var remaining: ItemKinds = []
    /// The slice is used up where a host drives: for the rest of the dispatch the loop serves nothing. `remaining` have
    /// their turn in the next dispatch.
    private(set) var isHostsTurn = false
    /// Whether not every kind may be served now.
    var areOwed: Bool { isHostsTurn || !remaining.isEmpty }

    enum Served {
        case mainQueue, descriptor, other
    }

    /// The last pass's item. The main queue is not asked first when it was that, nor in the first pass (item 53). After
    /// a descriptor's event more are likely, so the epoll is asked before the loop sleeps.
    private(set) var served = Served.mainQueue
    var prefersMainQueue: Bool { served != .mainQueue }

    mutating func noteServed(_ what: Served) { served = what }
    /// The row of a descriptor's events is over.
    mutating func endDescriptors() { if served == .descriptor { served = .other } }

    /// How many more passes may be made from memory. Zero until the first look of a run: else a program that runs the
    /// loop for one source at a time would serve nothing else.
    private var passesFromMemory = 0
    private static let longestRowFromMemory = 64

    private enum Asked {
        case no, thisPass, nextPass
    }

    /// Whether what the mode's epoll has said is enough: in a row it is asked for the pass that follows.
    private var asked = Asked.no

    /// Whether a step of this kind may begin.
    func mayServe(_ kind: ItemKind) -> Bool {
        !areOwed || remaining.contains(kind) && !isHostsTurn
    }

    /// The kinds among those that are ready that may be served now. While turns are owed, a wake-up waits.
    func served(of ready: ItemKinds) -> ItemKinds {
        if isHostsTurn { return [] }
        return remaining.isEmpty ? ready : ready.intersection(remaining)
    }

    /// A new row begins, with one turn for each of `kinds`.
    mutating func giveTurns(to kinds: ItemKinds) {
        remaining = kinds
        slice.restart()
    }

    mutating func yieldToHost(then kinds: ItemKinds) {
        remaining = kinds
        isHostsTurn = true
    }

    mutating func endTurn(of kinds: ItemKinds) { remaining.subtract(kinds) }

    mutating func beginPass() { asked = asked == .nextPass ? .thisPass : .no }

    /// A dispatch of the host begins, perhaps in a callout of another one.
    mutating func beginDispatch() {
        slice.interrupt()
        passesFromMemory = 0
        asked = .no
        endDescriptors()
    }

    /// It ends. One around it goes on with what is owed.
    mutating func endDispatch() {
        isHostsTurn = false
        slice.interrupt()
    }

    // MARK: What is in memory

    /// After 64 passes from memory, of which a wake-up counts as four, everything is looked at.
    var mayServeFromMemory: Bool { passesFromMemory > 0 && !areOwed && !slice.isOver }
    mutating func noteFromMemory(_ passes: Int) { passesFromMemory -= passes }
    /// All that may be ready is looked at.
    mutating func noteLook() {
        passesFromMemory = perturbs(CGRUN_SITE_ROW) ? 1 + perturbed(below: 5) : Self.longestRowFromMemory
    }

    var hasAsked: Bool { asked == .thisPass }
    mutating func noteAsked() { asked = .thisPass }
    /// Undoes ``beginPass()``: the row has found nothing more. The next head makes that pass, and need not ask again.
    mutating func leavePass() { if asked == .thisPass { asked = .nextPass } }
    /// Blocks are run, and may change what is ready: it is asked again.
    mutating func forgetAsked() { asked = .no }
}
