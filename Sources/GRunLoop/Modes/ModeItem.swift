// SPDX-License-Identifier: Apache-2.0
// Timers, observers, descriptor sources, idle queues and ports: each is in one loop at a time, and in any number of its
// modes.

/// An object that a mailbox invalidates when nothing is awaited any more.
package protocol Invalidatable: AnyObject, Sendable {
    /// Ends the object, permanently. Any thread.
    func invalidate()
}

/// An item that is in one loop at a time. Guarded by its guardian.
///
/// Two kinds of items do not conform. A version-0 source can be in several loops, under a lock of its own, and it
/// calls its program for each mode. A context belongs to GLib, and has neither a guardian nor an end.
protocol ModeItem: GRunLoop.Item, Invalidatable {
    /// The kind's name in log messages.
    static var kind: StaticString { get }
    /// The item, as it is stored among the common items.
    var asCommonItem: CommonItem { get }
    var guardian: Guardian { get }
    var isValidLocked: Bool { get set }
    /// Whether the item was added to ``GRunLoop/Mode/common``, and not only to single modes that are common.
    var isCommonItem: Bool { get set }
    /// Where the actor lives that the item's closure belongs to; nil if it belongs to none.
    var homeLocked: Home? { get }
    /// One of the modes that the item is in; nil if it is in none.
    var firstMode: Unmanaged<ModeState>? { get }

    func isIn(_ mode: ModeState) -> Bool
    /// Makes the item join a mode that it is not in.
    func join(_ mode: ModeState, of loop: GRunLoop, _ effects: inout DeferredEffects) throws(AddError)
    /// Makes the item leave a mode that it is in. The caller holds the item until the lock is released.
    func leave(_ mode: ModeState, _ effects: inout DeferredEffects)
}

extension ModeItem {
    /// Makes the item invalid, and removes it from all modes. Returns whether it was valid before. Call it with the
    /// guardian held.
    func endLocked(_ held: Guardian.Held) -> Bool {
        guard isValidLocked else { return false }
        isValidLocked = false
        held?.loop?._withUnsafeGuaranteedRef { $0.removeEverywhereLocked(self) }
        return true
    }
}
