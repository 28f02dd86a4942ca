// SPDX-License-Identifier: Apache-2.0
// What a program saw: one line for each callout, run, answer and skipped action.

/// One line of a trace.
public struct TraceLine: Equatable, Sendable {
    /// The facts about a line that the chooser of the service stage needs.
    public enum Kind: Equatable, Sendable {
        case timer
        case port(Int)
        case afterWaiting
        /// A pass begins. This is a note for the chooser only, and is neither compared nor printed.
        case pass
        /// An afterWaiting observer removes something, perhaps the item of the pass. A note, like `pass`.
        case taking
        /// A slice was used up, so the following order differs from that without slices. A note, like `pass`.
        case cut
        case other
    }

    /// How many runs were on the stack.
    public let depth: Int
    /// How many callouts were on the stack. A callout's own line does not count as inside it.
    public let callouts: Int
    public let kind: Kind
    public let text: String

    init(_ text: String, depth: Int, callouts: Int, kind: Kind = .other) {
        self.text = text
        self.depth = depth
        self.callouts = callouts
        self.kind = kind
    }

    /// Whether the line is a note for the chooser.
    var isNote: Bool { kind == .pass || kind == .taking || kind == .cut }

    /// The line as it is compared and printed: indented by the depth of the runs.
    public var rendered: String { String(repeating: "    ", count: depth) + text }
}

/// The result of one program on one loop.
public struct Outcome: Sendable {
    /// Whether the program ended by itself. If not, its last line says so.
    public var hasEnded = true
    /// All lines, with the notes between them.
    public var entries: [TraceLine]
    public var exclusions: [Rule: Int]
    public var statistics: Statistics

    /// The trace that is compared.
    public var trace: [TraceLine] { entries.filter { !$0.isNote } }

    /// The number of lines before the first cut; nil if no slice was used up (`Rule.timeSlice`).
    public var linesBeforeCut: Int? {
        entries.firstIndex { $0.kind == .cut }.map { entries[..<$0].count { !$0.isNote } }
    }

    /// The trace as text.
    public var lines: [String] { trace.map(\.rendered) }
}

/// How often each thing happened, to show what a generator reaches.
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
