// SPDX-License-Identifier: Apache-2.0
// The one file that makes locks: a loop's lock, and the guardian that says which lock guards an item now.

import CGRun
import Synchronization

/// A lock that is not recursive. Its memory is never given back to the system, only to the next lock: whoever read an
/// old guardian may still lock it, find that it is no longer the right one, and go on.
struct Lock: @unchecked Sendable {
    private struct Cell {
        /// At the beginning: its address is the lock's.
        var lock = cgrun_lock()
        var owner: Unmanaged<GRunLoop>?
    }

    private let cell: UnsafeMutablePointer<Cell>

    private static let poolLock = Lock()
    /// Guarded by `poolLock`.
    nonisolated(unsafe) private static var pool: [Lock] = []

    static func take() -> Lock {
        guard !Fork.isChild else { return Lock() }
        return poolLock.withLock { pool.popLast() } ?? Lock()
    }

    static func giveBack(_ lock: Lock) {
        // Another thread may have been at the pool when a child was forked, or have had this lock.
        guard !Fork.isChild else { return }
        lock.owner = nil
        poolLock.withLock { pool.append(lock) }
    }

    private init() {
        cell = .allocate(capacity: 1)
        cell.initialize(to: Cell())
        cgrun_lock_init(memory)
    }

    /// Of a lock that ``address`` was asked of.
    @inline(__always) fileprivate init?(at address: UInt) {
        guard address > Guardian.taken, let cell = UnsafeMutablePointer<Cell>(bitPattern: address) else { return nil }
        self.cell = cell
    }

    fileprivate var address: UInt { UInt(bitPattern: cell) }

    private var memory: UnsafeMutablePointer<cgrun_lock> {
        UnsafeMutableRawPointer(cell).assumingMemoryBound(to: cgrun_lock.self)
    }

    /// The loop whose lock this is; it does not change as long as an item is guarded by it.
    var owner: Unmanaged<GRunLoop>? {
        get { cell.pointee.owner }
        nonmutating set { cell.pointee.owner = newValue }
    }

    @inline(__always) func lock() {
        cgrun_lock_take(memory)
    }

    @inline(__always) func unlock() {
        cgrun_lock_give(memory)
    }

    /// What `body` returns is released by the caller, after the lock: the deinit of a user's object is user code.
    @inline(__always) func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}

/// What guards a timer, an observer or a descriptor source: the lock of the loop that it is in, else a bit of its own.
///
/// One lock for an item and its loop means that there is no order between the two to get wrong, and that an item
/// carries 8 bytes for it. The bit is set for a few loads and stores, under which nothing else is locked.
struct Guardian: ~Copyable {
    /// The address of the lock, or one of the two below.
    private let word = Atomic<UInt>(free)

    private static let free: UInt = 0
    fileprivate static let taken: UInt = 1

    /// What was locked: the loop's lock, or, if nil, the item's own bit.
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

    /// With what guards the item held: the loop that the item is in.
    @inline(__always) var loop: GRunLoop? { Lock(at: word.load(ordering: .relaxed))?.owner?.takeUnretainedValue() }

    /// With `lock` held: whether it is the item's.
    @inline(__always) borrowing func isBound(to lock: Lock) -> Bool {
        word.load(ordering: .acquiring) == lock.address
    }

    /// With `lock` held: makes it the item's, unless another loop's lock is. Answers whether it is the item's now.
    @inline(__always) borrowing func bind(to lock: Lock) -> Bool {
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

    /// With the loop's lock held: the item is in no mode of it any more. Whoever waits for that lock looks again when
    /// it has it.
    @inline(__always) borrowing func unbind() {
        word.store(Self.free, ordering: .releasing)
    }

    /// Releasing, too: whoever finds a lock here locks it, and must find it made.
    @inline(__always) private borrowing func take(for value: UInt) -> Bool {
        word.compareExchange(
            expected: Self.free, desired: value, successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed
        ).exchanged
    }
}
