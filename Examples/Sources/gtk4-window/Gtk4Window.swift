// SPDX-License-Identifier: Apache-2.0
// The panel in a GTK 4 window, under g_application_run().

import ArgumentParser
import CGtk4
import Panel

@main
struct Gtk4Window: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gtk4-window", abstract: "A GTK 4 window that is fed by tasks, queues and run-loop timers.")

    @OptionGroup var options: CheckOptions

    func run() throws {
        let status = MainActor.assumeIsolated { [options] in Application(options).run() }
        if status != 0 { throw ExitCode(status) }
    }
}

/// A `GtkApplication` with one window.
@MainActor
final class Application {
    private let options: CheckOptions
    private let application = gtk_application_new("org.example.grunloop", cgtk4_application_non_unique)
    private var isActive = false
    private var check: Check?

    init(_ options: CheckOptions) {
        self.options = options
    }

    func run() -> Int32 {
        let me = Unmanaged.passUnretained(self).toOpaque()
        g_signal_connect_data(
            application, "activate", unsafeBitCast(Self.activated, to: GCallback.self), me, nil,
            GConnectFlags(rawValue: 0))
        let plain = UnsafeMutableRawPointer(application)?.assumingMemoryBound(to: GApplication.self)
        let status = g_application_run(plain, 0, nil)
        g_object_unref(application)
        guard status == 0, isActive else {
            complain("gtk4-window: there is no display")
            return 2
        }
        return check?.status ?? 0
    }

    private func activate() {
        guard let application else { return }
        isActive = true
        check = makePanel(in: application).start(options)
    }

    /// GTK's callbacks, on the main thread.
    private static let activated: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void = {
        _, me in
        let me = UInt(bitPattern: me)
        MainActor.assumeIsolated {
            UnsafeRawPointer(bitPattern: me).map {
                Unmanaged<Application>.fromOpaque($0).takeUnretainedValue().activate()
            }
        }
    }
}
