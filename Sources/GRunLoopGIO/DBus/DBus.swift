// SPDX-License-Identifier: Apache-2.0
// The namespace of D-Bus.

import CGRunGIO
import GRunLoop

/// The types for D-Bus: connections, calls, signals, names, exported objects and proxies.
public enum DBus {
    /// The loop of a thread, and the context in which GDBus delivers what the thread subscribes now.
    final class Delivery: Sendable {
        let loop: GRunLoop
        nonisolated(unsafe) let context = g_main_context_ref_thread_default()

        /// - Throws: ``GIO/WrongThreadError`` if the calling thread runs no loop.
        init() throws(GIO.WrongThreadError) {
            loop = try GIO.callersLoop()
        }

        deinit { g_main_context_unref(context) }
    }
}
