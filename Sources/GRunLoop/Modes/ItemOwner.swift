// SPDX-License-Identifier: Apache-2.0
// The loop that an item is in, and what an item asks of it: the program holds the item, and not the loop.

/// Carried out by the loop, which stands above.
protocol ItemOwner: AnyObject {
    /// The current time on the loop's clock.
    var time: Nanoseconds { get }
    /// The current time on the clock of the calling thread's loop.
    static var timeHere: Nanoseconds { get }

    /// Whether the calling thread is the loop's, also in virtual time.
    var isOfThisThread: Bool { get }

    // With the lock held: the item has gone, or has moved.

    func removeEverywhereLocked(_ item: some ModeItem)
    func rearmLocked(_ mode: ModeState) -> Kick?
    func wakeUpIfElsewhereLocked() -> Kick?
    func wakeUpForIdleWorkLocked() -> Kick?
    func watchAnewLocked(_ mode: ModeState, _ kick: inout Kick?)

    // Without a lock.

    func noteSignal(of membership: SourceMembership)
    /// Takes an invalid source out of those modes, and out of the common items.
    func remove(_ source: GRunLoop.Source, from modes: [ModeState])
}

extension GRunLoop {
    var owner: any ItemOwner { self }
    static var owner: any ItemOwner.Type { self }
}

extension Lock {
    /// The loop whose lock this is; it does not change as long as an item is guarded by it.
    var loop: Unmanaged<GRunLoop>? { owner.map { .fromOpaque($0) } }
}

extension Guardian {
    /// The loop that the item is in. Call it with the guardian held.
    var loop: GRunLoop? { bound?.loop?.takeUnretainedValue() }
}
