// SPDX-License-Identifier: Apache-2.0
// What an item needs of the loop that it is in. An item's files depend on this protocol, and not on the loop.

/// What an item needs of its loop. The loop implements it; items do not depend on the loop's files.
protocol ItemOwner: AnyObject {
    /// The current time on the loop's clock.
    var time: Nanoseconds { get }
    /// The current time on the clock of the calling thread's loop.
    static var timeHere: Nanoseconds { get }

    /// Whether the calling thread is the loop's, also in virtual time.
    var isOfThisThread: Bool { get }

    // Called with the lock held, when an item was invalidated or has changed.

    func removeEverywhereLocked(_ item: some ModeItem)
    func rearmLocked(_ mode: ModeState) -> Kick?
    func wakeUpIfElsewhereLocked() -> Kick?
    func wakeUpForIdleWorkLocked() -> Kick?
    func restartSleepLocked(_ mode: ModeState, _ kick: inout Kick?)

    // Without a lock.

    func noteSignal(of membership: SourceMembership)
    /// Removes an invalid source from `modes` and from the common items.
    func remove(_ source: GRunLoop.Source, from modes: [ModeState])
}

extension GRunLoop {
    var owner: any ItemOwner { self }
    static var owner: any ItemOwner.Type { self }
}

extension Lock {
    /// The loop whose lock this is. It does not change as long as the lock guards an item.
    var loop: Unmanaged<GRunLoop>? { owner.map { .fromOpaque($0) } }
}

extension Guardian {
    /// The loop that the item is in. Call it with the guardian held.
    var loop: GRunLoop? { bound?.loop?.takeUnretainedValue() }
}
