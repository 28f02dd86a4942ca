// SPDX-License-Identifier: Apache-2.0
// Who was served, and who is to be served next.

import CGRun

/// The kinds of work that a pass does. Each has its turn: see ``GRunLoop/isCutLocked(_:after:)``.
struct Kinds: OptionSet {
    let rawValue: UInt8

    static let blocks = Kinds(rawValue: 1 << 0)
    static let sources = Kinds(rawValue: 1 << 1)
    static let contexts = Kinds(rawValue: 1 << 2)
    static let mainQueue = Kinds(rawValue: 1 << 3)
    static let timers = Kinds(rawValue: 1 << 4)
    static let descriptors = Kinds(rawValue: 1 << 5)
    /// The host's turn: nothing of ours is served.
    static let host = Kinds(rawValue: 1 << 6)
    static let ports = Kinds(rawValue: 1 << 7)

    /// What a wait ends with.
    static let found: Kinds = [.contexts, .mainQueue, .timers, .descriptors, .ports]

    init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Those of our kinds that the bits of a number stand for.
    static func some(_ number: Int) -> Kinds {
        Kinds(rawValue: UInt8(truncatingIfNeeded: number)).subtracting(.host)
    }

    /// For a wake-up nothing is called.
    init(_ kind: GRunLoop.ReadyItem.Kind) {
        switch kind {
        case .wakeUp: self = []
        case .mainQueue: self = .mainQueue
        case .timers: self = .timers
        case .descriptor: self = .descriptors
        case .port: self = .ports
        }
    }
}

/// Whose turn it is of the kinds of items that are ready: the one after the kind that was chosen last.
struct Rotation {
    private var last = GRunLoop.ReadyItem.Kind.port

    mutating func note(_ kind: GRunLoop.ReadyItem.Kind) { last = kind }

    /// For steps from one to the number of kinds: each kind, the next one first.
    func kind(after step: Int) -> GRunLoop.ReadyItem.Kind? {
        .init(rawValue: (last.rawValue + step) % GRunLoop.ReadyItem.Kind.count)
    }
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
    /// The kinds that were ready when the slice was used up: only they are served now. Empty: all are. With `.host`,
    /// for the rest of a dispatch, none is: these have their turn in the next one.
    private(set) var remaining: Kinds = []

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
    func mayServe(_ kind: Kinds) -> Bool {
        remaining.isEmpty || remaining.contains(kind) && !isHostsTurn
    }

    var isHostsTurn: Bool { remaining.contains(.host) }

    /// A new row begins, with one turn for each of `kinds`.
    mutating func giveTurns(to kinds: Kinds) {
        remaining = kinds
        slice.restart()
    }

    mutating func yieldToHost(then kinds: Kinds) { remaining = kinds.union(.host) }
    mutating func endTurn(of kinds: Kinds) { remaining.subtract(kinds) }

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
        endTurn(of: .host)
        slice.interrupt()
    }

    // MARK: What is in memory

    /// After 64 passes from memory, of which a wake-up counts as four, everything is looked at.
    var mayServeFromMemory: Bool { passesFromMemory > 0 && remaining.isEmpty && !slice.isOver }
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
