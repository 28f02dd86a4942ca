// SPDX-License-Identifier: Apache-2.0
// The locks of the library, all of which are made in this file, and the guardian, which says which lock guards an item
// now.

package import CGRun
import Synchronization

package typealias Lock = CGRun.Lock

/// A lock that is not recursive. Its memory is never freed, only used for the next lock. A thread may read an item's
/// lock from the guardian just before the item changes its lock. The thread then takes the old lock, and finds that it
/// no longer guards the item. `lock()` and `unlock()` are C.
extension Lock: @unchecked @retroactive Sendable {
    private static let poolLock = make()
    /// Guarded by `poolLock`.
    nonisolated(unsafe) private static var pool: [Lock] = []

    package static func take() -> Lock {
        guard !Fork.isChild else { return make() }
        return poolLock.withLock { pool.popLast() } ?? make()
    }

    package static func giveBack(_ lock: Lock) {
        // When the child was forked, another thread may have held the pool's lock or this one.
        guard !Fork.isChild else { return }
        lock.owner = nil
        poolLock.withLock { pool.append(lock) }
    }

    private static func make() -> Lock {
        let memory = UnsafeMutablePointer<cgrun_lock>.allocate(capacity: 1)
        cgrun_lock_init(memory)
        return Lock(rawValue: memory)
    }

    /// The lock at an ``address``; nil for the two words of a guardian that is bound to no lock.
    fileprivate init?(at address: UInt) {
        guard address > Guardian.taken, let memory = UnsafeMutablePointer<cgrun_lock>(bitPattern: address) else {
            return nil
        }
        self.init(rawValue: memory)
    }

    fileprivate var address: UInt { UInt(bitPattern: rawValue) }

    var owner: UnsafeMutableRawPointer? {
        get { rawValue.pointee.owner }
        nonmutating set { rawValue.pointee.owner = newValue }
    }

    /// Calls `body` with the lock held. The result of `body` is released by the caller, after the lock, because the
    /// deinit of a user's object is user code.
    @inline(__always) func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}

/// Guards an item that is in one loop at a time (`ModeItem`). The lock of this loop guards the item; if the item is in
/// no loop, a bit does.
///
/// An item and its loop have one lock, so there is no locking order to get wrong, and an item needs only 8 bytes. The
/// bit is held for a few loads and stores, and no other lock is taken meanwhile.
struct Guardian: ~Copyable {
    /// The address of the loop's lock, or one of the two words below.
    private let word = Atomic<UInt>(free)

    private static let free: UInt = 0
    fileprivate static let taken: UInt = 1

    /// The lock that is held: the loop's lock, or, if nil, the item's own bit.
    typealias Held = Lock?

    borrowing func withLock<Result: ~Copyable>(_ body: () -> Result) -> Result {
        let held = lock()
        defer { unlock(held) }
        return body()
    }

    @inline(__always) borrowing func lock() -> Held {
        var looks: Int32 = 0
        while true {
            let found = word.load(ordering: .acquiring)
            if let lock = Lock(at: found) {
                lock.lock()
                if isBound(to: lock) { return lock }
                lock.unlock()
            } else if found == Self.free, take(for: Self.taken) {
                return nil
            } else {
                cgrun_lock_relax(&looks)
            }
        }
    }

    @inline(__always) borrowing func unlock(_ held: Held) {
        if let held { held.unlock() } else { word.store(Self.free, ordering: .releasing) }
    }

    /// The lock that the guardian is bound to; nil if there is none. Call it with the guardian held.
    var bound: Held { Lock(at: word.load(ordering: .relaxed)) }

    /// Returns whether `lock` guards the item. Call it with `lock` held.
    borrowing func isBound(to lock: Lock) -> Bool {
        word.load(ordering: .acquiring) == lock.address
    }

    /// Makes `lock` the item's lock, unless the item has the lock of another loop. Returns whether `lock` guards the
    /// item now. Call it with `lock` held.
    borrowing func bind(to lock: Lock) -> Bool {
        var looks: Int32 = 0
        while true {
            let found = word.load(ordering: .acquiring)
            if found == lock.address { return true }
            if found == Self.free {
                if take(for: lock.address) { return true }
            } else if found != Self.taken {
                return false
            }
            cgrun_lock_relax(&looks)
        }
    }

    /// Unbinds the item when it is in no mode of the loop any more. Call it with the loop's lock held. A thread that
    /// waits for this lock checks the guardian again once it has the lock.
    borrowing func unbind() {
        word.store(Self.free, ordering: .releasing)
    }

    /// Replaces the word if it is `free`. The exchange acquires and releases, because another thread that reads the
    /// lock's address here must see the lock initialised.
    private borrowing func take(for value: UInt) -> Bool {
        word.compareExchange(
            expected: Self.free, desired: value, successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed
        ).exchanged
    }
}
