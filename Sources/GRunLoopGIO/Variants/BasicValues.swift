// SPDX-License-Identifier: Apache-2.0
// Truth values, numbers and strings as variants.

import CGRunGIO

extension Bool: VariantValue {
    public static var signature: String { "b" }
    public init(variant: Variant) throws(VariantError) {
        self = try variant.read(as: "b") { g_variant_get_boolean($0) != 0 }
    }
    public func encoded() -> Variant { Variant(sinking: g_variant_new_boolean(self ? 1 : 0)) }
}

extension UInt8: VariantValue {
    public static var signature: String { "y" }
    public init(variant: Variant) throws(VariantError) { self = try variant.read(as: "y") { g_variant_get_byte($0) } }
    public func encoded() -> Variant { Variant(sinking: g_variant_new_byte(self)) }
}

extension Int16: VariantValue {
    public static var signature: String { "n" }
    public init(variant: Variant) throws(VariantError) { self = try variant.read(as: "n") { g_variant_get_int16($0) } }
    public func encoded() -> Variant { Variant(sinking: g_variant_new_int16(self)) }
}

extension UInt16: VariantValue {
    public static var signature: String { "q" }
    public init(variant: Variant) throws(VariantError) { self = try variant.read(as: "q") { g_variant_get_uint16($0) } }
    public func encoded() -> Variant { Variant(sinking: g_variant_new_uint16(self)) }
}

extension Int32: VariantValue {
    public static var signature: String { "i" }
    public init(variant: Variant) throws(VariantError) { self = try variant.read(as: "i") { g_variant_get_int32($0) } }
    public func encoded() -> Variant { Variant(sinking: g_variant_new_int32(self)) }
}

extension UInt32: VariantValue {
    public static var signature: String { "u" }
    public init(variant: Variant) throws(VariantError) { self = try variant.read(as: "u") { g_variant_get_uint32($0) } }
    public func encoded() -> Variant { Variant(sinking: g_variant_new_uint32(self)) }
}

extension Int64: VariantValue {
    public static var signature: String { "x" }
    public init(variant: Variant) throws(VariantError) {
        self = try variant.read(as: "x") { Int64(g_variant_get_int64($0)) }
    }
    public func encoded() -> Variant { Variant(sinking: g_variant_new_int64(gint64(self))) }
}

extension UInt64: VariantValue {
    public static var signature: String { "t" }
    public init(variant: Variant) throws(VariantError) {
        self = try variant.read(as: "t") { UInt64(g_variant_get_uint64($0)) }
    }
    public func encoded() -> Variant { Variant(sinking: g_variant_new_uint64(guint64(self))) }
}

extension Double: VariantValue {
    public static var signature: String { "d" }
    public init(variant: Variant) throws(VariantError) { self = try variant.read(as: "d") { g_variant_get_double($0) } }
    public func encoded() -> Variant { Variant(sinking: g_variant_new_double(self)) }
}

extension String: VariantValue {
    public static var signature: String { "s" }

    public init(variant: Variant) throws(VariantError) {
        self = try variant.read(as: "s") { String(text: $0) }
    }

    public func encoded() throws(VariantError) -> Variant {
        if containsNUL { throw .containsNUL(self) }
        return Variant(sinking: g_variant_new_string(self))
    }

    /// Copies the text of a variant of the type `s`, `o` or `g`. Text that is not UTF-8 is repaired.
    fileprivate init(text pointer: OpaquePointer) {
        var length: gsize = 0
        let start = g_variant_get_string(pointer, &length)
        self.init(decoding: UnsafeRawBufferPointer(start: start, count: Int(length)), as: UTF8.self)
    }
}

extension DBus {
    /// The name of an object, such as `/org/example/Files`.
    ///
    /// The path is checked when it is used, and an error is thrown if it is not valid.
    public struct ObjectPath: VariantValue, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The text of the path.
        public let description: String

        /// Creates a path without a check.
        public init(_ text: String) { description = text }
        /// Creates a path from a literal, such as `"/org/example/Files"`, without a check.
        public init(stringLiteral text: String) { self.init(text) }

        public static var signature: String { "o" }
        public init(variant: Variant) throws(VariantError) {
            description = try variant.read(as: "o") { String(text: $0) }
        }
        public func encoded() throws(VariantError) -> Variant {
            if !isValid { throw .notAnObjectPath(description) }
            return Variant(sinking: g_variant_new_object_path(description))
        }

        /// Whether D-Bus allows the path. The corresponding GLib function is `g_variant_is_object_path`.
        public var isValid: Bool { !description.containsNUL && g_variant_is_object_path(description) != 0 }
    }

    /// The types of zero or more values, as a value of a message.
    public struct Signature: VariantValue, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The text of the signature, such as `sa{sv}`.
        public let description: String

        /// Creates a signature without a check.
        public init(_ text: String) { description = text }
        /// Creates a signature from a literal, such as `"sa{sv}"`, without a check.
        public init(stringLiteral text: String) { self.init(text) }

        public static var signature: String { "g" }
        public init(variant: Variant) throws(VariantError) {
            description = try variant.read(as: "g") { String(text: $0) }
        }
        public func encoded() throws(VariantError) -> Variant {
            if !DBus.isSignature(description) { throw .notASignature(description) }
            return Variant(sinking: g_variant_new_signature(description))
        }
    }

    /// The place of a file descriptor in the ``Descriptors`` of a message.
    public struct Handle: VariantValue, Hashable {
        /// The index in the message's descriptors.
        public let index: Int32

        /// Creates a handle. Use ``Descriptors/append(_:)``, which also adds the descriptor.
        public init(index: Int32) { self.index = index }

        public static var signature: String { "h" }
        public init(variant: Variant) throws(VariantError) {
            index = try variant.read(as: "h") { g_variant_get_handle($0) }
        }
        public func encoded() -> Variant { Variant(sinking: g_variant_new_handle(index)) }
    }
}
