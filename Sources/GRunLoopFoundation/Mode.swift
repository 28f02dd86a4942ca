// SPDX-License-Identifier: Apache-2.0
// A mode has the same name on both sides.

public import Foundation
public import GRunLoop

extension GRunLoop.Mode {
    /// The mode of this name: `.default` and `.common` are the ones of ``GRunLoop``.
    ///
    /// Threads: any.
    public init(_ mode: RunLoop.Mode) { self.init(rawValue: mode.rawValue) }
}

extension RunLoop.Mode {
    /// The mode of this name: `.default` and `.common` are Foundation's own.
    ///
    /// Threads: any.
    public init(_ mode: GRunLoop.Mode) { self.init(rawValue: mode.rawValue) }
}
