// SPDX-License-Identifier: Apache-2.0
// One kind of work: how a program passes it to its loop, and its account.

import GRunLoop

/// Used on the loop's thread only, unless a subclass documents otherwise.
class Account: @unchecked Sendable {
    unowned let program: Program

    required init(_ program: Program) { self.program = program }

    var loop: GRunLoop { program.loop }

    /// Called on the loop's thread before the first action.
    func begin() {}
    /// Passes work to the loop.
    func act() {}
    /// Invalidates, removes, moves or cancels something in the loop.
    func change() {}
    /// Describes the accepted work that is not done yet; nil if there is none.
    var open: String? { nil }
    /// Called when everything is done. Ends the items that would keep the loop busy.
    func quiet() {}
    /// Leaves something behind, which the end of the loop must release without a call.
    func leave() {}
    /// Called after the loop has ended or is out of use.
    func close() {}
}

/// Joins several accounts into one line.
func joined(_ lines: [String?]) -> String? {
    let found = lines.compactMap(\.self)
    return found.isEmpty ? nil : found.joined(separator: ", ")
}
