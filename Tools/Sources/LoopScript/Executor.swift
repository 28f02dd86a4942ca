// SPDX-License-Identifier: Apache-2.0
// Runs one program on one loop and writes its trace.

import Synchronization

/// Where the program stands: one run that has not returned.
struct Activation {
    let id: Int
    let mode: ModeName
    let returnsAfterSource: Bool
    /// Its deadline on the grid; nil without one, and once exit has been observed.
    var deadline: UInt64?
    /// The version-0 sources that this pass collected and that still wait their turn (`Rule.lastSourceDecides`).
    var pendingSources: [Int] = []
}

/// One callout that has not returned, at the depth of the run that made it.
struct CalloutFrame {
    let item: ItemID?
    let activity: UInt
    let depth: Int
}

/// How a program is run.
public struct ExecutorOptions: Sendable {
    /// The length of a slot of the grid in nanoseconds.
    public var slot: UInt64
    /// The oracle's trace, which decides between items that are ready at once.
    public var reference: [TraceLine]?
    /// Whether the face tells when a pass begins. It does so by an observer of beforeTimers, which GRunLoop has
    /// only if a first try without it did not tell which of its choices the oracle made without a line.
    public var marksPasses: Bool
    /// What the oracle did in a pass that left no line though more than a wake-up was ready: it consumed the wake-up,
    /// or it chose what an afterWaiting observer then took away.
    public var silentPassesWake = true
    /// The slices of the loop under test; nil: it has none.
    public var timeSlice: Duration?
    /// How much longer than its actions take a program may last before it counts as one that hangs, and how long it is
    /// then given to end when it is stopped; in nanoseconds.
    public var grace: UInt64

    public init(
        slot: UInt64, reference: [TraceLine]? = nil, marksPasses: Bool, grace: UInt64, timeSlice: Duration? = nil
    ) {
        self.timeSlice = timeSlice
        self.slot = slot
        self.reference = reference
        self.marksPasses = marksPasses
        self.grace = grace
    }
}

/// The interpreter of programs. It lives on the thread of its loop.
public final class Executor {
    static let maximumLines = 500
    static let maximumGap = 100
    /// In which gap after its beginning a run without a limit is stopped first.
    static let endlessGaps = 3

    let program: Program
    let face: any LoopFace
    let options: ExecutorOptions
    let grid: Grid

    var entries: [TraceLine] = []
    var lineCount = 0
    var notes: [String] = []
    var exclusions: [Rule: Int] = [:]
    var statistics = Statistics()
    var agreesWithReference = true
    /// Where the reference goes on after the line that was recorded last.
    var referencePosition = 0
    var passesSinceLine = 0
    var isEnding = false
    private var isCut = false
    /// Set by the watchdog.
    let isOverdue = Atomic(false)

    var activations: [Activation] = []
    var callouts: [CalloutFrame] = []
    let activeRuns = ActiveRuns()
    var runCount = 0

    var calls: [ItemID: Int] = [:]
    var blockCalls: [Int: Int] = [:]
    var signalOrder: [Int: Int] = [:]
    var signals = 0
    var commonModes: Set<ModeName> = ["default"]
    /// The items that were added to the common modes, whatever became of them.
    var commonItems: Set<ItemID> = []
    var movedWhileFiring: Set<Int> = []
    var writtenPorts: Set<Int> = []

    init(_ program: Program, face: any LoopFace, options: ExecutorOptions) {
        self.program = program
        self.face = face
        self.options = options
        grid = Grid(slot: options.slot)
    }

    func begin() {
        face.timeSlice = options.timeSlice
        face.begin(program, grid: grid, callouts: self)
        face.marksPasses = options.marksPasses
        for step in program.steps { perform(step) }
        if isExhausted { statistics.count("the most lines of a trace") }
        isEnding = true
    }

    /// Called when the thread has ended: what its end cancelled stands in the notes.
    func finish() {
        for note in notes.sorted() { record("at the thread's end: \(note)") }
        face.end()
    }

    /// Whether the program has had its share; from then on nothing is traced and nothing done.
    var isExhausted: Bool { lineCount >= Executor.maximumLines || isOverdue.load(ordering: .relaxed) }

    func record(_ text: String, kind: TraceLine.Kind = .other) {
        guard !isExhausted else { return }
        noteCut()
        let line = TraceLine(text, depth: activations.count, callouts: callouts.count, kind: kind)
        entries.append(line)
        lineCount += 1
        passesSinceLine = 0
        guard let reference = options.reference, agreesWithReference else { return }
        let next = reference[referencePosition...].firstIndex { !$0.isNote }
        agreesWithReference = next.map { reference[$0] == line } ?? false
        if let next { referencePosition = next + 1 }
    }

    /// Notes that a pass begins.
    public func passBegins() {
        guard !isExhausted, !isEnding else { return }
        passesSinceLine += 1
        note(.pass)
    }

    /// Since the last line: only the first cut counts.
    private func noteCut() {
        guard !isCut, !isEnding, face.cutCount > 0 else { return }
        isCut = true
        count(.timeSlice)
        note(.cut)
    }

    func note(_ kind: TraceLine.Kind) {
        entries.append(TraceLine("", depth: activations.count, callouts: callouts.count, kind: kind))
    }

    func count(_ rule: Rule) { exclusions[rule, default: 0] += 1 }

    /// The gap in which something happened, as the trace shows it.
    var when: String { "@\(grid.gap)" }
}
