// SPDX-License-Identifier: Apache-2.0
// The semaphore with which a thread waits for a loop.

import CGRun
import Glibc

/// A counting semaphore that needs neither libdispatch nor a descriptor.
final class Semaphore: @unchecked Sendable {
    private let raw = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() {
        sem_init(raw, 0, 0)
    }

    deinit {
        sem_destroy(raw)
        raw.deallocate()
    }

    func signal() {
        sem_post(raw)
    }

    func wait() {
        while sem_wait(raw) != 0 && errno == EINTR {}
    }

    /// Waits until the semaphore is signalled, or CLOCK_MONOTONIC reaches `end`. Returns false if `end` was reached
    /// first.
    func wait(until end: Nanoseconds) -> Bool { cgrun_semaphore_wait(raw, max(0, end)) }
}
