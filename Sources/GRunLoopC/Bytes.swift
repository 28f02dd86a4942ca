// SPDX-License-Identifier: Apache-2.0
// A reference to bytes of C's, and bytes on their way between C and Swift, which are not copied where that can be.

import CGRunHeaders
import GRunLoop

/// As long as it lives, the bytes stay where they are.
final class Bytes: @unchecked Sendable {
    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) { self.pointer = g_bytes_ref(pointer) }

    deinit { g_bytes_unref(pointer) }

    var memory: UnsafeRawBufferPointer {
        var count: gsize = 0
        let first = g_bytes_get_data(pointer, &count)
        return UnsafeRawBufferPointer(start: first, count: Int(count))
    }
}

extension GRunLoop.MessageData {
    /// Bytes of C's; none if there are none.
    init(_ bytes: OpaquePointer?) {
        guard let bytes else {
            self = []
            return
        }
        let kept = Bytes(bytes)
        self = .bytes(kept.memory, keptBy: kept)
    }

    /// For C, which lets go of it by g_bytes_unref(): the same memory where an object keeps it, else a copy.
    func makeBytes() -> OpaquePointer? {
        withUnsafeBytes { memory in
            guard let keeper else { return g_bytes_new(memory.baseAddress, gsize(memory.count)) }
            return g_bytes_new_with_free_func(
                memory.baseAddress, gsize(memory.count),
                { keeper in
                    if let keeper { Unmanaged<AnyObject>.fromOpaque(keeper).release() }
                }, Unmanaged<AnyObject>.passRetained(keeper).toOpaque())
        }
    }
}
