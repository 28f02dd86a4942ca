// SPDX-License-Identifier: Apache-2.0
// Uses GLib's default context as a host does: iterates the context, lists its GSources, and counts its poll records.

import CGRunGLib
import GRunLoop

/// Drives the default context on the main thread, as `g_main_loop_run`, `gtk_main` and `g_application_run` do.
enum Host {
    /// Iterates the default context until a condition holds, and sleeps while nothing is ready. If the condition never
    /// holds, the watchdog ends the program.
    static func iterate(until condition: () -> Bool) {
        while !condition() { g_main_context_iteration(nil, 1) }
    }

    /// Runs a `GMainLoop` on the default context. The argument of `body` is a function that ends this loop. Any thread
    /// may call that function.
    static func run(_ body: (@escaping @Sendable () -> Void) -> Void) {
        let loop = MainLoop()
        body { loop.quit() }
        loop.run()
    }

    /// A `GMainLoop`. If `g_main_loop_quit` is called before the loop runs, GLib ignores the call. No callback quits
    /// the loop so early, because the context is not iterated before ``run()``.
    private final class MainLoop: @unchecked Sendable {
        private let loop = g_main_loop_new(nil, 0)

        deinit { g_main_loop_unref(loop) }

        func run() { g_main_loop_run(loop) }
        func quit() { g_main_loop_quit(loop) }
    }

    static func settle() {
        while g_main_context_iteration(nil, 0) != 0 {}
    }

    /// The name of the GSource that GLib dispatches on this thread; nil if GLib dispatches no GSource here.
    static var dispatchedSource: String? {
        guard let source = g_main_current_source() else { return nil }
        return name(of: source)
    }

    /// The names of all GSources in the default context. GLib does not list sources, but it finds a source by its id,
    /// and assigns ids in ascending order.
    static var sources: [String] {
        guard let probe = g_idle_source_new() else { return [] }
        let nextID = g_source_attach(probe, nil)
        g_source_destroy(probe)
        g_source_unref(probe)
        return (1..<nextID).compactMap { id in
            g_main_context_find_source_by_id(nil, id).map(name(of:))
        }
    }

    /// How many records the default context would pass to poll() now; -1 if the context cannot be acquired.
    static var pollRecords: Int {
        let context = g_main_context_default()
        guard g_main_context_acquire(context) != 0 else { return -1 }
        defer { g_main_context_release(context) }
        var priority: Int32 = 0
        var timeout: Int32 = 0
        g_main_context_prepare(context, &priority)
        var records = [GPollFD](repeating: GPollFD(), count: 64)
        let count = g_main_context_query(context, Int32.max, &timeout, &records, Int32(records.count))
        // Finish the iteration: check and dispatch the prepared sources, because GLib remembers which sources were
        // ready.
        if g_main_context_check(context, Int32.max, &records, min(count, Int32(records.count))) != 0 {
            g_main_context_dispatch(context)
        }
        return Int(count)
    }

    private static func name(of source: UnsafeMutablePointer<GSource>) -> String {
        g_source_get_name(source).map { String(cString: $0) } ?? "(no name)"
    }
}
