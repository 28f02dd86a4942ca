// SPDX-License-Identifier: Apache-2.0
// GLib's default context as a host sees it: who iterates it, which GSources are in it, and what they have it poll.

import CGRunGLib
import GRunLoop

/// On the main thread. What a `g_main_loop_run`, a `gtk_main` or a `g_application_run` does, one iteration at a time.
enum Host {
    /// Iterates the default context, sleeping in it, until a condition holds. A condition that never holds is a matter
    /// for the watchdog.
    static func iterate(until condition: () -> Bool) {
        while !condition() { g_main_context_iteration(nil, 1) }
    }

    /// Runs a `GMainLoop` on the default context until `body`'s argument is called, by anyone, in any callback.
    static func run(_ body: (@escaping @Sendable () -> Void) -> Void) {
        let loop = MainLoop()
        body { loop.quit() }
        loop.run()
    }

    /// Nobody iterates it before `quit` may be called: GLib remembers a quit only of a loop that runs.
    private final class MainLoop: @unchecked Sendable {
        private let loop = g_main_loop_new(nil, 0)

        deinit { g_main_loop_unref(loop) }

        func run() { g_main_loop_run(loop) }
        func quit() { g_main_loop_quit(loop) }
    }

    /// Iterates the default context until nothing in it is ready.
    static func settle() {
        while g_main_context_iteration(nil, 0) != 0 {}
    }

    /// The name of the GSource that is being dispatched on this thread; nil if none is.
    static var dispatchedSource: String? {
        guard let source = g_main_current_source() else { return nil }
        return name(of: source)
    }

    /// The names of all GSources in the default context. GLib has no list of them, but it finds a source by its id, and
    /// ids are given in ascending order.
    static var sources: [String] {
        guard let probe = g_idle_source_new() else { return [] }
        let nextID = g_source_attach(probe, nil)
        g_source_destroy(probe)
        g_source_unref(probe)
        return (1..<nextID).compactMap { id in
            g_main_context_find_source_by_id(nil, id).map(name(of:))
        }
    }

    /// How many records the default context would hand to poll() now.
    static var pollRecords: Int {
        let context = g_main_context_default()
        guard g_main_context_acquire(context) != 0 else { return -1 }
        defer { g_main_context_release(context) }
        var priority: Int32 = 0
        var timeout: Int32 = 0
        g_main_context_prepare(context, &priority)
        var records = [GPollFD](repeating: GPollFD(), count: 64)
        let count = g_main_context_query(context, Int32.max, &timeout, &records, Int32(records.count))
        // What was prepared is checked and dispatched: GLib remembers who was ready.
        if g_main_context_check(context, Int32.max, &records, min(count, Int32(records.count))) != 0 {
            g_main_context_dispatch(context)
        }
        return Int(count)
    }

    private static func name(of source: UnsafeMutablePointer<GSource>) -> String {
        g_source_get_name(source).map { String(cString: $0) } ?? "(no name)"
    }
}
