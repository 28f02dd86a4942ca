// SPDX-License-Identifier: Apache-2.0
// The window itself, made of GTK 3 widgets.

import CGtk3
import Panel

/// The panel in its window.
@MainActor
func makePanel() -> Panel {
    let window = made(gtk_window_new(GTK_WINDOW_TOPLEVEL))
    let box = made(gtk_box_new(GTK_ORIENTATION_VERTICAL, 12))
    let label = made(gtk_label_new(""))
    let bar = made(gtk_progress_bar_new())
    let toggle = made(gtk_toggle_button_new_with_label("Tracking: pauses the default timer"))
    let timers = made(gtk_label_new(""))
    let frames = made(gtk_label_new(""))
    gtk_container_set_border_width(view(box, as: GtkContainer.self), 24)
    for widget in [label, bar, toggle, timers, frames] {
        gtk_box_pack_start(view(box, as: GtkBox.self), widget, 0, 0, 0)
    }
    gtk_window_set_title(view(window, as: GtkWindow.self), "GRunLoop under GTK 3")
    gtk_window_set_default_size(view(window, as: GtkWindow.self), 420, 240)
    gtk_container_add(view(window, as: GtkContainer.self), box)

    let panel = Panel(
        Widgets(
            setText: { gtk_label_set_text(view(label, as: GtkLabel.self), $0) },
            text: { String(cString: gtk_label_get_text(view(label, as: GtkLabel.self))) },
            setFraction: { gtk_progress_bar_set_fraction(view(bar, as: GtkProgressBar.self), $0) },
            fraction: { gtk_progress_bar_get_fraction(view(bar, as: GtkProgressBar.self)) },
            setTimers: { gtk_label_set_text(view(timers, as: GtkLabel.self), $0) },
            setFrames: { gtk_label_set_text(view(frames, as: GtkLabel.self), $0) },
            setTracking: { gtk_toggle_button_set_active(view(toggle, as: GtkToggleButton.self), $0 ? 1 : 0) },
            saveScreenshot: { save(window, to: $0) },
            quit: { gtk_main_quit() }))
    connect(window, "destroy", unsafeBitCast(destroyed, to: GCallback.self))
    connect(toggle, "toggled", unsafeBitCast(toggled, to: GCallback.self), panel.data)
    gtk_widget_add_tick_callback(window, tick, panel.data, nil)
    gtk_widget_show_all(window)
    return panel
}

private func connect(
    _ widget: UnsafeMutablePointer<GtkWidget>, _ signal: String, _ handler: GCallback,
    _ data: UnsafeMutableRawPointer? = nil
) {
    g_signal_connect_data(widget, signal, handler, data, nil, GConnectFlags(rawValue: 0))
}

// MARK: Callbacks of GTK, on the main thread

private let destroyed: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void = { _, _ in
    gtk_main_quit()
}

private let toggled: @convention(c) (UnsafeMutablePointer<GtkToggleButton>?, UnsafeMutableRawPointer?) -> Void = {
    let isOn = gtk_toggle_button_get_active($0) != 0
    Panel.tell($1) { $0.trackingToggled(isOn) }
}

private let tick: GtkTickCallback = { _, clock, data in
    let time = gdk_frame_clock_get_frame_time(clock)
    Panel.tell(data) { $0.frame(at: Int64(time)) }
    return 1
}

private func save(_ window: UnsafeMutablePointer<GtkWidget>, to path: String) -> Bool {
    let (width, height) = (gtk_widget_get_allocated_width(window), gtk_widget_get_allocated_height(window))
    let surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, width, height)
    let context = cairo_create(surface)
    defer {
        cairo_destroy(context)
        cairo_surface_destroy(surface)
    }
    gtk_widget_draw(window, context)
    return cairo_surface_write_to_png(surface, path) == CAIRO_STATUS_SUCCESS
}
