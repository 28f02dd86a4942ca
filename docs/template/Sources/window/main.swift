import CGtk4
import Clock
import GRunLoop

let clock = Clock()

let activate: @convention(c) (UnsafeMutablePointer<GtkApplication>?, gpointer?) -> Void = { application, _ in
    guard
        let window = UnsafeMutableRawPointer(gtk_application_window_new(application))?
            .assumingMemoryBound(to: GtkWindow.self)
    else { return }
    let label = OpaquePointer(gtk_label_new(""))
    gtk_window_set_default_size(window, 320, 120)
    gtk_window_set_child(window, UnsafeMutableRawPointer(label)?.assumingMemoryBound(to: GtkWidget.self))
    gtk_window_present(window)
    // The clock ends with the window's application, and so does the use of the label.
    MainActor.assumeIsolated { clock.start { seconds in gtk_label_set_text(label, "\(seconds) s") } }
}

// GTK's main loop serves GRunLoop.main, DispatchQueue.main and the main actor.
_ = GRunLoop.main
guard let application = gtk_application_new("org.example.Template", GApplicationFlags(rawValue: 0)) else {
    fatalError("no application")
}
g_signal_connect_data(
    application, "activate", unsafeBitCast(activate, to: GCallback.self), nil, nil, GConnectFlags(rawValue: 0))
g_application_run(UnsafeMutableRawPointer(application).assumingMemoryBound(to: GApplication.self), 0, nil)
clock.stop()
