// SPDX-License-Identifier: Apache-2.0
// Prints the outcome of a scenario: a heading, aligned columns, notes, and ok or FAIL with the lines that differ.

import Glibc

struct Printer {
    private let colour: Colour

    init() {
        colour = Colour(isOn: isatty(STDOUT_FILENO) == 1 && getenv("NO_COLOR") == nil)
    }

    func print(_ outcome: Outcome) {
        var text = colour.bold(outcome.scenario.name) + "  " + outcome.scenario.summary + "\n"
        let failed = !outcome.isPassed
        for (index, row) in rows(outcome.recorded).enumerated() {
            let number = failed ? String(index + 1).leftPadded(to: 4) + "  " : "    "
            text += colour.dim(number) + row + "\n"
        }
        for note in outcome.notes { text += colour.dim("    (\(note))") + "\n" }
        text +=
            failed
            ? failure(outcome) : "    " + colour.green("ok") + colour.dim("  \(milliseconds(outcome.time))") + "\n"
        write(text + "\n")
    }

    func printTotal(passed: Int, of count: Int) {
        let total = passed == count ? "\(count)" : "\(passed) of \(count)"
        let text = "\(total) \(count == 1 ? "scenario" : "scenarios") passed"
        write((passed == count ? colour.green(text) : colour.red(text)) + "\n")
    }

    // MARK: The columns

    /// The lines as aligned columns. The numbers of stages are aligned to the right. Each level of nesting adds two
    /// blanks.
    private func rows(_ lines: [Line]) -> [String] {
        let hasStages = lines.contains { isNumbered($0[0]) }
        let table = lines.map { line -> [String] in
            let first = hasStages ? stage(line[0]) : line[0]
            return [String(repeating: "  ", count: line.depth) + first] + line.cells.dropFirst()
        }
        let columns = table.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            table.map { $0.count > column + 1 ? $0[column].count : 0 }.max() ?? 0
        }
        return table.map { cells in
            let padded = zip(cells, widths).map { $0.padded(to: $1) }
            return colour.cyan(padded[0]) + padded.dropFirst().map { "  " + $0 }.joined()
        }.map(\.withoutTrailingBlanks)
    }

    /// The label of a stage, aligned with the labels of other stages. The exit has no number, so its name is indented
    /// to the names of the other stages.
    private func stage(_ label: String) -> String {
        if label == "exit" { return "   exit" }
        let hasOneDigit = label.prefix { $0.isNumber }.count == 1
        return isNumbered(label) && hasOneDigit ? " " + label : label
    }

    private func isNumbered(_ label: String) -> Bool {
        let words = label.split(separator: " ")
        return words.count == 2 && words[0].allSatisfy(\.isNumber)
    }

    // MARK: Failures

    private func failure(_ outcome: Outcome) -> String {
        var text = "    " + colour.red("FAIL")
        if let failure = outcome.failure { text += "  \(failure)" }
        text += "\n"
        let differences = outcome.differences
        for difference in differences.prefix(3) {
            text += "      line \(difference.number) differs\n"
            text += "        expected  \(difference.expected?.text ?? "no such line")\n"
            text += "        got       \(difference.got?.text ?? "no such line")\n"
        }
        if differences.count > 3 { text += "      and \(differences.count - 3) more\n" }
        return text
    }

    private func write(_ text: String) {
        Swift.print(text, terminator: "")
        fflush(nil)
    }
}

/// Escape sequences for the terminal's colours; plain text if `isOn` is false.
private struct Colour {
    let isOn: Bool

    func bold(_ text: String) -> String { wrap(text, "1") }
    func dim(_ text: String) -> String { wrap(text, "2") }
    func red(_ text: String) -> String { wrap(text, "1;31") }
    func green(_ text: String) -> String { wrap(text, "32") }
    func cyan(_ text: String) -> String { wrap(text, "36") }

    private func wrap(_ text: String, _ code: String) -> String {
        isOn && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}

/// The number of milliseconds as text with one decimal place.
func milliseconds(_ span: Duration) -> String {
    let tenths = (span.nanoseconds + 50_000) / 100_000
    return "\(tenths / 10).\(abs(tenths % 10)) ms"
}

extension String {
    fileprivate func leftPadded(to width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }

    fileprivate var withoutTrailingBlanks: String {
        String(reversed().drop { $0 == " " }.reversed())
    }
}
