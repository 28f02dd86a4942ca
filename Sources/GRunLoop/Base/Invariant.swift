// SPDX-License-Identifier: Apache-2.0
// What a container promises itself, looked at in debug builds only.

/// Ends the process if a container is not as its own operations have to leave it. A release build does not contain
/// the check.
///
/// A container calls it from its `checkInvariants()` after each change. Checks that look at every element are made
/// only while there are at most ``Invariant/few``, so that debug builds stay fast.
@inline(__always) func invariant(_ condition: @autoclosure () -> Bool, _ promise: StaticString) {
    #if DEBUG
        if !condition() { fatalError("GRunLoop: this does not hold any more: \(promise)") }
    #endif
}

enum Invariant {
    /// Up to how many elements a container looks at each of them.
    static let few = 16
}
