// SPDX-License-Identifier: Apache-2.0
// Operations that may grow faster than logarithmically, with the reasons.

struct Exception {
    /// The names of the kinds.
    let kinds: [String]
    /// The operation; nil means each operation of the kinds.
    let operation: String?
    let reason: String

    var id: String { (kinds + [operation].compactMap(\.self)).joined(separator: ", ") }

    func covers(_ row: Row) -> Bool { kinds.contains(row.kind) && (operation ?? row.operation) == row.operation }

    static let all = [
        Exception(
            kinds: watched.flatMap { ["\($0) a mode", "modes of a \($0)"] }, operation: "add",
            reason: """
                each mode that watches a descriptor has an epoll and a table as long as the descriptor's number; the \
                kernel provides both, and its share grows until each table is in new memory
                """),
        Exception(
            kinds: watched.map { "common modes of a \($0)" }, operation: "make common",
            reason: "the same epoll and table for each mode"),
        Exception(
            kinds: ["source of one descriptor"], operation: nil,
            reason: """
                the kernel watches a descriptor once, for what any of its sources waits for, and an event is offered \
                to each of them; a descriptor has one source as a rule, and two if one reads and one writes
                """),
        Exception(
            kinds: ["ambient mode"], operation: "pop",
            reason: """
                a host pushes a mode for each modal callback that is under way, which are few, and pops the last one; \
                the list is searched from its end
                """),
        Exception(
            kinds: ["context"], operation: nil,
            reason: """
                each pass prepares, queries and checks every context of its mode, so that a mode has few; a list of \
                them is what a pass can read without a search
                """),
    ]

    /// Kinds that the kernel watches.
    private static let watched = ["descriptor source", "signal source", "child source"]
}

extension Row {
    var exception: Exception? { Exception.all.first { $0.covers(self) } }

    /// Whether no further measurement is needed.
    var isExpected: Bool { isLogarithmic || exception != nil }
}
