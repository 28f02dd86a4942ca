// SPDX-License-Identifier: Apache-2.0
// Makes every lock of the library. Also contains the guardian, which records the lock that guards an item.

package import CGRun
import Synchronization

package typealias Lock = CGRun.Lock

/// A lock that is not recursive. Its memory is reused for other locks but never freed. The reason is that a thread may
/// read the address of an item's lock just before the item gets another lock. The thread then takes the old lock, and
/// finds that it no longer guards the item. The functions `lock()` and `unlock()` are written in C.
extension Lock: @unchecked @retroactive Sendable {
    private static let poolLock = make()
    /// Guarded by `poolLock`.
    nonisolated(unsafe) private static var pool: [Lock] = []

    package static func take() -> Lock {
        guard !Fork.isChild else { return make() }
        return poolLock.withLock { pool.popLast() } ?? make()
    }

    package static func giveBack(_ lock: Lock) {
        // In a forked child, `poolLock` and `lock` may be locked forever, by threads that the child does not have.
        guard !Fork.isChild else { return }
        lock.owner = nil
        poolLock.withLock { pool.append(lock) }
    }

    private static func make() -> Lock {
        let memory = UnsafeMutablePointer<cgrun_lock>.allocate(capacity: 1)
        cgrun_lock_init(memory)
        return Lock(rawValue: memory)
    }

    /// Returns the lock at an address; nil if the value of a guardian's word is not an address.
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

    /// Calls `body` with the lock held. If objects must be released, `body` returns them, so that the caller releases
    /// them after unlocking. A deinit may be user code.
    @inline(__always) func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}

/// Guards an item that is in one loop at a time (`ModeItem`). The lock of that loop guards the item. If the item is in
/// no loop, a bit of the guardian guards it.
///
/// Because an item shares its loop's lock, there is no locking order between a loop and its items, and a guardian needs
/// only 8 bytes. A thread holds the bit for a few loads and stores, and takes no other lock meanwhile.
struct Guardian: ~Copyable {
    /// The address of the loop's lock, or `free` or `taken`.
    private let word = Atomic<UInt>(free)

    private static let free: UInt = 0
    fileprivate static let taken: UInt = 1

    /// The lock that a thread holds: the loop's lock, or nil if the thread holds the guardian's own bit.
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

    /// The lock of the item's loop; nil if the item is in no loop. Read this property with the guardian held.
    var bound: Held { Lock(at: word.load(ordering: .relaxed)) }

    /// Returns whether `lock` guards the item. Call this function with `lock` held.
    borrowing func isBound(to lock: Lock) -> Bool {
        word.load(ordering: .acquiring) == lock.address
    }

    /// Makes `lock` the item's lock, unless the item has another loop's lock. Returns whether `lock` guards the item
    /// now. Call this function with `lock` held.
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

    /// Unbinds the item after it has left the last mode of its loop. Call this function with the loop's lock held. A
    /// thread that waits for the loop's lock checks the guardian again after it has taken the lock.
    borrowing func unbind() {
        word.store(Self.free, ordering: .releasing)
    }

    /// Replaces the word if it is `free`. The exchange has acquire and release ordering, so that another thread that
    /// reads the lock's address from the word sees an initialised lock.
    private borrowing func take(for value: UInt) -> Bool {
        word.compareExchange(
            expected: Self.free, desired: value, successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed
        ).exchanged
    }
}
