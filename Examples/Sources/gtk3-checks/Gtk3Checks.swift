// SPDX-License-Identifier: Apache-2.0
// The checks in a GTK 3 window with one drawing area.

import ArgumentParser
import CGtk3
import HostChecks

@main
struct Gtk3Checks: ChecksProgram {
    static let configuration = CommandConfiguration(
        commandName: "gtk3-checks", abstract: "Checks what must hold while GTK 3 drives the run loop.")

    @OptionGroup var options: ChecksOptions

    func makeToolkit() -> Toolkit? {
        guard gtk_init_check(nil, nil) != 0, let window = gtk_window_new(GTK_WINDOW_TOPLEVEL),
            let area = gtk_drawing_area_new()
        else { return nil }
        let plain = UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWindow.self)
        gtk_container_add(UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkContainer.self), area)
        gtk_window_set_default_size(plain, 200, 150)
        let drawing = Drawing()
        let draw: @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutableRawPointer?) -> gboolean = {
            Drawing.draw($2)
            return 0
        }
        g_signal_connect_data(
            area, "draw", unsafeBitCast(draw, to: GCallback.self), drawing.data, nil, GConnectFlags(rawValue: 0))
        gtk_widget_show_all(window)
        let tick: GtkTickCallback = { area, _, _ in
            gtk_widget_queue_draw(area)
            return 1
        }
        return Toolkit(
            drawing, addTick: { gtk_widget_add_tick_callback(area, tick, nil, nil) },
            removeTick: { gtk_widget_remove_tick_callback(area, $0) },
            roundTrip: { gdk_display_sync(gdk_display_get_default()) }, present: { gtk_window_present(plain) })
    }
}
