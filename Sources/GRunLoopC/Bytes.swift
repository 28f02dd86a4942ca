// SPDX-License-Identifier: Apache-2.0
// A reference to bytes of C's.

import CGRun

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
