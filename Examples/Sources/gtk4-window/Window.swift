// SPDX-License-Identifier: Apache-2.0
// The window itself, made of GTK 4 widgets.

import CGtk4
import Panel

/// The panel in a window of the application's.
@MainActor
func makePanel(in application: UnsafeMutablePointer<GtkApplication>) -> Panel {
    let window = made(gtk_application_window_new(application))
    let box = made(gtk_box_new(GTK_ORIENTATION_VERTICAL, 12))
    let label = made(gtk_label_new(""))
    let bar = made(gtk_progress_bar_new())
    let toggle = made(gtk_toggle_button_new_with_label("Tracking: pauses the default timer"))
    let timers = made(gtk_label_new(""))
    let frames = made(gtk_label_new(""))
    for set in [
        gtk_widget_set_margin_top, gtk_widget_set_margin_bottom, gtk_widget_set_margin_start, gtk_widget_set_margin_end,
    ] {
        set(box, 24)
    }
    for widget in [label, bar, toggle, timers, frames] { gtk_box_append(view(box, as: GtkBox.self), widget) }
    gtk_window_set_title(view(window, as: GtkWindow.self), "GRunLoop under GTK 4")
    gtk_window_set_default_size(view(window, as: GtkWindow.self), 420, 240)
    gtk_window_set_child(view(window, as: GtkWindow.self), box)

    let panel = Panel(
        Widgets(
            setText: { gtk_label_set_text(OpaquePointer(label), $0) },
            text: { String(cString: gtk_label_get_text(OpaquePointer(label))) },
            setFraction: { gtk_progress_bar_set_fraction(OpaquePointer(bar), $0) },
            fraction: { gtk_progress_bar_get_fraction(OpaquePointer(bar)) },
            setTimers: { gtk_label_set_text(OpaquePointer(timers), $0) },
            setFrames: { gtk_label_set_text(OpaquePointer(frames), $0) },
            setTracking: { gtk_toggle_button_set_active(view(toggle, as: GtkToggleButton.self), $0 ? 1 : 0) },
            saveScreenshot: { save(box, of: window, to: $0) },
            quit: { gtk_window_destroy(view(window, as: GtkWindow.self)) }))
    g_signal_connect_data(
        toggle, "toggled", unsafeBitCast(toggled, to: GCallback.self), panel.data, nil, GConnectFlags(rawValue: 0))
    gtk_widget_add_tick_callback(window, tick, panel.data, nil)
    gtk_window_present(view(window, as: GtkWindow.self))
    return panel
}

// MARK: Callbacks of GTK, on the main thread

private let toggled: @convention(c) (UnsafeMutablePointer<GtkToggleButton>?, UnsafeMutableRawPointer?) -> Void = {
    let isOn = gtk_toggle_button_get_active($0) != 0
    Panel.tell($1) { $0.trackingToggled(isOn) }
}

private let tick: GtkTickCallback = { _, clock, data in
    let time = gdk_frame_clock_get_frame_time(clock)
    Panel.tell(data) { $0.frame(at: Int64(time)) }
    return 1
}

/// Draws the window's child and background once more with the window's own renderer.
private func save(
    _ child: UnsafeMutablePointer<GtkWidget>, of window: UnsafeMutablePointer<GtkWidget>, to path: String
)
    -> Bool
{
    let (width, height) = (Double(gtk_widget_get_width(window)), Double(gtk_widget_get_height(window)))
    guard let paintable = gtk_widget_paintable_new(window), let snapshot = gtk_snapshot_new() else { return false }
    defer { g_object_unref(UnsafeMutableRawPointer(paintable)) }
    gdk_paintable_snapshot(paintable, snapshot, width, height)
    guard let node = gtk_snapshot_free_to_node(snapshot) else { return false }
    defer { gsk_render_node_unref(node) }
    let renderer = gtk_native_get_renderer(gtk_widget_get_native(window))
    guard let texture = gsk_renderer_render_texture(renderer, node, nil) else { return false }
    defer { g_object_unref(UnsafeMutableRawPointer(texture)) }
    return gdk_texture_save_to_png(texture, path) != 0
}
