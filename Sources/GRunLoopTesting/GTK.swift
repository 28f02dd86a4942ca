// SPDX-License-Identifier: Apache-2.0
// Initialises GTK once for tests, on the main thread, and draws a window into a picture.

import CGRunTesting
import Foundation
import Testing

/// The reason why a test cannot use GTK.
public enum GTKError: Error, Hashable, CustomStringConvertible {
    /// The test program links neither GTK 3 nor GTK 4.6 or later.
    case notLinked
    /// GTK has no display. The texts are the values of the environment variables; a text is nil if its variable is not
    /// set.
    case noDisplay(display: String?, waylandDisplay: String?)
    /// An earlier call has initialised GTK on a thread that is not the main thread. `thread` is the number of that
    /// thread.
    case otherThread(thread: Int32)
    /// The main actor is not on the main thread in this process. The text explains why.
    case notOnMainThread(String)
    /// The widget was not drawn within the limit.
    case notDrawn

    /// The reason in words, and what to do. Threads: any.
    public var description: String {
        switch self {
        case .notLinked: "the test program links neither GTK 3 nor GTK 4.6 or later"
        case .noDisplay(let display, let waylandDisplay):
            "GTK has no display: DISPLAY is \(display ?? "not set"), WAYLAND_DISPLAY is "
                + "\(waylandDisplay ?? "not set"). Run the tests with a display server, for example with "
                + "xvfb-run -a swift test"
        case .otherThread(let thread):
            "GTK was initialised on thread \(thread), which is not the main thread. GTK works on one thread only. "
                + "Write @MainActor before each test that uses GTK"
        case .notOnMainThread(let reason): "GTK cannot be used: \(reason)"
        case .notDrawn: "the widget was not drawn: it is hidden, or its window is"
        }
    }
}

/// Initialises GTK for the tests of this process. Later calls do nothing.
///
/// ```swift
/// @MainActor @Test func aWindow() async throws {
///     try initializeGTK()
///     let window = gtk_window_new()
///     ...
/// }
/// ```
///
/// The function calls `gtk_init_check()` of the GTK that the test program links, which is GTK 3 or GTK 4.
///
/// - Throws: ``GTKError``, if GTK has no display, or if GTK cannot be used on the main thread.
///
/// Threads: the main actor.
@MainActor public func initializeGTK() throws(GTKError) {
    if let reason = reasonAgainstMainThread() { throw .notOnMainThread(reason) }
    guard cgrun_testing_gtk_version() != 0 else { throw .notLinked }
    let thread = cgrun_testing_gtk_thread()
    if thread != 0, thread != getpid() { throw .otherThread(thread: thread) }
    guard cgrun_testing_gtk_start() != 0 else {
        let environment = ProcessInfo.processInfo.environment
        throw .noDisplay(display: environment["DISPLAY"], waylandDisplay: environment["WAYLAND_DISPLAY"])
    }
}

/// Draws a window or a widget that is shown, and returns the picture as a PNG file.
///
/// ```swift
/// Attachment.record(try await gtkPicture(of: window), named: "window.png")
/// ```
///
/// If the window was not drawn yet, this function waits until it is drawn for the first time.
///
/// - Parameters:
///   - widget: a `GtkWidget *`.
///   - limit: how long to wait for the first frame.
/// - Throws: ``GTKError/notDrawn`` if the widget is not shown within the limit; ``GTKError/notLinked``.
///
/// Threads: the main actor.
@MainActor public func gtkPicture(
    of widget: UnsafeMutableRawPointer, within limit: Duration = .seconds(10)
) async throws(GTKError) -> [UInt8] {
    if let reason = reasonAgainstMainThread() { throw .notOnMainThread(reason) }
    guard cgrun_testing_gtk_version() != 0 else { throw .notLinked }
    let end = ContinuousClock.now.advanced(by: limit)
    let ticker = Ticker()
    defer { ticker.cancel() }
    while true {
        var length = 0
        if let bytes = cgrun_testing_gtk_picture(widget, &length) {
            defer { free(bytes) }
            return Array(UnsafeBufferPointer(start: bytes, count: length))
        }
        if ContinuousClock.now >= end { throw .notDrawn }
        await mainLoopWakes()
    }
}

/// Called when the program initialises GTK on a wrong thread: fails the current test.
@_cdecl("grun_testing_gtk_on_thread")
func gtkIsInitialized(onThread thread: Int32) {
    let text = GTKError.otherThread(thread: thread).description
    note(text)
    if Test.current != nil { Issue.record(Comment(rawValue: text)) }
}
