// SPDX-License-Identifier: Apache-2.0
// An object that a closure captures, to notice when the closure is released.

/// Calls a closure when it is deinitialized, on that thread.
public final class AtDeinit: Sendable {
    private let body: @Sendable () -> Void
    public init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    deinit { body() }
}
