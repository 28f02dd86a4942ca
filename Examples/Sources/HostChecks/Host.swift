// SPDX-License-Identifier: Apache-2.0
// The host: GLib's own functions iterate its default context.

import CGRunGLib
import GRunLoop
import Glibc

/// A closure as a `gpointer`. GLib calls it until it returns false.
private final class Box {
    let body: () -> Bool
    init(_ body: @escaping () -> Bool) { self.body = body }

    static let call: GSourceFunc = { data in
        guard let data else { return 0 }
        return Unmanaged<Box>.fromOpaque(data).takeUnretainedValue().body() ? 1 : 0
    }
    static let release: GDestroyNotify = { data in
        guard let data else { return }
        Unmanaged<Box>.fromOpaque(data).release()
    }
}

enum Host {
    static func addTimeout(milliseconds: UInt32, priority: Int32 = 0, _ body: @escaping () -> Bool) -> UInt32 {
        g_timeout_add_full(priority, milliseconds, Box.call, Unmanaged.passRetained(Box(body)).toOpaque(), Box.release)
    }

    static func addIdle(priority: Int32, _ body: @escaping () -> Bool) -> UInt32 {
        g_idle_add_full(priority, Box.call, Unmanaged.passRetained(Box(body)).toOpaque(), Box.release)
    }

    static func remove(_ id: UInt32) { g_source_remove(id) }

    /// Runs a `GMainLoop` for a time, as `gtk_main` does.
    static func run(milliseconds: UInt32) {
        let loop = MainLoop()
        // Its high priority keeps floods from delaying the end.
        let timeout = addTimeout(milliseconds: milliseconds, priority: -200) {
            loop.quit()
            return true
        }
        loop.run()
        remove(timeout)
    }

    static func settle() {
        while g_main_context_iteration(nil, 0) != 0 {}
    }
}

/// A GLib main loop on the default context.
final class MainLoop: @unchecked Sendable {
    private let loop = g_main_loop_new(nil, 0)

    deinit { g_main_loop_unref(loop) }

    func run() { g_main_loop_run(loop) }
    func quit() { g_main_loop_quit(loop) }
}

/// A thread that can be joined.
final class Worker: @unchecked Sendable {
    private let body: @Sendable () -> Void
    private var thread = pthread_t()

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
        let entry: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { me in
            guard let me else { return nil }
            Unmanaged<Worker>.fromOpaque(me).takeRetainedValue().body()
            return nil
        }
        pthread_create(&thread, nil, entry, Unmanaged.passRetained(self).toOpaque())
    }

    func join() { pthread_join(thread, nil) }
}
