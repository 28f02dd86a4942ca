// SPDX-License-Identifier: Apache-2.0
// Checks of a container's invariants, in debug builds only.

/// Ends the process if an invariant of a container does not hold. A release build does not contain the check.
///
/// Containers call this function from `checkInvariants()` after each change. To keep debug builds fast, a container
/// checks every element only while it has at most ``Invariant/few`` elements.
@inline(__always) func invariant(_ condition: @autoclosure () -> Bool, _ promise: StaticString) {
    #if DEBUG
        if !condition() {
            fatalError("GRunLoop: an internal check failed: \(promise). This is a bug in GRunLoop; please report it")
        }
    #endif
}

enum Invariant {
    static let few = 16
}
