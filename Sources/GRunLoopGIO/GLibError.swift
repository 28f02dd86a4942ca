// SPDX-License-Identifier: Apache-2.0
// A GError as a Swift error.

public import CGRunGIO

/// A code of a GLib error domain, such as ``GIO/ErrorCode/notFound``. To match the codes of another library, conform
/// its enumeration to this protocol.
public protocol GLibErrorCode: RawRepresentable, Sendable where RawValue: FixedWidthInteger {
    /// The domain of the code. Threads: any.
    static var errorDomain: GQuark { get }
}

/// An error of GLib or of a library that uses it, as a value.
///
/// ```swift
/// do {
///     try await file.delete()
/// } catch GIO.ErrorCode.notFound {
///     // There was nothing to delete.
/// }
/// ```
///
/// Threads: any. The corresponding GLib type is `GError`.
public struct GLibError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The domain of the error, such as `g_io_error_quark()`.
    public let domain: GQuark
    /// The code in the domain.
    public let code: Int32
    /// The text for people, in the language of the process.
    public let message: String
    /// The D-Bus name of an error that came over D-Bus, such as `org.freedesktop.DBus.Error.AccessDenied`; otherwise
    /// nil.
    public let dbusName: String?

    /// Creates an error, for example the error that a method of an exported D-Bus object throws.
    public init(_ code: some GLibErrorCode, _ message: String) {
        self.init(domain: type(of: code).errorDomain, code: Int32(truncatingIfNeeded: code.rawValue), message: message)
    }

    /// Creates an error of GIO's domain.
    ///
    /// Threads: any. The corresponding GLib function is `g_error_new_literal`.
    public init(_ code: GIO.ErrorCode, _ message: String) {
        self.init(domain: GIO.ErrorCode.errorDomain, code: code.rawValue, message: message)
    }

    /// Creates an error that is sent to a D-Bus peer under this name, such as `org.example.Error.TooManyNotes`.
    ///
    /// Threads: any. The corresponding GLib function is `g_dbus_error_new_for_dbus_error`.
    public init(dbusName: String, _ message: String) {
        self.init(
            domain: GIO.ErrorCode.errorDomain, code: GIO.ErrorCode.dbusError.rawValue, message: message,
            dbusName: dbusName)
    }

    /// Creates an error of any domain.
    public init(domain: GQuark, code: Int32, message: String, dbusName: String? = nil) {
        (self.domain, self.code, self.message, self.dbusName) = (domain, code, message, dbusName)
    }

    /// Takes the content of a `GError`, and frees it.
    public init(consuming error: UnsafeMutablePointer<GError>) {
        let name = g_dbus_error_get_remote_error(error)
        if name != nil { g_dbus_error_strip_remote_error(error) }
        self.init(
            domain: error.pointee.domain, code: error.pointee.code,
            message: error.pointee.message.map { String(cString: $0) } ?? "",
            dbusName: name.map { String(cString: $0) })
        g_free(name)
        g_error_free(error)
    }

    /// Returns whether the error has this domain and code. The corresponding GLib function is `g_error_matches`.
    public func matches(_ code: some GLibErrorCode) -> Bool {
        domain == type(of: code).errorDomain && self.code == Int32(truncatingIfNeeded: code.rawValue)
    }

    /// Returns whether the error has this code of GIO's domain.
    ///
    /// Threads: any. The corresponding GLib function is `g_error_matches`.
    public func matches(_ code: GIO.ErrorCode) -> Bool {
        domain == GIO.ErrorCode.errorDomain && self.code == code.rawValue
    }

    /// Whether an operation reports with this error that its cancellable was cancelled. GTK's dialogs have a code of
    /// their own, `GTK_DIALOG_ERROR_CANCELLED`, which is 1.
    var isCancellation: Bool { matches(.cancelled) || code == 1 && domainName == "gtk-dialog-error-quark" }

    /// The domain as a text, such as `g-io-error-quark`.
    public var domainName: String { g_quark_to_string(domain).map { String(cString: $0) } ?? "unknown domain" }

    /// The message, followed by the domain and the code in parentheses.
    public var description: String {
        "\(message) (\(domainName) \(code)\(dbusName.map { ", " + $0 } ?? ""))"
    }

    /// Calls a function of C that stores an error, and throws this error.
    ///
    /// ```swift
    /// let connection = try GLibError.check { g_bus_get_sync(G_BUS_TYPE_SESSION, nil, $0) }
    /// ```
    ///
    /// - Parameter body: calls the function with the place for its error.
    /// - Returns: the value of `body`.
    /// - Throws: the error that the function has stored. In this case the value of `body` is dropped.
    public static func check<Value>(_ body: (GIO.ErrorPlace) -> Value) throws(GLibError) -> Value {
        var error: UnsafeMutablePointer<GError>?
        let value = body(&error)
        if let error { throw GLibError(consuming: error) }
        return value
    }
}

extension GIO {
    /// Returns whether an error with this code is stored.
    static func has(_ place: ErrorPlace, _ code: ErrorCode) -> Bool {
        g_error_matches(place.pointee, ErrorCode.errorDomain, code.rawValue) != 0
    }
}

/// Lets a `catch` name a code: `catch GIO.ErrorCode.notFound`. Threads: any. The corresponding GLib function is
/// `g_error_matches`.
public func ~= (code: some GLibErrorCode, error: any Error) -> Bool { (error as? GLibError)?.matches(code) ?? false }

extension GIOErrorEnum: GLibErrorCode { public static var errorDomain: GQuark { g_io_error_quark() } }
extension GDBusError: GLibErrorCode { public static var errorDomain: GQuark { g_dbus_error_quark() } }
extension GResolverError: GLibErrorCode { public static var errorDomain: GQuark { g_resolver_error_quark() } }
extension GTlsError: GLibErrorCode { public static var errorDomain: GQuark { g_tls_error_quark() } }
extension GFileError: GLibErrorCode { public static var errorDomain: GQuark { g_file_error_quark() } }
extension GSpawnError: GLibErrorCode { public static var errorDomain: GQuark { g_spawn_error_quark() } }
extension GKeyFileError: GLibErrorCode { public static var errorDomain: GQuark { g_key_file_error_quark() } }
