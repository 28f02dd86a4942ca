// SPDX-License-Identifier: Apache-2.0
// A GTK 3 window with one drawing area.

import CGtk3
import Glibc
import HostChecks

/// What the drawing function counts and is told. Main thread only.
private final class Drawing: @unchecked Sendable {
    var frames = 0
    var milliseconds = 0
    var tick: UInt32?
}

final class Window {
    private let window: UnsafeMutablePointer<GtkWidget>
    private let area: UnsafeMutablePointer<GtkWidget>
    private let drawing = Drawing()

    init?() {
        guard gtk_init_check(nil, nil) != 0, let window = gtk_window_new(GTK_WINDOW_TOPLEVEL),
            let area = gtk_drawing_area_new()
        else { return nil }
        self.window = window
        self.area = area
        gtk_container_add(UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkContainer.self), area)
        gtk_window_set_default_size(UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWindow.self), 200, 150)
        let draw: @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutableRawPointer?) -> gboolean = {
            _, _, data in
            guard let data else { return 0 }
            let drawing = Unmanaged<Drawing>.fromOpaque(data).takeUnretainedValue()
            drawing.frames += 1
            usleep(UInt32(drawing.milliseconds) * 1000)
            return 0
        }
        g_signal_connect_data(
            area, "draw", unsafeBitCast(draw, to: GCallback.self), Unmanaged.passUnretained(drawing).toOpaque(), nil,
            GConnectFlags(rawValue: 0))
        gtk_widget_show_all(window)
    }

    var toolkit: Toolkit {
        Toolkit(
            name: "GTK 3", setAnimating: setAnimating, frames: { [drawing] in drawing.frames },
            setDrawingTime: { [drawing] in drawing.milliseconds = $0 },
            roundTrip: { gdk_display_sync(gdk_display_get_default()) },
            present: { [window] in
                gtk_window_present(UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWindow.self))
            })
    }

    private func setAnimating(_ isAnimating: Bool) {
        if isAnimating, drawing.tick == nil {
            drawing.tick = gtk_widget_add_tick_callback(
                area,
                { area, _, _ in
                    gtk_widget_queue_draw(area)
                    return 1
                }, nil, nil)
        } else if !isAnimating, let tick = drawing.tick {
            gtk_widget_remove_tick_callback(area, tick)
            drawing.tick = nil
        }
    }
}
