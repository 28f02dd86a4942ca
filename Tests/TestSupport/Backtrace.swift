// SPDX-License-Identifier: Apache-2.0
// Who has called whom, as a debugger would show it.

import Runtime

/// The functions on the stack, innermost first. It reads the symbols of the whole process: slow.
public func functionsOnTheStack() -> [String] {
    guard let symbolicated = try? Backtrace.capture().symbolicated() else { return [] }
    // A function that was inlined has no frame of its own, and a debugger without line tables does not show it.
    return symbolicated.frames.filter { !$0.inlined }.compactMap { $0.symbol?.name }
}
