// SPDX-License-Identifier: Apache-2.0
// One line of what happened: its cells, and how many runs it is nested in.

/// A line that was recorded, or one that is expected.
struct Line: Hashable, Sendable {
    /// How many runs are below the one that it belongs to.
    var depth: Int
    /// Without blanks around them, and without empty ones at the end.
    private(set) var cells: [String]

    init(depth: Int = 0, _ cells: [String]) {
        self.depth = depth
        self.cells = cells.map(\.trimmed)
        while self.cells.last?.isEmpty == true { self.cells.removeLast() }
    }

    /// Reads `> > first cell | second | third`: a `>` for each level of nesting. Blanks around a cell do not count, so
    /// that lines can be aligned where they are written.
    init(parsing text: Substring) {
        var rest = text.drop { $0 == " " }
        var depth = 0
        while rest.first == ">" {
            depth += 1
            rest = rest.dropFirst().drop { $0 == " " }
        }
        self.init(depth: depth, rest.split(separator: "|", omittingEmptySubsequences: false).map(String.init))
    }

    /// The cell in that column, empty if the line has none there.
    subscript(column: Int) -> String {
        get { cells.indices.contains(column) ? cells[column] : "" }
        set {
            while cells.count <= column { cells.append("") }
            cells[column] = newValue.trimmed
        }
    }

    /// The line as ``init(parsing:)`` reads it.
    var text: String {
        String(repeating: "> ", count: depth) + cells.joined(separator: " | ")
    }
}

extension String {
    var trimmed: String {
        let start = drop { $0 == " " }
        return String(start.reversed().drop { $0 == " " }.reversed())
    }

    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: Swift.max(0, width - count))
    }
}
