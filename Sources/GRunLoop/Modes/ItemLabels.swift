// SPDX-License-Identifier: Apache-2.0
// The labels that a program gives its items.

extension GRunLoop.Source {
    /// The program's name for the source, for people who read a ``description``, a ``Trace`` or a stall monitor's
    /// report.
    ///
    /// It is nil at first, which means no label. Any text is a label, even the empty text. The text is kept whole, but
    /// only its first 120 characters are shown, on one line.
    ///
    /// Threads: any. The corresponding GLib functions are `g_source_set_name` and `g_source_get_name`.
    public var label: String? {
        get { Labels.get(self, "Source.label") }
        set { Labels.set(newValue, of: self, "Source.label") }
    }
}

extension GRunLoop.DescriptorSource {
    /// The program's name for the source, for people who read a ``description``, a ``Trace`` or a stall monitor's
    /// report.
    ///
    /// It is nil at first, which means no label. Any text is a label, even the empty text. The text is kept whole, but
    /// only its first 120 characters are shown, on one line. A ``MessagePort`` also has its ``MessagePort/name``.
    ///
    /// Threads: any. The corresponding GLib functions are `g_source_set_name` and `g_source_get_name`.
    public var label: String? {
        get { Labels.get(self, "DescriptorSource.label") }
        set { Labels.set(newValue, of: self, "DescriptorSource.label") }
    }
}

extension GRunLoop.Timer {
    /// The program's name for the timer, for people who read a ``description``, a ``Trace`` or a stall monitor's
    /// report.
    ///
    /// It is nil at first, which means no label. Any text is a label, even the empty text. The text is kept whole, but
    /// only its first 120 characters are shown, on one line.
    ///
    /// Threads: any. The corresponding GLib functions are `g_source_set_name` and `g_source_get_name`.
    public var label: String? {
        get { Labels.get(self, "Timer.label") }
        set { Labels.set(newValue, of: self, "Timer.label") }
    }
}

extension GRunLoop.Observer {
    /// The program's name for the observer, for people who read a ``description``, a ``Trace`` or a stall monitor's
    /// report.
    ///
    /// It is nil at first, which means no label. Any text is a label, even the empty text. The text is kept whole, but
    /// only its first 120 characters are shown, on one line.
    ///
    /// Threads: any. The corresponding GLib functions are `g_source_set_name` and `g_source_get_name`.
    public var label: String? {
        get { Labels.get(self, "Observer.label") }
        set { Labels.set(newValue, of: self, "Observer.label") }
    }
}

extension GRunLoop.IdleQueue {
    /// The program's name for the queue, for people who read a ``description``, a ``Trace`` or a stall monitor's
    /// report.
    ///
    /// It is nil at first, which means no label. Any text is a label, even the empty text. The text is kept whole, but
    /// only its first 120 characters are shown, on one line.
    ///
    /// Threads: any. The corresponding GLib functions are `g_source_set_name` and `g_source_get_name`.
    public var label: String? {
        get { Labels.get(self, "IdleQueue.label") }
        set { Labels.set(newValue, of: self, "IdleQueue.label") }
    }
}

extension GRunLoop.Port {
    /// The program's name for the port, for people who read a ``description``, a ``Trace`` or a stall monitor's report.
    ///
    /// It is nil at first, which means no label. Any text is a label, even the empty text. The text is kept whole, but
    /// only its first 120 characters are shown, on one line.
    ///
    /// Threads: any. The corresponding GLib functions are `g_source_set_name` and `g_source_get_name`.
    public var label: String? {
        get { Labels.get(self, "Port.label") }
        set { Labels.set(newValue, of: self, "Port.label") }
    }
}
