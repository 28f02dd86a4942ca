// SPDX-License-Identifier: Apache-2.0
// The window itself, made of GTK 3 widgets.

import CGtk3
import Panel

/// GTK's cast macros are not for Swift: a widget is seen as what it is.
private func view<Kind>(_ widget: UnsafeMutablePointer<GtkWidget>, as kind: Kind.Type) -> UnsafeMutablePointer<Kind> {
    UnsafeMutableRawPointer(widget).assumingMemoryBound(to: kind)
}

@MainActor
final class Window {
    weak var panel: Panel?

    private let window = made(gtk_window_new(GTK_WINDOW_TOPLEVEL))
    private let label = made(gtk_label_new(""))
    private let bar = made(gtk_progress_bar_new())
    private let toggle = made(gtk_toggle_button_new_with_label("Tracking: pauses the default timer"))
    private let timers = made(gtk_label_new(""))
    private let frames = made(gtk_label_new(""))

    init() {
        let box = Self.made(gtk_box_new(GTK_ORIENTATION_VERTICAL, 12))
        gtk_container_set_border_width(view(box, as: GtkContainer.self), 24)
        for widget in [label, bar, toggle, timers, frames] {
            gtk_box_pack_start(view(box, as: GtkBox.self), widget, 0, 0, 0)
        }
        gtk_window_set_title(view(window, as: GtkWindow.self), "GRunLoop under GTK 3")
        gtk_window_set_default_size(view(window, as: GtkWindow.self), 420, 240)
        gtk_container_add(view(window, as: GtkContainer.self), box)

        let me = Unmanaged.passUnretained(self).toOpaque()
        connect(window, "destroy", unsafeBitCast(Self.destroyed, to: GCallback.self), me)
        connect(toggle, "toggled", unsafeBitCast(Self.toggled, to: GCallback.self), me)
        gtk_widget_add_tick_callback(window, Self.tick, me, nil)
        gtk_widget_show_all(window)
    }

    var widgets: Widgets {
        Widgets(
            setText: { [label] in gtk_label_set_text(view(label, as: GtkLabel.self), $0) },
            text: { [label] in String(cString: gtk_label_get_text(view(label, as: GtkLabel.self))) },
            setFraction: { [bar] in gtk_progress_bar_set_fraction(view(bar, as: GtkProgressBar.self), $0) },
            fraction: { [bar] in gtk_progress_bar_get_fraction(view(bar, as: GtkProgressBar.self)) },
            setTimers: { [timers] in gtk_label_set_text(view(timers, as: GtkLabel.self), $0) },
            setFrames: { [frames] in gtk_label_set_text(view(frames, as: GtkLabel.self), $0) },
            setTracking: { [toggle] in gtk_toggle_button_set_active(view(toggle, as: GtkToggleButton.self), $0 ? 1 : 0)
            },
            saveScreenshot: { [window] in Self.save(window, to: $0) },
            quit: { gtk_main_quit() })
    }

    private static func made(_ widget: UnsafeMutablePointer<GtkWidget>?) -> UnsafeMutablePointer<GtkWidget> {
        guard let widget else { fatalError("GTK has made no widget") }
        return widget
    }

    private func connect(
        _ widget: UnsafeMutablePointer<GtkWidget>, _ signal: String, _ handler: GCallback,
        _ data: UnsafeMutableRawPointer
    ) {
        g_signal_connect_data(widget, signal, handler, data, nil, GConnectFlags(rawValue: 0))
    }

    // MARK: What GTK calls, on the main thread

    private static let destroyed: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void = {
        _, _ in
        gtk_main_quit()
    }

    private static let toggled:
        @convention(c) (UnsafeMutablePointer<GtkToggleButton>?, UnsafeMutableRawPointer?) -> Void = {
            button, me in
            let isOn = gtk_toggle_button_get_active(button) != 0
            let me = UInt(bitPattern: me)
            MainActor.assumeIsolated { window(me)?.panel?.trackingToggled(isOn) }
        }

    private static let tick: GtkTickCallback = { _, clock, me in
        let time = gdk_frame_clock_get_frame_time(clock)
        let me = UInt(bitPattern: me)
        MainActor.assumeIsolated { window(me)?.panel?.frame(at: Int64(time)) }
        return 1
    }

    private static func window(_ address: UInt) -> Window? {
        UnsafeRawPointer(bitPattern: address).map { Unmanaged<Window>.fromOpaque($0).takeUnretainedValue() }
    }

    private static func save(_ window: UnsafeMutablePointer<GtkWidget>, to path: String) -> Bool {
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
}
