// SPDX-License-Identifier: Apache-2.0
// Conversions between the modes of Foundation's run loop and of ours. A mode has the same name in both loops.

public import Foundation
public import GRunLoop

extension GRunLoop.Mode {
    /// Makes the mode with the same name: `.default` and `.common` become `GRunLoop.Mode.default` and
    /// `GRunLoop.Mode.common`.
    ///
    /// Threads: any.
    public init(_ mode: RunLoop.Mode) { self.init(rawValue: mode.rawValue) }
}

extension RunLoop.Mode {
    /// Makes the mode with the same name: `.default` and `.common` become Foundation's own.
    ///
    /// Threads: any.
    public init(_ mode: GRunLoop.Mode) { self.init(rawValue: mode.rawValue) }
}
