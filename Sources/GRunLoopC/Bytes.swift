// SPDX-License-Identifier: Apache-2.0
// A reference to a `GBytes`, and conversions between `GBytes` and message data. The conversions avoid copies where
// possible.

import CGRunHeaders
import GRunLoop
import GRunLoopMessagePorts

/// A reference to a `GBytes`, whose memory stays in place as long as this object lives.
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
    /// Makes message data that retains a `GBytes` and refers to the memory of this `GBytes` without a copy. NULL gives
    /// empty data.
    init(_ bytes: OpaquePointer?) {
        guard let bytes else {
            self = []
            return
        }
        let kept = Bytes(bytes)
        self = .bytes(kept.memory, keptBy: kept)
    }

    /// Returns this data as a `GBytes`, which the caller releases with g_bytes_unref(). If an object keeps the data's
    /// memory in place, the `GBytes` retains this object and refers to that memory. Otherwise the bytes are copied.
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
