// SPDX-License-Identifier: Apache-2.0
// A value behind a lock.

import Glibc

/// A value behind a mutex of the system. The Thread Sanitizer does not understand Swift's `Mutex`, and would report
/// false data races. The lock of the core cannot be used if the core is in another library, as in `GRunLoopDynamic`.
struct Guarded<Value>: @unchecked Sendable {
    /// The value and the mutex, in one piece of memory.
    private final class Storage: ManagedBuffer<Value, pthread_mutex_t> {
        deinit { withUnsafeMutablePointerToElements { _ = pthread_mutex_destroy($0) } }
    }

    private let storage: ManagedBuffer<Value, pthread_mutex_t>

    init(_ value: Value) {
        storage = Storage.create(minimumCapacity: 1) { _ in value }
        storage.withUnsafeMutablePointerToElements { _ = pthread_mutex_init($0, nil) }
    }

    /// Calls `body` with the lock held. Objects that must be released are returned by `body`, so that the caller
    /// releases them after unlocking. Do not store a bare closure as `Value`, because each call would wrap the closure
    /// again.
    func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        storage.withUnsafeMutablePointers { value, mutex in
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return body(&value.pointee)
        }
    }
}
