// SPDX-License-Identifier: Apache-2.0
// The mapped memory of a received message.

import CGRunMessagePorts
import GRunLoop
import Synchronization

/// Maps memory that another process sent and can no longer change. The memory is unmapped when this object is released.
///
/// Receiving takes constant time, because a page is mapped only when it is read. Before the first read, the reading
/// thread checks that every page was written. Until this check, the descriptor of the memory stays open. Threads: any.
final class MappedMemory: @unchecked Sendable {
    /// Memory up to this size is checked when it is received, so that its descriptor is closed immediately.
    private static let smallSize = 1 << 20

    private let mapping: UnsafeRawBufferPointer
    private let allowance: MessageAllowance?
    private let isLookedUp = Atomic(false)
    private let lock: Lock
    /// Nil once the memory was checked. Guarded by the lock.
    @exclusivity(unchecked) private var descriptor: ReceivedDescriptors?

    /// Nil and errno on failure. `cgrun_memory_map()` documents the errors.
    init?(_ descriptor: ReceivedDescriptors, _ size: Int, countedBy allowance: MessageAllowance? = nil) {
        guard let first = cgrun_memory_map(descriptor.first, UInt64(size)) else { return nil }
        mapping = UnsafeRawBufferPointer(start: first, count: size)
        self.allowance = allowance
        self.descriptor = descriptor
        lock = Lock.take()
        allowance?.add(MessageHolding(memories: 1, bytes: size))
        if size <= Self.smallSize { lookUp() }
    }

    deinit {
        cgrun_memory_unmap(mapping.baseAddress, UInt64(mapping.count))
        allowance?.remove(MessageHolding(memories: 1, bytes: mapping.count))
        Lock.giveBack(lock)
    }

    var count: Int { mapping.count }

    var bytes: UnsafeRawBufferPointer {
        if !isLookedUp.load(ordering: .acquiring) { lookUp() }
        return mapping
    }

    private func lookUp() {
        // In a forked child the lock may stay locked forever, because another thread may have held the lock at the
        // fork.
        guard !Fork.isChild else { return }
        // The descriptor is returned, so that it is closed after the lock is released.
        _ = lock.withLock { () -> ReceivedDescriptors? in
            guard let descriptor else { return nil }
            cgrun_memory_clear_if_sparse(descriptor.first, mapping.baseAddress, UInt64(mapping.count))
            self.descriptor = nil
            isLookedUp.store(true, ordering: .releasing)
            return descriptor
        }
    }
}
