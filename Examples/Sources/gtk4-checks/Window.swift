// SPDX-License-Identifier: Apache-2.0
// A GTK 4 window with one drawing area.

import CGtk4
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
        guard gtk_init_check() != 0, let window = gtk_window_new(), let area = gtk_drawing_area_new() else {
            return nil
        }
        self.window = window
        self.area = area
        let plain = UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWindow.self)
        gtk_window_set_child(plain, area)
        gtk_window_set_default_size(plain, 200, 150)
        gtk_drawing_area_set_draw_func(
            UnsafeMutableRawPointer(area).assumingMemoryBound(to: GtkDrawingArea.self),
            { _, _, _, _, data in
                guard let data else { return }
                let drawing = Unmanaged<Drawing>.fromOpaque(data).takeUnretainedValue()
                drawing.frames += 1
                usleep(UInt32(drawing.milliseconds) * 1000)
            }, Unmanaged.passUnretained(drawing).toOpaque(), nil)
        gtk_window_present(plain)
    }

    var toolkit: Toolkit {
        Toolkit(
            name: "GTK 4", setAnimating: setAnimating, frames: { [drawing] in drawing.frames },
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
