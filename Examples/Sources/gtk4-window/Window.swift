// SPDX-License-Identifier: Apache-2.0
// The window itself, made of GTK 4 widgets.

import CGtk4
import Panel

/// GTK's cast macros are not for Swift: a widget is seen as what it is.
private func view<Kind>(_ widget: UnsafeMutablePointer<GtkWidget>, as kind: Kind.Type) -> UnsafeMutablePointer<Kind> {
    UnsafeMutableRawPointer(widget).assumingMemoryBound(to: kind)
}

@MainActor
final class Window {
    /// Held by the window: it is what the window shows.
    var panel: Panel?

    private let window: UnsafeMutablePointer<GtkWidget>
    private let box = made(gtk_box_new(GTK_ORIENTATION_VERTICAL, 12))
    private let label = made(gtk_label_new(""))
    private let bar = made(gtk_progress_bar_new())
    private let toggle = made(gtk_toggle_button_new_with_label("Tracking: pauses the default timer"))
    private let timers = made(gtk_label_new(""))
    private let frames = made(gtk_label_new(""))

    init(in application: UnsafeMutablePointer<GtkApplication>) {
        window = Self.made(gtk_application_window_new(application))
        for set in [
            gtk_widget_set_margin_top, gtk_widget_set_margin_bottom, gtk_widget_set_margin_start,
            gtk_widget_set_margin_end,
        ] {
            set(box, 24)
        }
        for widget in [label, bar, toggle, timers, frames] { gtk_box_append(view(box, as: GtkBox.self), widget) }
        gtk_window_set_title(view(window, as: GtkWindow.self), "GRunLoop under GTK 4")
        gtk_window_set_default_size(view(window, as: GtkWindow.self), 420, 240)
        gtk_window_set_child(view(window, as: GtkWindow.self), box)

        let me = Unmanaged.passUnretained(self).toOpaque()
        g_signal_connect_data(
            toggle, "toggled", unsafeBitCast(Self.toggled, to: GCallback.self), me, nil, GConnectFlags(rawValue: 0))
        gtk_widget_add_tick_callback(window, Self.tick, me, nil)
        gtk_window_present(view(window, as: GtkWindow.self))
    }

    var widgets: Widgets {
        Widgets(
            setText: { [label] in gtk_label_set_text(OpaquePointer(label), $0) },
            text: { [label] in String(cString: gtk_label_get_text(OpaquePointer(label))) },
            setFraction: { [bar] in gtk_progress_bar_set_fraction(OpaquePointer(bar), $0) },
            fraction: { [bar] in gtk_progress_bar_get_fraction(OpaquePointer(bar)) },
            setTimers: { [timers] in gtk_label_set_text(OpaquePointer(timers), $0) },
            setFrames: { [frames] in gtk_label_set_text(OpaquePointer(frames), $0) },
            setTracking: { [toggle] in gtk_toggle_button_set_active(view(toggle, as: GtkToggleButton.self), $0 ? 1 : 0)
            },
            saveScreenshot: { [window, box] in Self.save(box, of: window, to: $0) },
            quit: { [window] in gtk_window_destroy(view(window, as: GtkWindow.self)) })
    }

    private static func made(_ widget: UnsafeMutablePointer<GtkWidget>?) -> UnsafeMutablePointer<GtkWidget> {
        guard let widget else { fatalError("GTK has made no widget") }
        return widget
    }

    // MARK: What GTK calls, on the main thread

    private static let toggled:
        @convention(c) (UnsafeMutablePointer<GtkToggleButton>?, UnsafeMutableRawPointer?) -> Void = {
            button, me in
            let isOn = gtk_toggle_button_get_active(button) != 0
            let me = UInt(bitPattern: me)
            MainActor.assumeIsolated { window(me)?.panel?.trackingToggled(isOn) }
        }

    private static let tick: GtkTickCallback = { _, clock, me in
        let time = Int64(gdk_frame_clock_get_frame_time(clock))
        let me = UInt(bitPattern: me)
        MainActor.assumeIsolated { window(me)?.panel?.frame(at: time) }
        return 1
    }

    private static func window(_ address: UInt) -> Window? {
        UnsafeRawPointer(bitPattern: address).map { Unmanaged<Window>.fromOpaque($0).takeUnretainedValue() }
    }

    /// What the window's child shows, on the window's background, drawn once more by the window's own renderer.
    private static func save(
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
}
