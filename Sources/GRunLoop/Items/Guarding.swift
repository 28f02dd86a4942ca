// SPDX-License-Identifier: Apache-2.0
// The loop whose lock guards an item.

extension Lock {
    /// The loop whose lock this is; it does not change as long as an item is guarded by it.
    var loop: Unmanaged<GRunLoop>? { owner.map { .fromOpaque($0) } }
}

extension Guardian {
    /// The loop that the item is in. Call it with the guardian held.
    var loop: GRunLoop? { bound?.loop?.takeUnretainedValue() }
}
