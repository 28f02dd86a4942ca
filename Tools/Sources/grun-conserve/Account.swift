// SPDX-License-Identifier: Apache-2.0
// One kind of work: how a program hands it to its loop, and the account of it.

import GRunLoop

/// Used on the loop's thread only, except where a subclass says otherwise.
class Account: @unchecked Sendable {
    unowned let program: Program

    required init(_ program: Program) { self.program = program }

    var loop: GRunLoop { program.loop }

    /// Before the first action, on the loop's thread.
    func begin() {}
    /// Hands something to the loop.
    func act() {}
    /// Invalidates, removes, moves or cancels something that the loop has.
    func change() {}
    /// The things that the loop has accepted and not done yet; nil if there are none.
    var open: String? { nil }
    /// Everything is done. Ends the items that would keep the loop busy.
    func quiet() {}
    /// Leaves something behind, which the end of the loop must release without a call.
    func leave() {}
    /// The loop has ended, or is not used any more.
    func close() {}
}

/// Joins several accounts into one line.
func joined(_ lines: [String?]) -> String? {
    let found = lines.compactMap(\.self)
    return found.isEmpty ? nil : found.joined(separator: ", ")
}
