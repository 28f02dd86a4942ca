// SPDX-License-Identifier: Apache-2.0
// Four ways in which a GTK program in Swift can serve what Swift expects of a main loop. Each process uses one of them.

/// A way to make GLib's main loop serve Swift.
public enum Bridge: String, CaseIterable, Sendable {
    /// A GLib timeout runs Foundation's run loop every 50 ms.
    case polling
    /// Threads add idle callbacks to GLib's main context. Nothing serves libdispatch or Foundation.
    case idle
    /// A GSource waits for the eventfd of libdispatch's main queue.
    case dispatch
    /// This library, which also serves Foundation's run loop.
    case grunloop

    public func install() {
        switch self {
        case .polling: PollingBridge.install()
        case .idle: break
        case .dispatch: DispatchBridge.install()
        case .grunloop: LibraryBridge.install()
        }
    }
}
