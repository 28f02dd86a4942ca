// SPDX-License-Identifier: Apache-2.0
// The calls on the stack, as a debugger would show them.

import Runtime

/// Returns the functions on the stack, innermost first. This is slow, because it reads all symbols of the process.
public func functionsOnTheStack() -> [String] {
    guard let symbolicated = try? Backtrace.capture().symbolicated() else { return [] }
    // An inlined function has no frame of its own, and a debugger without line tables does not show it.
    return symbolicated.frames.filter { !$0.inlined }.compactMap { $0.symbol?.name }
}
