// SPDX-License-Identifier: Apache-2.0
// Who has called whom, as a debugger would show it.

import Runtime

/// The functions on the stack, innermost first. It reads the symbols of the whole process: slow.
public func functionsOnTheStack() -> [String] {
    guard let symbolicated = try? Backtrace.capture().symbolicated() else { return [] }
    return symbolicated.frames.compactMap { $0.symbol?.name }
}
