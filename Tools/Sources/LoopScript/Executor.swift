// SPDX-License-Identifier: Apache-2.0
// Runs one program on one loop and writes its trace.

import Synchronization

/// The state of one run that has not returned.
struct Activation {
    let id: Int
    let mode: ModeName
    let returnsAfterSource: Bool
    /// The deadline on the grid; nil without a deadline, and after exit was observed.
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
    /// The length of a grid slot in nanoseconds.
    public var slot: UInt64
    /// The oracle's trace, which decides between items that are ready at once.
    public var reference: [TraceLine]?
    /// Whether the face reports the beginning of each pass. It uses a beforeTimers observer for that. GRunLoop gets the
    /// observer only if a first try could not match the oracle's passes that left no line.
    public var marksPasses: Bool
    /// The action of the oracle in a pass that left no line although more than a wake-up was ready. True: it consumed
    /// the wake-up. False: it chose an item that an afterWaiting observer then removed.
    public var silentPassesWake = true
    /// The time slice of the loop under test; nil means none.
    public var timeSlice: Duration?
    /// How much longer than its actions a program may take before it counts as hanging, and how long it then may take
    /// to end after it is stopped, in nanoseconds.
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
    /// A run without a limit is first stopped in this gap after its beginning.
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
    /// The position in the reference after the last recorded line.
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
    /// The items that were added to the common modes, including later removed ones.
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

    /// Called after the thread has ended. The notes hold what the thread's end cancelled.
    func finish() {
        for note in notes.sorted() { record("at the thread's end: \(note)") }
        face.end()
    }

    /// Whether the program is at its limit. From then on it does nothing, and nothing is traced.
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

    /// Notes a cut. Only the first cut since the last line counts.
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
