// SPDX-License-Identifier: Apache-2.0
// A GTK 4 window that Foundation updates: a timer, a process, a session and a notification queue, all on RunLoop.main.
// No code runs or polls RunLoop.main: GRunLoop serves it, and GTK drives.
//
// usage: gtk4-foundation [URL]     loads that
//        gtk4-foundation --check   loads from a server of its own, says what has arrived, and ends

import CGtk4
import Foundation
import FoundationNetworking
import GRunLoop
import GRunLoopFoundation
import Measuring

@main struct Gtk4Foundation {
    @MainActor static func main() throws {
        // Replaces a timeout that runs Foundation's loop 20 times a second.
        let serving = try GRunLoop.main.serve(RunLoop.main)
        let arguments = CommandLine.arguments.dropFirst()
        let check = arguments.first == "--check" ? Check() : nil
        let address = arguments.first ?? "https://www.swift.org/"
        guard let url = check == nil ? URL(string: address) : OnePage.serve() else {
            fatalError("\(address) is no URL")
        }
        let status = Application(url, check).run()
        serving.cancel()
        exit(status)
    }
}

/// The lines of the window.
enum Part: String, CaseIterable {
    case timer, process, session, notifications
}

@MainActor final class Application {
    private let url: URL
    private let check: Check?
    private let application = gtk_application_new("org.example.grunloop.foundation", cgtk4_application_non_unique)
    private var window: UnsafeMutablePointer<GtkWidget>?
    private var labels: [Part: OpaquePointer] = [:]

    private let session = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: .main)
    private let process = Process()
    private let output = Pipe()
    private var ticks = 0
    private var posted = 0

    init(_ url: URL, _ check: Check?) {
        (self.url, self.check) = (url, check)
    }

    /// The exit status.
    func run() -> Int32 {
        let activate: @convention(c) (gpointer?, gpointer?) -> Void = { _, me in
            let me = UInt(bitPattern: me)
            MainActor.assumeIsolated {
                UnsafeRawPointer(bitPattern: me).map {
                    Unmanaged<Application>.fromOpaque($0).takeUnretainedValue().activate()
                }
            }
        }
        g_signal_connect_data(
            application, "activate", unsafeBitCast(activate, to: GCallback.self),
            Unmanaged.passUnretained(self).toOpaque(), nil, GConnectFlags(rawValue: 0))
        let plain = UnsafeMutableRawPointer(application)?.assumingMemoryBound(to: GApplication.self)
        let status = g_application_run(plain, 0, nil)
        guard status == 0, window != nil else { return 2 }
        return check?.status() ?? 0
    }

    private func activate() {
        let box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12)
        for part in Part.allCases {
            let label = gtk_label_new("\(part.rawValue): nothing yet")
            gtk_box_append(UnsafeMutableRawPointer(box)?.assumingMemoryBound(to: GtkBox.self), label)
            // The label is retained, because an idle notification may come after the window is closed.
            labels[part] = OpaquePointer(g_object_ref(label))
        }
        window = gtk_application_window_new(application)
        let plain = UnsafeMutableRawPointer(window)?.assumingMemoryBound(to: GtkWindow.self)
        gtk_window_set_title(plain, "Foundation under GTK 4")
        gtk_window_set_default_size(plain, 420, 200)
        gtk_window_set_child(plain, box)
        gtk_window_present(plain)
        startTimer()
        startProcess()
        load()
    }

    private func show(_ part: Part, _ text: String) {
        gtk_label_set_text(labels[part], "\(part.rawValue): \(text)")
        check?.has(part, text)
    }

    // MARK: Updates by Foundation

    private static let ticked = Notification.Name("org.example.grunloop.ticked")

    private func startTimer() {
        // Each tick enqueues three notifications, and one of them is posted when the loop is idle.
        _ = NotificationCenter.default.addObserver(forName: Self.ticked, object: nil, queue: nil) { _ in
            MainActor.assumeIsolated {
                self.posted += 1
                self.show(.notifications, "\(self.posted) posted, of \(3 * self.ticks)")
            }
        }
        _ = Timer.scheduledTimer(withTimeInterval: 0.05, repeats: true) { timer in
            let isOver = MainActor.assumeIsolated { self.tick() }
            if isOver { timer.invalidate() }
        }
    }

    /// Returns whether this was the last tick.
    private func tick() -> Bool {
        ticks += 1
        show(.timer, "\(ticks) times")
        for _ in 0..<3 {
            NotificationQueue.default.enqueue(Notification(name: Self.ticked), postingStyle: .whenIdle)
        }
        guard let check, check.isOver else { return false }
        gtk_window_destroy(UnsafeMutableRawPointer(window)?.assumingMemoryBound(to: GtkWindow.self))
        return true
    }

    private func startProcess() {
        let reader = output.fileHandleForReading
        _ = NotificationCenter.default.addObserver(
            forName: .NSFileHandleReadToEndOfFileCompletion, object: reader, queue: nil
        ) { notification in
            let data = notification.userInfo?[NSFileHandleNotificationDataItem] as? Data ?? Data()
            let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .newlines)
            MainActor.assumeIsolated { self.show(.process, text) }
        }
        process.executableURL = URL(fileURLWithPath: "/bin/uname")
        process.arguments = ["-s", "-r"]
        process.standardOutput = output
        reader.readToEndOfFileInBackgroundAndNotify()
        do { try process.run() } catch { show(.process, "\(error)") }
    }

    private func load() {
        let task = session.dataTask(with: url) { data, _, error in
            let text = error.map { "\($0)" } ?? "\(data?.count ?? 0) bytes"
            MainActor.assumeIsolated { self.show(.session, text) }
        }
        task.resume()
    }
}
