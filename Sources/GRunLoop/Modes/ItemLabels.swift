// SPDX-License-Identifier: Apache-2.0
// What a program calls its items.

extension GRunLoop.Source {
    /// What the program calls the source, for people who read a ``description``, a ``Trace`` or a stall monitor's
    /// report. Nil: it has no label, as at first. Any text is one, the empty text too; it is kept whole, and shown on
    /// one line, 120 characters of it at most.
    ///
    /// Threads: any. The corresponding GLib functions are `g_source_set_name` and `g_source_get_name`.
    public var label: String? {
        get { Labels.get(self, "Source.label") }
        set { Labels.set(newValue, of: self, "Source.label") }
    }
}

extension GRunLoop.DescriptorSource {
    /// What the program calls the source, for people who read a ``description``, a ``Trace`` or a stall monitor's
    /// report. A ``MessagePort`` has its ``MessagePort/name`` beside it. Nil: it has no label, as at first. Any text is
    /// one, the empty text too; it is kept whole, and shown on one line, 120 characters of it at most.
    ///
    /// Threads: any. The corresponding GLib functions are `g_source_set_name` and `g_source_get_name`.
    public var label: String? {
        get { Labels.get(self, "DescriptorSource.label") }
        set { Labels.set(newValue, of: self, "DescriptorSource.label") }
    }
}

extension GRunLoop.Timer {
    /// What the program calls the timer, for people who read a ``description``, a ``Trace`` or a stall monitor's
    /// report. Nil: it has no label, as at first. Any text is one, the empty text too; it is kept whole, and shown on
    /// one line, 120 characters of it at most.
    ///
    /// Threads: any. The corresponding GLib functions are `g_source_set_name` and `g_source_get_name`.
    public var label: String? {
        get { Labels.get(self, "Timer.label") }
        set { Labels.set(newValue, of: self, "Timer.label") }
    }
}

extension GRunLoop.Observer {
    /// What the program calls the observer, for people who read a ``description``, a ``Trace`` or a stall monitor's
    /// report. Nil: it has no label, as at first. Any text is one, the empty text too; it is kept whole, and shown on
    /// one line, 120 characters of it at most.
    ///
    /// Threads: any. The corresponding GLib functions are `g_source_set_name` and `g_source_get_name`.
    public var label: String? {
        get { Labels.get(self, "Observer.label") }
        set { Labels.set(newValue, of: self, "Observer.label") }
    }
}

extension GRunLoop.IdleQueue {
    /// What the program calls the queue, for people who read a ``description``, a ``Trace`` or a stall monitor's
    /// report. Nil: it has no label, as at first. Any text is one, the empty text too; it is kept whole, and shown on
    /// one line, 120 characters of it at most.
    ///
    /// Threads: any. The corresponding GLib functions are `g_source_set_name` and `g_source_get_name`.
    public var label: String? {
        get { Labels.get(self, "IdleQueue.label") }
        set { Labels.set(newValue, of: self, "IdleQueue.label") }
    }
}

extension GRunLoop.Port {
    /// What the program calls the port, for people who read a ``description``, a ``Trace`` or a stall monitor's report.
    /// Nil: it has no label, as at first. Any text is one, the empty text too; it is kept whole, and shown on one line,
    /// 120 characters of it at most.
    ///
    /// Threads: any. The corresponding GLib functions are `g_source_set_name` and `g_source_get_name`.
    public var label: String? {
        get { Labels.get(self, "Port.label") }
        set { Labels.set(newValue, of: self, "Port.label") }
    }
}
