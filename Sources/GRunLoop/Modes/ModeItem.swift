// SPDX-License-Identifier: Apache-2.0
// What timers, observers, descriptor sources, idle queues and ports have in common: each is in one loop at a time, and
// in any number of its modes.

protocol Invalidatable: AnyObject, Sendable {
    /// Takes the item out of every mode, for good. Any thread.
    func invalidate()
}

/// Guarded by its guardian. A version-0 source is none: it can be in several loops, under a lock of its own, and its
/// program is told of each mode. Nor is a context, which is GLib's and has neither a guardian nor an end.
protocol ModeItem: Invalidatable {
    /// Why it cannot join a mode.
    associatedtype Refusal: Error = Never

    /// For messages.
    static var kind: StaticString { get }
    /// As one of the common items.
    var asItem: Item { get }
    var guardian: Guardian { get }
    var isValidLocked: Bool { get set }
    /// Whether it was added to the common modes as such.
    var isCommonItem: Bool { get set }
    /// Where its closure belongs, if that is an actor.
    var homeLocked: Home? { get }
    /// One of the modes that it is in; nil if it is in none.
    var firstMode: Unmanaged<ModeState>? { get }

    func isIn(_ mode: ModeState) -> Bool
    /// Joins a mode that it is not in.
    func join(_ mode: ModeState, of loop: GRunLoop, _ effects: inout Effects) throws(Refusal)
    /// Leaves a mode that it is in. Its caller holds it until the lock is released.
    func leave(_ mode: ModeState, _ effects: inout Effects)
}

extension ModeItem {
    /// With its guardian held: it is invalid from now on, and in no mode. Returns whether it was valid before.
    func endLocked(_ held: Guardian.Held) -> Bool {
        guard isValidLocked else { return false }
        isValidLocked = false
        held?.loop?._withUnsafeGuaranteedRef { $0.owner.removeEverywhereLocked(self) }
        return true
    }
}
