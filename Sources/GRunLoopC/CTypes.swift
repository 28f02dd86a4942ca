// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The functions of <grun/grun-types.h> and <grun/grun-version.h>, and the registration of types with GObject.

public import CGRunHeaders
import GRunLoop

typealias ErrorPlace = UnsafeMutablePointer<UnsafeMutablePointer<GError>?>

/// Registers types with GObject. In a second copy of the library in the process, all types are 0, because only one copy
/// can register these names.
enum Types {
    static func boxed(_ name: String) -> GType { registered { GRunLoop.registerBoxedType(named: name) } }

    /// Registers an enumeration. `values` has each value with its name, without the prefix.
    static func enumeration<Value: RawRepresentable>(
        _ name: String, prefix: String, _ values: [(Value, String)]
    ) -> GType where Value.RawValue: BinaryInteger {
        registered {
            g_enum_register_static(
                name,
                table(prefix, values.map { (gint($0.rawValue), $1) }, GEnumValue.init(value:value_name:value_nick:)))
        }
    }

    static func flags<Value: RawRepresentable>(
        _ name: String, prefix: String, _ values: [(Value, String)]
    ) -> GType where Value.RawValue: BinaryInteger {
        registered {
            g_flags_register_static(
                name,
                table(prefix, values.map { (guint($0.rawValue), $1) }, GFlagsValue.init(value:value_name:value_nick:)))
        }
    }

    private static func registered(_ register: () -> GType) -> GType { GRunLoop.boxedType == 0 ? 0 : register() }

    /// Makes a table of values for GObject; the table ends with an entry of zeros. GObject uses the table and its
    /// strings forever, so they are never freed. A value's nick is its name without the prefix, in lower case, with `-`
    /// instead of `_`.
    private static func table<Number, Value>(
        _ prefix: String, _ values: [(Number, String)],
        _ make: (Number, UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> Value
    ) -> UnsafePointer<Value>? {
        let memory = g_malloc0_n(gsize(values.count + 1), gsize(MemoryLayout<Value>.stride))
        guard let table = memory?.bindMemory(to: Value.self, capacity: values.count + 1) else { return nil }
        for (index, (number, name)) in values.enumerated() {
            let nick = name.lowercased().map { $0 == "_" ? "-" : $0 }
            (table + index).initialize(to: make(number, copy(prefix + name), copy(String(nick))))
        }
        return UnsafePointer(table)
    }
}

// MARK: Errors

private let errorType = Types.enumeration(
    "GRunError", prefix: "GRUN_ERROR_",
    [
        (GRUN_ERROR_BAD_DESCRIPTOR, "BAD_DESCRIPTOR"),
        (GRUN_ERROR_NOT_POLLABLE, "NOT_POLLABLE"),
        (GRUN_ERROR_LIMIT_REACHED, "LIMIT_REACHED"),
        (GRUN_ERROR_SYSTEM, "SYSTEM"),
        (GRUN_ERROR_LOOP_ENDED, "LOOP_ENDED"),
        (GRUN_ERROR_NO_THREAD, "NO_THREAD"),
        (GRUN_ERROR_SIGNAL_REFUSED, "SIGNAL_REFUSED"),
        (GRUN_ERROR_SIGNAL_HANDLED, "SIGNAL_HANDLED"),
        (GRUN_ERROR_NOT_A_CHILD, "NOT_A_CHILD"),
        (GRUN_ERROR_STATUS_LOST, "STATUS_LOST"),
        (GRUN_ERROR_NOT_SUPPORTED, "NOT_SUPPORTED"),
        (GRUN_ERROR_INVALID_NAME, "INVALID_NAME"),
        (GRUN_ERROR_NAME_TAKEN, "NAME_TAKEN"),
        (GRUN_ERROR_NOT_FOUND, "NOT_FOUND"),
        (GRUN_ERROR_NO_RUNTIME_DIRECTORY, "NO_RUNTIME_DIRECTORY"),
        (GRUN_ERROR_UNSAFE_DIRECTORY, "UNSAFE_DIRECTORY"),
        (GRUN_ERROR_NOT_PERMITTED, "NOT_PERMITTED"),
        (GRUN_ERROR_INVALID_PORT, "INVALID_PORT"),
        (GRUN_ERROR_UNKNOWN_USERS, "UNKNOWN_USERS"),
    ])
private let errorQuark = g_quark_from_string("grun-error-quark")

@c @implementation public func grun_error_get_type() -> GType { errorType }
@c @implementation public func grun_error_quark() -> GQuark { errorQuark }

func fail(_ place: ErrorPlace?, _ code: GRunError, _ message: String) {
    g_set_error_literal(place, errorQuark, gint(code.rawValue), message)
}

func fail(_ place: ErrorPlace?, _ error: GRunLoop.SystemError) {
    let code =
        switch error {
        case .notOpen: GRUN_ERROR_BAD_DESCRIPTOR
        case .notPollable: GRUN_ERROR_NOT_POLLABLE
        case .signalRefused: GRUN_ERROR_SIGNAL_REFUSED
        case .signalHandled: GRUN_ERROR_SIGNAL_HANDLED
        case .notAChild: GRUN_ERROR_NOT_A_CHILD
        case .statusLost: GRUN_ERROR_STATUS_LOST
        case .limitReached(EAGAIN): GRUN_ERROR_NO_THREAD
        case .limitReached: GRUN_ERROR_LIMIT_REACHED
        case .forbidden, .unsupported, .forked: GRUN_ERROR_NOT_SUPPORTED
        case .failed: GRUN_ERROR_SYSTEM
        }
    fail(place, code, error.description)
}

/// If `body` throws, sets the `GError` and returns false.
func succeeds(_ place: ErrorPlace?, _ body: () throws(GRunLoop.SystemError) -> Void) -> Bool {
    do throws(GRunLoop.SystemError) {
        try body()
        return true
    } catch {
        fail(place, error)
        return false
    }
}

/// Implements the functions `grun_loop_add_...` for items whose addition can fail. Returns whether the item is in the
/// mode. If the call was refused, the item is invalid or the loop has ended, returns false without an error.
func adds<Item: GRunLoop.Item>(
    _ item: Item, to loop: GRunLoop, _ mode: GRunLoop.Mode, _ place: ErrorPlace?
) -> Bool where Item.AddError == GRunLoop.SystemError {
    succeeds(place) { () throws(GRunLoop.SystemError) in try loop.add(item, forMode: mode) }
        && loop.contains(item, forMode: mode)
}

// MARK: Version

@c @implementation
public func grun_check_version(_ major: guint, _ minor: guint, _ micro: guint) -> UnsafePointer<CChar>? {
    if major < GRUN_MAJOR_VERSION { return Version.tooNew }
    return (major, minor, micro) <= (guint(GRUN_MAJOR_VERSION), guint(GRUN_MINOR_VERSION), guint(GRUN_MICRO_VERSION))
        ? nil : Version.tooOld
}

private enum Version {
    private static let text = "GRunLoop \(GRUN_MAJOR_VERSION).\(GRUN_MINOR_VERSION).\(GRUN_MICRO_VERSION)"
    nonisolated(unsafe) static let tooOld = UnsafePointer(copy("\(text) is older than the version that is needed"))
    nonisolated(unsafe) static let tooNew = UnsafePointer(copy("\(text) has another major version than is needed"))
}
