// SPDX-License-Identifier: Apache-2.0
// A scenario: a name, a summary, the expected lines, and the code that must produce these lines.

/// A demonstration of one feature of the run loop, which checks itself.
///
/// A scenario runs on the main thread. At its end, the main run loop is in the same state as at its beginning. A
/// scenario removes its items, and no other scenario uses its private modes. So the scenarios can run in any order, and
/// repeatedly.
struct Scenario: Sendable {
    let name: String
    let summary: String
    let expected: [Line]
    let body: @Sendable (Recorder) throws -> Void

    /// - Parameter expected: the expected lines, one text line each, in the format of ``Line/init(parsing:)``.
    init(_ name: String, _ summary: String, expected: String, body: @escaping @Sendable (Recorder) throws -> Void) {
        self.name = name
        self.summary = summary
        self.expected = expected.split(separator: "\n").map { Line(parsing: $0) }
        self.body = body
    }
}

struct ScenarioError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
