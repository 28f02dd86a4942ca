// SPDX-License-Identifier: Apache-2.0
// The bridge that programs copy from each other: a GSource on the eventfd of libdispatch's main queue.

import CGRunGLib
import Glibc

@_silgen_name("_dispatch_get_main_queue_handle_4CF") private func mainQueueHandle() -> Int32
@_silgen_name("_dispatch_main_queue_callback_4CF") private func drainMainQueue(_ message: UnsafeMutableRawPointer?)

public enum DispatchBridge {
    /// - Parameters:
    ///   - priority: the priority of the GSource; 0 is GLib's default.
    ///   - reads: whether the callback reads the eventfd before it drains the queue. Many copies of this bridge do not.
    public static func install(priority: Int32 = 0, reads: Bool = true) {
        let read: GUnixFDSourceFunc = { descriptor, _, _ in
            var count: UInt64 = 0
            _ = Glibc.read(descriptor, &count, MemoryLayout.size(ofValue: count))
            drainMainQueue(nil)
            return 1
        }
        let onlyDrain: GUnixFDSourceFunc = { _, _, _ in
            drainMainQueue(nil)
            return 1
        }
        g_unix_fd_add_full(priority, mainQueueHandle(), G_IO_IN, reads ? read : onlyDrain, nil, nil)
    }
}
