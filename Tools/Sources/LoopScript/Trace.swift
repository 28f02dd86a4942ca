// SPDX-License-Identifier: Apache-2.0
// What a program saw: one line for each callout, run, answer and skipped action.

/// One line of a trace.
public struct TraceLine: Equatable, Sendable {
    /// What the chooser of the service stage has to know of a line.
    public enum Kind: Equatable, Sendable {
        case timer
        case port(Int)
        case afterWaiting
        /// A pass begins. It is noted for the chooser only: it is neither compared nor printed.
        case pass
        /// An afterWaiting observer takes something away, perhaps what the pass was to service. Noted like `pass`.
        case taking
        /// A slice was used up, and what follows comes in another order than without slices. Noted like `pass`.
        case cut
        case other
    }

    /// How many runs were on the stack.
    public let depth: Int
    /// How many callouts were on the stack; the line of a callout itself does not count as inside it.
    public let callouts: Int
    public let kind: Kind
    public let text: String

    init(_ text: String, depth: Int, callouts: Int, kind: Kind = .other) {
        self.text = text
        self.depth = depth
        self.callouts = callouts
        self.kind = kind
    }

    /// Whether it is for the chooser only.
    var isNote: Bool { kind == .pass || kind == .taking || kind == .cut }

    /// The line as it is compared and printed: indented by the depth of the runs.
    public var rendered: String { String(repeating: "    ", count: depth) + text }
}

/// What came of one program on one loop.
public struct Outcome: Sendable {
    /// Whether it came to its end by itself. If not, its last line says so.
    public var hasEnded = true
    /// What happened, with the beginnings of passes in between.
    public var entries: [TraceLine]
    public var exclusions: [Rule: Int]
    public var statistics: Statistics

    /// The trace that is compared.
    public var trace: [TraceLine] { entries.filter { !$0.isNote } }

    /// How many lines of the trace come before a slice was used up; nil if none was (`Rule.timeSlice`).
    public var linesBeforeCut: Int? {
        entries.firstIndex { $0.kind == .cut }.map { entries[..<$0].count { !$0.isNote } }
    }

    /// The trace as text.
    public var lines: [String] { trace.map(\.rendered) }
}

/// How often each thing happened, so that one can see what a generator reaches.
public struct Statistics: Sendable {
    public private(set) var counts: [String: Int] = [:]

    public init() {}

    public mutating func count(_ name: String, _ amount: Int = 1) {
        counts[name, default: 0] += amount
    }

    public mutating func add(_ other: Statistics) {
        counts.merge(other.counts, uniquingKeysWith: +)
    }
}
