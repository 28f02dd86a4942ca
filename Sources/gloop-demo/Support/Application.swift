// SPDX-License-Identifier: Apache-2.0
// A GApplication without windows. It drives the main loop as in a GTK program.

import CGRunGIO

enum Application {
    private final class Box {
        let body: (@escaping @Sendable () -> Void) -> Void

        init(_ body: @escaping (@escaping @Sendable () -> Void) -> Void) {
            self.body = body
        }
    }

    /// Call `quit()` on the main thread, because g_application_release() takes no lock.
    private final class Handle: @unchecked Sendable {
        let application: UnsafeMutablePointer<GApplication>

        init(_ application: UnsafeMutablePointer<GApplication>) {
            self.application = application
        }

        func quit() {
            g_application_release(application)
        }
    }

    /// Calls `g_application_run`, and calls `body` when the application is activated. The argument of `body` is a
    /// function that quits the application. Call that function on the main thread.
    static func run(_ body: @escaping (@escaping @Sendable () -> Void) -> Void) throws {
        guard let application = g_application_new(nil, cglib_application_non_unique) else {
            throw ScenarioError("g_application_new() has failed")
        }
        defer { g_object_unref(application) }
        let activate: @convention(c) (UnsafeMutablePointer<GApplication>, gpointer?) -> Void = { application, data in
            guard let data else { return }
            // Without a window or a hold, the application would quit. `quit()` releases the hold.
            g_application_hold(application)
            let handle = Handle(application)
            Unmanaged<Box>.fromOpaque(data).takeUnretainedValue().body { handle.quit() }
        }
        let box = Unmanaged.passRetained(Box(body))
        defer { box.release() }
        g_signal_connect_data(
            application, "activate", unsafeBitCast(activate, to: GCallback.self), box.toOpaque(), nil,
            GConnectFlags(rawValue: 0))
        guard g_application_run(application, 0, nil) == 0 else { throw ScenarioError("g_application_run() has failed") }
    }
}
