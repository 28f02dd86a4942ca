// SPDX-License-Identifier: Apache-2.0
// Who was served, and who is to be served next.

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

    /// What a wait ends with.
    static let found: Kinds = [.contexts, .mainQueue, .timers, .descriptors]

    init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// For a wake-up nothing is called.
    init(_ kind: GRunLoop.ReadyItem.Kind) {
        switch kind {
        case .wakeUp: self = []
        case .mainQueue: self = .mainQueue
        case .timers: self = .timers
        case .descriptor: self = .descriptors
        }
    }
}

/// Who was served, who is to be served, and what may be served without asking the kernel. One for each run. Guarded by
/// the loop's lock.
///
///     call              when                                         owed                 served       memory
///     beginDispatch     a dispatch of the host begins                -                    not a desc.  none
///     endDispatch       it ends                                      less the host        -            -
///     owe               a slice is used up, and we drive             the others, ready    -            -
///     leaveToHost       a slice is used up, and a host drives        the next, the host   -            -
///     settle            a kind has had its turn                      less that            -            -
///     noteServed        the tail of a pass; main queue; descriptor   -                    that         -
///     notePoll          the kernel is polled                         -                    -            64 passes
///     noteFromMemory    a pass did without                           -                    -            less that
///     noteAsked         the mode's epoll was asked                   -                    -            has asked
///     beginPass,        a pass begins; blocks are run                -                    -            has not asked
///     forgetAsked
struct Turns {
    /// The row of our own items that is under way.
    var slice = TimeSlice()
    /// The kinds that were ready when the slice was used up: only they are served now. Empty: all are. With `.host`,
    /// for the rest of a dispatch, none is: these have their turn in the next one.
    private(set) var owed: Kinds = []

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

    /// How many more passes may do without polling the kernel. Zero until the first poll of a run: else a program that
    /// runs the loop for one source at a time would serve nothing else.
    private var passesFromMemory = 0
    private static let longestRowFromMemory = 64

    /// The number of the pass, and of the last one for which the mode's epoll was asked: it may be the next.
    private var pass = 0
    private var asked = -1

    /// Whether a step of this kind may begin.
    func mayServe(_ kind: Kinds) -> Bool {
        owed.isEmpty || owed.contains(kind) && !isLeftToHost
    }

    var isLeftToHost: Bool { owed.contains(.host) }

    /// A new row begins, with the turns of `kinds`.
    mutating func owe(_ kinds: Kinds) {
        owed = kinds
        slice.restart()
    }

    mutating func leaveToHost(then kinds: Kinds) { owed = kinds.union(.host) }
    mutating func settle(_ kinds: Kinds) { owed.subtract(kinds) }

    mutating func beginPass() { pass &+= 1 }

    /// A dispatch of the host begins, perhaps in a callout of another one.
    mutating func beginDispatch() {
        slice.interrupt()
        passesFromMemory = 0
        asked = -1
        endDescriptors()
    }

    /// It ends. One around it goes on with what is owed.
    mutating func endDispatch() {
        settle(.host)
        slice.interrupt()
    }

    // MARK: What is in memory

    /// After 64 passes from memory, of which a wake-up counts as four, the kernel is polled.
    var mayServeFromMemory: Bool { passesFromMemory > 0 && owed.isEmpty && !slice.isOver }
    mutating func noteFromMemory(_ passes: Int) { passesFromMemory -= passes }
    /// The kernel is polled.
    mutating func notePoll() { passesFromMemory = Self.longestRowFromMemory }

    var hasAsked: Bool { asked >= pass }
    mutating func noteAsked() { asked = pass }
    /// The pass that a row has begun is left to its own head, which need not ask again.
    mutating func leavePass() { pass &-= 1 }
    /// Blocks are run, and may change what is ready: the next pass asks again.
    mutating func forgetAsked() { asked = -1 }
}
