// SPDX-License-Identifier: Apache-2.0
// The drivers of the main thread.

import CGRunGIO
import Foundation
import GRunLoop
import Glibc

enum Driver: String, CaseIterable {
    /// `GRunLoop.main.run()`
    case own
    /// `g_main_loop_run()`
    case glib
    /// `g_application_run()`
    case application
    /// `gtk_main()`, of GTK 3
    case gtk
    /// `g_application_run()` of GTK 4's application
    case gtk4
    /// `RunLoop.main.run()`
    case foundation
    /// `static func main() async`, which suspends
    case async

    /// Prepares the driver before Foundation's loop is served. Returns a function that drives and never returns, or nil
    /// if Swift's runtime drives.
    func prepare() -> (() -> Never)? {
        switch self {
        case .own: return { Self.drive { GRunLoop.main.run() } }
        case .glib: return { Self.drive { g_main_loop_run(g_main_loop_new(nil, 0)) } }
        case .application:
            let application = g_application_new(nil, GApplicationFlags(rawValue: 0))
            return { Self.drive { Self.run(application) {} } }
        case .gtk: return Toolkit.gtk3()
        case .gtk4: return Toolkit.gtk4()
        case .foundation: return { Self.drive { RunLoop.main.run() } }
        case .async:
            GRunLoop.driveAsyncMain()
            return nil
        }
    }

    static func drive(_ run: () -> Void) -> Never {
        run()
        fatalError("the driver has returned")
    }

    /// Runs until the process ends.
    static func run(_ application: UnsafeMutablePointer<GApplication>?, onActivation show: @escaping () -> Void) {
        let activate: @convention(c) (gpointer?, gpointer?) -> Void = { object($1, Body.self).call() }
        g_application_hold(application)
        g_signal_connect_data(
            application, "activate", unsafeBitCast(activate, to: GCallback.self),
            Unmanaged.passRetained(Body(show)).toOpaque(), nil, GConnectFlags(rawValue: 0))
        g_application_run(application, 0, nil)
    }
}

/// GTK, loaded at run time, because the check is built without its headers. Each version shows a window, because a real
/// program has a window that draws.
private enum Toolkit {
    typealias Widget = UnsafeMutableRawPointer

    private static func library(_ name: String) -> UnsafeMutableRawPointer {
        guard let library = dlopen(name, RTLD_NOW | RTLD_GLOBAL) else { fail("there is no \(name)") }
        return library
    }

    private static func function<Function>(_ name: String, _ type: Function.Type = Function.self) -> Function {
        guard let symbol = dlsym(nil, name) else { fail("GTK has no \(name)") }
        return unsafeBitCast(symbol, to: type)
    }

    static func gtk3() -> () -> Never {
        _ = library("libgtk-3.so.0")
        let start: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> gboolean
        start = function("gtk_init_check")
        guard start(nil, nil) != 0 else { fail("there is no display") }
        let window: @convention(c) (Int32) -> Widget? = function("gtk_window_new")
        let show: @convention(c) (Widget?) -> Void = function("gtk_widget_show_all")
        let run: @convention(c) () -> Void = function("gtk_main")
        show(window(0))
        return { Driver.drive { run() } }
    }

    static func gtk4() -> () -> Never {
        _ = library("libgtk-4.so.1")
        let start: @convention(c) () -> gboolean = function("gtk_init_check")
        guard start() != 0 else { fail("there is no display") }
        let make: @convention(c) (UnsafePointer<CChar>?, UInt32) -> UnsafeMutablePointer<GApplication>?
        make = function("gtk_application_new")
        let window: @convention(c) (UnsafeMutablePointer<GApplication>?) -> Widget?
        window = function("gtk_application_window_new")
        let present: @convention(c) (Widget?) -> Void = function("gtk_window_present")
        // The application has no id, so it is not found on a bus.
        let application = make(nil, 0)
        return { Driver.drive { Driver.run(application) { present(window(application)) } } }
    }
}
