// SPDX-License-Identifier: Apache-2.0
// What a scenario is: a name, a sentence, the lines that it expects, and the code that is to produce them.

/// One thing that the run loop does, shown and checked.
///
/// A scenario runs on the main thread and leaves the main run loop as it found it: it takes its items out again, and
/// its private modes have names of their own. So the scenarios can be run in any order, and again.
struct Scenario: Sendable {
    let name: String
    let summary: String
    let expected: [Line]
    let body: @Sendable (Recorder) throws -> Void

    /// - Parameter expected: the lines, a text line each, as ``Line/init(parsing:)`` reads them.
    init(_ name: String, _ summary: String, expected: String, body: @escaping @Sendable (Recorder) throws -> Void) {
        self.name = name
        self.summary = summary
        self.expected = expected.split(separator: "\n").map { Line(parsing: $0) }
        self.body = body
    }
}

/// Why a scenario could not go on.
struct ScenarioError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
