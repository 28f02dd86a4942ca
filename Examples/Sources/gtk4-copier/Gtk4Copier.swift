// SPDX-License-Identifier: Apache-2.0
// A GTK 4 window that copies a file: a dialog chooses the file, a bar shows the progress, and a button cancels. The
// handler of a button starts a task of the main actor, and the task awaits GTK and GIO. GTK drives the loop.
//
// usage: gtk4-copier           copies the chosen file to a file beside it
//        gtk4-copier --check   presses the buttons itself, prints what has happened, and ends

import CGtk4
import GRunLoop
import GRunLoopGIO
import Glibc

@main struct Gtk4Copier {
    @MainActor static func main() {
        // From the first access on, GTK's main loop also serves the main actor.
        _ = GRunLoop.main
        let isCheck = CommandLine.arguments.dropFirst().first == "--check"
        let application = gtk_application_new("org.example.grunloop.copier", cgtk4_application_non_unique)
        var copier: Copier?
        connect(application, "activate") {
            let made = Copier(application)
            copier = made
            if isCheck { Task { exit(await check(made) ? 0 : 1) } }
        }
        let status = g_application_run(cast(application), 0, nil)
        withExtendedLifetime(copier) {}
        exit(status)
    }
}

@MainActor final class Copier {
    private let window: UnsafeMutablePointer<GtkWindow>
    private let label = gtk_label_new("Choose a file to copy")
    private let bar = gtk_progress_bar_new()
    private let chooseButton = gtk_button_new_with_label("Choose a file…")
    private let cancelButton = gtk_button_new_with_label("Cancel")
    /// The task that a button has started; nil if no task is under way.
    private(set) var work: Task<Void, Never>?

    init(_ application: UnsafeMutablePointer<GtkApplication>?) {
        let box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12)
        for widget in [label, bar, chooseButton, cancelButton] { gtk_box_append(cast(box), widget) }
        let widget = gtk_application_window_new(application)
        window = cast(widget) ?? { fatalError("GTK has made no window") }()
        gtk_window_set_title(window, "Copy a file")
        gtk_window_set_default_size(window, 360, 160)
        gtk_window_set_child(window, box)
        connect(chooseButton, "clicked") { [weak self] in self?.start { await self?.chooseAndCopy() } }
        connect(cancelButton, "clicked") { [weak self] in self?.work?.cancel() }
        gtk_window_present(window)
    }

    var text: String { String(cString: gtk_label_get_text(OpaquePointer(label))) }

    /// Presses a button, as a user does.
    func pressCancel() { gtk_widget_activate(cancelButton) }
    func pressChoose() { gtk_widget_activate(chooseButton) }

    /// Starts the work of a button, unless other work is under way.
    func start(_ body: @escaping @MainActor () async -> Void) {
        guard work == nil else { return }
        work = Task {
            await body()
            work = nil
        }
    }

    private func chooseAndCopy() async {
        do {
            show("Choosing…")
            let chosen = try await GIO.call { [window] cancellable, done, data in
                cgtk4_choose_file(window, cancellable, done, data)
            } finish: { dialog, result, error in
                cgtk4_choose_file_finish(dialog, result, error)
            }
            guard let chosen else { return }
            let file = GIO.File(full: chosen)
            await copy(file, to: try GIO.File(path: (file.path ?? "file") + ".copy"))
        } catch is CancellationError {
            show("Cancelled")
        } catch {
            show("\(error)")
        }
    }

    func copy(_ source: GIO.File, to destination: GIO.File) async {
        do {
            show("Copying \(source.basename)…")
            try await source.copy(to: destination, options: .overwrites) { [bar] progress in
                gtk_progress_bar_set_fraction(OpaquePointer(bar), progress.fraction ?? 0)
            }
            show("Copied \(source.basename)")
        } catch is CancellationError {
            show("Cancelled")
        } catch GIO.ErrorCode.notFound {
            show("There is no file \(source.basename)")
        } catch {
            show("\(error)")
        }
    }

    private func show(_ text: String) { gtk_label_set_text(OpaquePointer(label), text) }

    /// How much of a copy is done, from 0 to 1.
    var fraction: Double { gtk_progress_bar_get_fraction(OpaquePointer(bar)) }
}
