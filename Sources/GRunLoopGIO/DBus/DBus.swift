// SPDX-License-Identifier: Apache-2.0
// The namespace of D-Bus.

import GRunLoop

/// The types for D-Bus: connections, calls, signals, names, exported objects and proxies.
public enum DBus {
    /// The loop of the calling thread. The loop must be running the context in which GDBus delivers what is subscribed
    /// now.
    static func runningLoop() throws(GIO.WrongThreadError) -> GRunLoop {
        guard let loop = GIO.callersLoop() else { throw GIO.WrongThreadError() }
        return loop
    }
}
