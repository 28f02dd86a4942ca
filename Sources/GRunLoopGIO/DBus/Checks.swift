// SPDX-License-Identifier: Apache-2.0
// Checks of what is sent: GLib would only log a warning, and a bus would close the connection.

import CGRunGIO

extension DBus {
    /// The kinds of names in a message.
    enum NameKind {
        case bus, interface, member

        fileprivate func isValid(_ name: String) -> Bool {
            switch self {
            case .bus: g_dbus_is_name(name) != 0
            case .interface: g_dbus_is_interface_name(name) != 0
            case .member: g_dbus_is_member_name(name) != 0
            }
        }
    }

    /// Throws an error if a name is not valid. Nil is valid.
    static func check(_ name: String?, _ kind: NameKind) throws(GLibError) {
        guard let name, name.containsNUL || !kind.isValid(name) else { return }
        throw GLibError(G_IO_ERROR_INVALID_ARGUMENT, "'\(name.shown)' is not the name of a D-Bus \(kind)")
    }

    static func check(_ path: ObjectPath?) throws(GLibError) {
        guard let path, !path.isValid else { return }
        throw GLibError(G_IO_ERROR_INVALID_ARGUMENT, "'\(path.description.shown)' is not a D-Bus object path")
    }

    /// 128 MiB, without a header.
    private static var largestBody: gsize { (128 << 20) - 4096 }

    /// Throws an error if a message with this body is certainly too large. A bus closes the connection of a program
    /// that sends more than 128 MiB.
    static func check(size body: Variant?) throws(GLibError) {
        guard let body, body.withPointer({ g_variant_get_size($0) }) > largestBody else { return }
        throw GLibError(G_DBUS_ERROR_LIMITS_EXCEEDED, "The message is larger than 128 MiB")
    }
}
