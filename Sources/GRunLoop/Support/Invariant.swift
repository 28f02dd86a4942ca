// SPDX-License-Identifier: Apache-2.0
// Checks of a container's invariants, in debug builds only.

/// Ends the process if an invariant of a container does not hold. A release build does not contain the check.
///
/// A container calls it from its `checkInvariants()` after each change. Checks that look at every element are made
/// only while there are at most ``Invariant/few``, so that debug builds stay fast.
@inline(__always) func invariant(_ condition: @autoclosure () -> Bool, _ promise: StaticString) {
    #if DEBUG
        if !condition() { fatalError("GRunLoop: this does not hold any more: \(promise)") }
    #endif
}

enum Invariant {
    /// A container with more elements does not check each of them.
    static let few = 16
}
