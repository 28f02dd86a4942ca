// SPDX-License-Identifier: Apache-2.0
// Checks of what is sent: GLib would only log a warning, and a bus would close the connection.

import CGRunGIO

extension DBus {
    /// The kinds of names in a message.
    enum NameKind {
        case bus, interface, member

        fileprivate func isValid(_ name: String) -> Bool {
            guard name.utf8.count <= 255 else { return false }
            return switch self {
            case .bus: g_dbus_is_name(name) != 0
            case .interface: g_dbus_is_interface_name(name) != 0 && name != "org.freedesktop.DBus.Local"
            case .member: g_dbus_is_member_name(name) != 0
            }
        }
    }

    /// Throws an error if a name is not valid. Nil is valid.
    static func check(_ name: String?, _ kind: NameKind) throws(GLibError) {
        guard let name, name.containsNUL || !kind.isValid(name) else { return }
        throw GLibError(.invalidArgument, "'\(name.shown)' is not the name of a D-Bus \(kind)")
    }

    static func check(_ path: ObjectPath?) throws(GLibError) {
        guard let path, !path.isValid || path == "/org/freedesktop/DBus/Local" else { return }
        throw GLibError(.invalidArgument, "'\(path.description.shown)' is not a D-Bus object path")
    }
}
