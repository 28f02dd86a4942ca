// SPDX-License-Identifier: Apache-2.0
// A program written by hand, with the trace that the behaviour list promises.

/// One scripted scenario. Its trace holds on the real CFRunLoop and on GRunLoop.
public struct Scenario: Sendable {
    /// The items of the behaviour list that it shows.
    public let items: [Int]
    public let name: String
    public let program: Program
    public let expected: [String]
    /// Whether the oracle's trace is another one, by a bug of the oracle or on purpose.
    public let isGRunLoopOnly: Bool

    init(
        _ items: [Int], _ name: String, isGRunLoopOnly: Bool = false, _ program: Program, gives expected: String
    ) {
        self.items = items
        self.name = name
        self.program = program
        self.isGRunLoopOnly = isGRunLoopOnly
        self.expected = expected.split(separator: "\n").map(String.init)
    }

    /// Every scenario.
    public static let all: [Scenario] = []
}
