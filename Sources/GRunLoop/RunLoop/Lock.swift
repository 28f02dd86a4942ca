// SPDX-License-Identifier: Apache-2.0
// The one file that makes locks: a loop's lock, and the guardian that says which lock guards an item now.

import CGRun
import Synchronization

/// A lock that is not recursive. Its memory is never given back to the system, only to the next lock: whoever read an old
/// guardian may still lock it, find that it is no longer the right one, and go on.
struct Lock: @unchecked Sendable, Equatable {
    fileprivate let memory: UnsafeMutablePointer<cgrun_lock>

    /// Guards every item that is in no loop.
    static let unbound = Lock()

    private static let poolLock = Lock()
    /// Guarded by `poolLock`.
    nonisolated(unsafe) private static var pool: [Lock] = []

    static func take() -> Lock {
        poolLock.withLock { pool.popLast() } ?? Lock()
    }

    static func giveBack(_ lock: Lock) {
        poolLock.withLock { pool.append(lock) }
    }

    private init() {
        memory = .allocate(capacity: 1)
        cgrun_lock_init(memory)
    }

    fileprivate init(_ memory: UnsafeMutablePointer<cgrun_lock>) {
        self.memory = memory
    }

    @inline(__always) func lock() {
        cgrun_lock_take(memory)
    }

    @inline(__always) func unlock() {
        cgrun_lock_give(memory)
    }

    /// What `body` returns is released by the caller, after the lock: the deinit of a user's object is user code.
    @inline(__always) func withLock<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}

/// Which lock guards a timer, an observer or a descriptor source: the lock of the loop that it is in, else ``Lock/unbound``.
///
/// One lock for an item and its loop means that there is no order between the two to get wrong, and that an item carries
/// 8 bytes for it. Binding goes from the loop's lock to `unbound`, never the other way.
struct Guardian: ~Copyable {
    private let current: Atomic<UnsafeMutablePointer<cgrun_lock>>

    init() {
        current = Atomic(Lock.unbound.memory)
    }

    borrowing func withLock<Result>(_ body: () -> Result) -> Result {
        let held = lock()
        defer { held.unlock() }
        return body()
    }

    borrowing func lock() -> Lock {
        while true {
            let lock = Lock(current.load(ordering: .acquiring))
            lock.lock()
            if current.load(ordering: .relaxed) == lock.memory { return lock }
            lock.unlock()
        }
    }

    /// With `lock` held: whether it is the item's.
    borrowing func isBound(to lock: Lock) -> Bool {
        current.load(ordering: .acquiring) == lock.memory
    }

    /// With `lock` held: makes it the item's, unless another loop's lock is. Answers whether it is the item's now.
    borrowing func bind(to lock: Lock) -> Bool {
        if isBound(to: lock) { return true }
        return Lock.unbound.withLock {
            guard current.load(ordering: .relaxed) == Lock.unbound.memory else { return false }
            current.store(lock.memory, ordering: .releasing)
            return true
        }
    }

    /// With the loop's lock held: the item is in no mode of it any more.
    borrowing func unbind() {
        Lock.unbound.withLock {
            current.store(Lock.unbound.memory, ordering: .releasing)
        }
    }
}
