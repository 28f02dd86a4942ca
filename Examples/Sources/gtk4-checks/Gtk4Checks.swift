// SPDX-License-Identifier: Apache-2.0
// The checks in a GTK 4 window with one drawing area.

import ArgumentParser
import CGtk4
import HostChecks

@main
struct Gtk4Checks: ChecksProgram {
    static let configuration = CommandConfiguration(
        commandName: "gtk4-checks", abstract: "Checks what must hold while GTK 4 drives the run loop.")

    @OptionGroup var options: ChecksOptions

    func makeToolkit() -> Toolkit? {
        guard gtk_init_check() != 0, let window = gtk_window_new(), let area = gtk_drawing_area_new() else {
            return nil
        }
        let plain = UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWindow.self)
        gtk_window_set_child(plain, area)
        gtk_window_set_default_size(plain, 200, 150)
        let drawing = Drawing()
        gtk_drawing_area_set_draw_func(
            UnsafeMutableRawPointer(area).assumingMemoryBound(to: GtkDrawingArea.self),
            { Drawing.draw($4) }, drawing.data, nil)
        gtk_window_present(plain)
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
