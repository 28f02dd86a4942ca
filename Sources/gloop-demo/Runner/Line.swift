// SPDX-License-Identifier: Apache-2.0
// One line of a scenario's record: its cells and its depth of nesting.

struct Line: Hashable, Sendable {
    /// How many outer runs enclose the run to which the line belongs.
    var depth: Int
    /// The cells, without blanks around them and without empty cells at the end.
    private(set) var cells: [String]

    init(depth: Int = 0, _ cells: [String]) {
        self.depth = depth
        self.cells = cells.map(\.trimmed)
        while self.cells.last?.isEmpty == true { self.cells.removeLast() }
    }

    /// Parses `> > first cell | second | third`, where each `>` is a level of nesting. Blanks around a cell are
    /// ignored, so that the lines in the source code can be aligned.
    init(parsing text: Substring) {
        var rest = text.drop { $0 == " " }
        var depth = 0
        while rest.first == ">" {
            depth += 1
            rest = rest.dropFirst().drop { $0 == " " }
        }
        self.init(depth: depth, rest.split(separator: "|", omittingEmptySubsequences: false).map(String.init))
    }

    /// The cell in a column; empty if the line has no such cell.
    subscript(column: Int) -> String {
        get { cells.indices.contains(column) ? cells[column] : "" }
        set {
            while cells.count <= column { cells.append("") }
            cells[column] = newValue.trimmed
        }
    }

    /// The line in the format of ``init(parsing:)``.
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
