// SPDX-License-Identifier: Apache-2.0
// The views: a window with a search entry and a clock, and a dialog with two buttons.

import CGtk
import GRunLoop

public typealias Widget = UnsafeMutablePointer<GtkWidget>

@MainActor public final class Handler {
    private let body: @MainActor () -> Void

    init(_ body: @escaping @MainActor () -> Void) { self.body = body }

    /// Calls the closure when the widget emits a signal without arguments. The widget keeps this object.
    func connect(_ widget: Widget, _ signal: String) {
        let call: @convention(c) (gpointer?, gpointer?) -> Void = { _, data in
            guard let data else { return }
            let handler = Unmanaged<Handler>.fromOpaque(data).takeUnretainedValue()
            MainActor.assumeIsolated { handler.body() }
        }
        g_signal_connect_data(
            widget, signal, unsafeBitCast(call, to: GCallback.self), Unmanaged.passRetained(self).toOpaque(),
            { data, _ in if let data { Unmanaged<Handler>.fromOpaque(data).release() } }, GConnectFlags(rawValue: 0))
    }
}

@MainActor public final class FinderWindow {
    public let window: Widget
    public let entry: Widget
    public let loadButton: Widget
    public let clock: Widget
    /// The task of the last click on the load button.
    public private(set) var loading: Task<Void, Never>?
    public private(set) var failure: LoadError?
    public private(set) var seconds = 0

    private let model: Model
    private var timer: GRunLoop.Timer?

    public init?(_ model: Model, file: String) {
        guard let window = gtk_window_new(), let box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 8),
            let entry = gtk_search_entry_new(), let button = gtk_button_new_with_label("Load"),
            let clock = gtk_label_new("0 s")
        else { return nil }
        (self.window, self.entry, self.clock, self.model) = (window, entry, clock, model)
        loadButton = button
        for child in [entry, button, clock] { gtk_box_append(as_box(box), child) }
        gtk_window_set_child(as_window(window), box)
        Handler { [unowned self] in model.textChanged(to: text) }.connect(entry, "changed")
        Handler { [unowned self] in load(file) }.connect(button, Fault.deadButton.isPlanted ? "activate" : "clicked")
        let timer = GRunLoop.Timer(interval: .seconds(1), repeats: true) { @MainActor [weak self] _ in self?.tick() }
        GRunLoop.main.add(timer, forMode: .common)
        self.timer = timer
    }

    public var text: String { String(cString: gtk_editable_get_text(as_editable(entry))) }

    public var clockText: String { String(cString: gtk_label_get_text(as_label(clock))) }

    public func type(_ text: String) { gtk_editable_set_text(as_editable(entry), text) }

    public func show() { gtk_window_present(as_window(window)) }

    public func close() {
        timer?.invalidate()
        model.endSearch()
        gtk_window_destroy(as_window(window))
    }

    private func load(_ file: String) {
        loading = Task {
            do throws(LoadError) { try await model.load(from: file) } catch { failure = error }
        }
    }

    private func tick() {
        seconds += 1
        if !Fault.staleLabel.isPlanted { gtk_label_set_text(as_label(clock), "\(seconds) s") }
    }
}

@MainActor public final class Question {
    public let window: Widget
    public let yes: Widget
    public let no: Widget
    private var answer: CheckedContinuation<Bool, Never>?

    public init?(_ text: String) {
        guard let window = gtk_window_new(), let box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 8),
            let label = gtk_label_new(text), let yes = gtk_button_new_with_label("Yes"),
            let no = gtk_button_new_with_label("No")
        else { return nil }
        (self.window, self.yes, self.no) = (window, yes, no)
        for child in [label, yes, no] { gtk_box_append(as_box(box), child) }
        gtk_window_set_child(as_window(window), box)
        gtk_window_set_modal(as_window(window), 1)
        Handler { [unowned self] in end(!Fault.wrongAnswer.isPlanted) }.connect(yes, "clicked")
        Handler { [unowned self] in end(false) }.connect(no, "clicked")
    }

    public var isShown: Bool { answer != nil }

    /// Shows the dialog, and returns the answer.
    public func ask() async -> Bool {
        await withCheckedContinuation {
            answer = $0
            gtk_window_present(as_window(window))
        }
    }

    private func end(_ isYes: Bool) {
        answer?.resume(returning: isYes)
        answer = nil
        gtk_window_destroy(as_window(window))
    }
}

/// Presses a button, as a user does.
@MainActor public func press(_ button: Widget) { emit(button, "clicked") }
