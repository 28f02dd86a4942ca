// SPDX-License-Identifier: Apache-2.0
// Something that a closure holds, to see when that is let go of.

/// Calls a closure when it goes, on whatever thread that is.
public final class AtDeinit: Sendable {
    private let body: @Sendable () -> Void
    public init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    deinit { body() }
}
