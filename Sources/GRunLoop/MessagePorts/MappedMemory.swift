// SPDX-License-Identifier: Apache-2.0
// The memory of a message that has come.

import CGRun
import Synchronization

/// Memory of another process's that it cannot change. It is unmapped with this object.
///
/// To receive memory costs the same whatever its size: its pages are mapped as they are read. Whether all of them are
/// there is looked up before the first read, by the thread that reads. Until then the descriptor of the memory stays
/// open. Threads: any.
final class MappedMemory: @unchecked Sendable {
    /// Memory up to this size is looked up when it comes, so that it keeps no descriptor.
    private static let smallSize = 1 << 20

    private let mapping: UnsafeRawBufferPointer
    private let allowance: MessageAllowance?
    private let isLookedUp = Atomic(false)
    private let lock: Lock
    /// Nil once the memory was looked up. Guarded by the lock.
    @exclusivity(unchecked) private var descriptor: ReceivedDescriptors?

    /// Nil and errno: see cgrun_memory_map().
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
        // When the child was forked, another thread may have held the lock.
        guard !Fork.isChild else { return }
        // The descriptor is closed after the lock.
        _ = lock.withLock { () -> ReceivedDescriptors? in
            guard let descriptor else { return nil }
            cgrun_memory_clear_if_sparse(descriptor.first, mapping.baseAddress, UInt64(mapping.count))
            self.descriptor = nil
            isLookedUp.store(true, ordering: .releasing)
            return descriptor
        }
    }
}
