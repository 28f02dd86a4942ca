// SPDX-License-Identifier: Apache-2.0
// The protocol of the items that are in one loop at a time.

/// An object that a ``Mailbox`` invalidates when the mailbox is closed.
package protocol Invalidatable: AnyObject, Sendable {
    /// Ends the object permanently. Any thread may call this method.
    func invalidate()
}

/// An item that is in one loop at a time, and in any number of this loop's modes. Guarded by its ``Guardian``.
///
/// Version-0 sources and contexts do not conform to this protocol. A version-0 source can be in several loops, so it
/// has its own lock. A context belongs to GLib, has no guardian and cannot be invalidated.
protocol ModeItem: GRunLoop.Item, Invalidatable {
    /// The kind's name in log messages.
    static var kind: StaticString { get }
    var asCommonItem: CommonItem { get }
    var guardian: Guardian { get }
    var isValidLocked: Bool { get set }
    /// Whether the item was added to ``GRunLoop/Mode/common``, and not only to individual common modes.
    var isCommonItem: Bool { get set }
    /// The ``Home`` of the actor that owns the item's closure; nil if no actor owns the closure.
    var homeLocked: Home? { get }
    /// One of the modes that the item is in; nil if it is in none.
    var firstMode: Unmanaged<ModeState>? { get }

    func isIn(_ mode: ModeState) -> Bool
    /// Makes the item join a mode that it is not in.
    func join(_ mode: ModeState, of loop: GRunLoop, _ effects: inout DeferredEffects) throws(AddError)
    /// Makes the item leave a mode that it is in. The caller keeps a reference to the item until the lock is released.
    func leave(_ mode: ModeState, _ effects: inout DeferredEffects)
}

extension ModeItem {
    /// Makes the item invalid, and removes it from all modes. Returns whether it was valid before. Call this function
    /// with the guardian held.
    func endLocked(_ held: Guardian.Held) -> Bool {
        guard isValidLocked else { return false }
        isValidLocked = false
        held?.loop?._withUnsafeGuaranteedRef { $0.removeEverywhereLocked(self) }
        return true
    }
}
