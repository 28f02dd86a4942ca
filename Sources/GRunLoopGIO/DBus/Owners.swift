// SPDX-License-Identifier: Apache-2.0
// The owners of a name on the bus.

import CGRunGIO
import GRunLoop

extension DBus.Connection {
    /// The owner of a name on the bus, and each change of the owner.
    ///
    /// The sequence has the present owner already. An element is the unique name of the owner, such as `:1.42`, or nil
    /// if the name has no owner.
    ///
    /// - Parameters:
    ///   - name: the name, such as `org.example.Files`.
    ///   - capacity: how many changes are buffered. When more changes come, the oldest are dropped. Less than one
    ///     counts as one.
    ///   - isolation: the caller's actor; do not pass it.
    /// - Throws: a ``GLibError`` if the name is not valid, or the connection has no bus; errors of
    ///   ``call(_:_:_:_:_:returning:timeout:options:isolation:)``.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_bus_watch_name_on_connection`.
    public func watch(
        _ name: String, capacity: Int = 64, isolation: isolated (any Actor)? = #isolation
    ) async throws -> DBus.Events<String?> {
        try DBus.check(name, .bus)
        try requireBus()
        let events = try self.events(DBus.SignalMatch(ownerOf: name), capacity: capacity) { signal -> String?? in
            guard let owner = try? VariantTuple<String, String, String>(variant: signal.body).values.2 else {
                return nil
            }
            return .some(owner.isEmpty ? nil : owner)
        }
        // The answer is between the signals of earlier and of later changes.
        do {
            _ = try await callBus("GetNameOwner", VariantTuple(name).encoded(), returning: String.self) {
                [buffer = events.buffer] owner in
                buffer.push(owner)
            }
        } catch G_DBUS_ERROR_NAME_HAS_NO_OWNER {
        }
        return events
    }
}
