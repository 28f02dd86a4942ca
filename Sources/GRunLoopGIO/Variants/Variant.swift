// SPDX-License-Identifier: Apache-2.0
// A GVariant that Swift counts.

import CGRunGIO

/// A value with a type of D-Bus's, such as the body of a message or a value of settings.
///
/// A `Variant` is immutable. To get Swift values, use ``value(as:)``, or the type's ``VariantValue/init(variant:)``.
/// Inside a message, a `Variant` is a `v`: a value of any type. So `[String: Variant]` is D-Bus's `a{sv}`.
///
/// Threads: any. The corresponding GLib type is `GVariant`.
public final class Variant: Sendable, CustomStringConvertible, Equatable {
    /// The variant, for functions of C. It lives as long as this object. Swift may release the object after its last
    /// use, so keep the object in a property, or use `withExtendedLifetime`.
    public nonisolated(unsafe) let pointer: OpaquePointer

    /// Takes over the reference of a function that returns *transfer full*.
    public init(full pointer: OpaquePointer) { self.pointer = g_variant_take_ref(pointer) }

    /// Adds a reference to a variant of a function that returns *transfer none*.
    public init(retaining pointer: OpaquePointer) { self.pointer = g_variant_ref(pointer) }

    /// Takes over the floating reference of a `g_variant_new` function. If the reference is not floating, adds a
    /// reference.
    public init(sinking pointer: OpaquePointer) { self.pointer = g_variant_ref_sink(pointer) }

    /// Creates a variant that holds a Swift value.
    ///
    /// - Throws: ``VariantError`` if the value contains a string that D-Bus does not allow.
    public convenience init(_ value: some VariantValue) throws(VariantError) {
        self.init(full: try value.encoded().withPointer { g_variant_ref($0) })
    }

    /// Creates a variant from its text form, such as `[1, 2]` or `{'title': <'a'>}`.
    ///
    /// - Parameters:
    ///   - text: the text form.
    ///   - signature: the type of the value, such as `a{sv}`; nil if the text says the type.
    /// - Throws: a ``GLibError`` of the domain `g-variant-parse-error-quark` if the text has no such value;
    ///   ``GIO/ErrorCode/invalidArgument`` if `signature` is not a type.
    ///
    /// The corresponding GLib function is `g_variant_parse`.
    public convenience init(parsing text: String, as signature: String? = nil) throws(GLibError) {
        if let signature, signature.containsNUL || g_variant_type_string_is_valid(signature) == 0 {
            throw GLibError(.invalidArgument, "'\(signature.shown)' is not a type of a variant")
        }
        if text.containsNUL { throw GLibError(.invalidArgument, "the text '\(text.shown)' contains a NUL") }
        var error: UnsafeMutablePointer<GError>?
        let parsed = withType(signature) { g_variant_parse($0, text, nil, nil, &error) }
        guard let parsed else {
            throw error.map { GLibError(consuming: $0) } ?? GLibError(.invalidArgument, text)
        }
        self.init(full: parsed)
    }

    deinit { g_variant_unref(pointer) }

    /// The type of the value, such as `a{sv}`. The corresponding GLib function is `g_variant_get_type_string`.
    public var signature: String { withPointer { String(cString: g_variant_get_type_string($0)) } }

    /// The number of elements of an array, a tuple, a dictionary entry or a `v`; zero for other values.
    ///
    /// The corresponding GLib function is `g_variant_n_children`.
    public var count: Int {
        withPointer { g_variant_is_container($0) == 0 ? 0 : Int(g_variant_n_children($0)) }
    }

    /// The element at an index, which must be at least zero and less than ``count``.
    ///
    /// The corresponding GLib function is `g_variant_get_child_value`.
    public subscript(index: Int) -> Variant {
        precondition(index >= 0 && index < count, "A variant of \(count) elements has no element \(index)")
        return child(index)
    }

    /// The value as a Swift type.
    ///
    /// - Throws: ``VariantError/wrongType(expected:found:)`` if the variant has another type.
    public func value<Value: VariantValue>(as type: Value.Type = Value.self) throws(VariantError) -> Value {
        try Value(variant: self)
    }

    /// The text form with types, for log messages. The corresponding GLib function is `g_variant_print`.
    public var description: String {
        guard let text = withPointer({ g_variant_print($0, 1) }) else { return "" }
        defer { g_free(text) }
        return String(cString: text)
    }

    /// Whether two variants have the same type and value. The corresponding GLib function is `g_variant_equal`.
    public static func == (one: Variant, other: Variant) -> Bool {
        one.withPointer { one in
            other.withPointer { other in g_variant_equal(gconstpointer(one), gconstpointer(other)) != 0 }
        }
    }

    /// Calls a closure with the pointer. The variant lives until the closure returns, also if it is a temporary value.
    @inline(__always) func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        withExtendedLifetime(self) { body(pointer) }
    }

    /// The element at an index that exists.
    func child(_ index: Int) -> Variant { withPointer { Variant(full: g_variant_get_child_value($0, gsize(index))) } }

    /// Calls a closure with the pointer, if the value has this type.
    @inline(__always) func read<Result>(
        as signature: String, _ body: (OpaquePointer) -> Result
    ) throws(VariantError) -> Result {
        guard withPointer({ g_strcmp0(g_variant_get_type_string($0), signature) == 0 }) else {
            throw .wrongType(expected: signature, found: self.signature)
        }
        return withPointer(body)
    }
}

/// Calls a closure with a valid signature as a `GVariantType`, which is the address of its text.
func withType<Result>(_ signature: String?, _ body: (OpaquePointer?) -> Result) -> Result {
    guard let signature else { return body(nil) }
    return signature.withCString { body(OpaquePointer($0)) }
}

extension String {
    /// Whether C would truncate the string.
    var containsNUL: Bool { utf8.contains(0) }

    /// The string, with a mark in place of each NUL, for a message.
    var shown: String { containsNUL ? String(map { $0 == "\0" ? "\u{2400}" : $0 }) : self }
}
