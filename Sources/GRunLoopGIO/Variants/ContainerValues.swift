// SPDX-License-Identifier: Apache-2.0
// Arrays, dictionaries, tuples and values of any type as variants.

import CGRunGIO
import Glibc

/// The elements of a container in C. Owns a reference to each element.
private struct Elements: ~Copyable {
    private var pointers: [OpaquePointer?] = []

    init(capacity: Int) { pointers.reserveCapacity(capacity) }

    deinit { for pointer in pointers { g_variant_unref(pointer) } }

    mutating func append(_ element: Variant) { pointers.append(element.withPointer { g_variant_ref($0) }) }

    mutating func array(of signature: String) -> Variant {
        Variant(sinking: withType(signature) { g_variant_new_array($0, &pointers, gsize(pointers.count)) })
    }

    mutating func tuple() -> Variant { Variant(sinking: g_variant_new_tuple(&pointers, gsize(pointers.count))) }
}

/// Whether the bytes of an array of this type are the same in Swift and in a variant.
private func hasSameBytes<Element>(_ type: Element.Type) -> Bool {
    type == UInt8.self || type == Double.self || type == Int32.self || type == UInt32.self || type == Int64.self
        || type == UInt64.self || type == Int16.self || type == UInt16.self
}

extension Array: VariantValue where Element: VariantValue {
    public static var signature: String { "a" + Element.signature }

    public init(variant: Variant) throws(VariantError) {
        if hasSameBytes(Element.self) {
            self = try variant.read(as: Self.signature) { Self(bytesOf: $0) }
            return
        }
        let count = try variant.read(as: Self.signature) { Int(g_variant_n_children($0)) }
        self.init()
        reserveCapacity(count)
        for index in 0..<count { append(try Element(variant: variant.child(index))) }
    }

    /// Copies an array whose elements have the same bytes in Swift.
    private init(bytesOf pointer: OpaquePointer) {
        var count: gsize = 0
        let start = g_variant_get_fixed_array(pointer, &count, gsize(MemoryLayout<Element>.stride))
        self.init(unsafeUninitializedCapacity: Int(count)) { buffer, initialized in
            if let start, let place = buffer.baseAddress {
                memcpy(place, start, Int(count) * MemoryLayout<Element>.stride)
            }
            initialized = Int(count)
        }
    }

    public func encoded() throws(VariantError) -> Variant {
        if hasSameBytes(Element.self) {
            return withUnsafeBytes { bytes in
                Variant(
                    sinking: withType(Element.signature) {
                        g_variant_new_fixed_array(
                            $0, bytes.baseAddress, gsize(count), gsize(MemoryLayout<Element>.stride))
                    })
            }
        }
        var elements = Elements(capacity: count)
        for element in self { elements.append(try element.encoded()) }
        return elements.array(of: Element.signature)
    }
}

/// D-Bus allows only basic types as keys: truth values, numbers, strings, object paths and signatures.
extension Dictionary: VariantValue where Key: VariantValue, Value: VariantValue {
    public static var signature: String { "a" + entrySignature }
    private static var entrySignature: String { "{" + Key.signature + Value.signature + "}" }

    /// Takes the entries of a dictionary. If a key occurs several times, its last value counts.
    ///
    /// - Throws: ``VariantError/wrongType(expected:found:)`` if the variant has another type.
    ///
    /// Threads: any.
    public init(variant: Variant) throws(VariantError) {
        let count = try variant.read(as: Self.signature) { Int(g_variant_n_children($0)) }
        self.init(minimumCapacity: count)
        for index in 0..<count {
            let entry = variant.child(index)
            self[try Key(variant: entry.child(0))] = try Value(variant: entry.child(1))
        }
    }

    public func encoded() throws(VariantError) -> Variant {
        guard withType(Key.signature, { g_variant_type_is_basic($0) != 0 }) else {
            throw .notAKey(signature: Key.signature)
        }
        var entries = Elements(capacity: count)
        for (key, value) in self {
            let (key, value) = (try key.encoded(), try value.encoded())
            entries.append(
                key.withPointer { key in
                    value.withPointer { Variant(sinking: g_variant_new_dict_entry(key, $0)) }
                })
        }
        return entries.array(of: Self.entrySignature)
    }
}

extension Dictionary where Key == String, Value == Variant {
    /// The value of a key of an `a{sv}`, as a Swift type; nil if the key is missing.
    ///
    /// - Throws: ``VariantError/wrongType(expected:found:)`` if the value has another type.
    ///
    /// Threads: any.
    public func value<Wanted: VariantValue>(
        _ key: String, as type: Wanted.Type = Wanted.self
    ) throws(VariantError) -> Wanted? {
        guard let variant = self[key] else { return nil }
        return try Wanted(variant: variant)
    }
}

/// Inside another value, a variant is a `v`.
extension Variant: VariantValue {
    /// The type `v`.
    public static var signature: String { "v" }

    /// Takes the value out of a `v`.
    ///
    /// - Throws: ``VariantError/wrongType(expected:found:)`` if the variant is not a `v`.
    public convenience init(variant: Variant) throws(VariantError) {
        self.init(full: try variant.read(as: "v") { g_variant_get_variant($0) })
    }

    /// Puts the variant into a `v`.
    public func encoded() -> Variant { withPointer { Variant(sinking: g_variant_new_variant($0)) } }
}

/// A tuple of values: a structure of D-Bus's, or the arguments of a message.
public struct VariantTuple<each Element: VariantValue>: VariantValue {
    /// The elements.
    public let values: (repeat each Element)

    /// Creates a tuple.
    public init(_ value: repeat each Element) { values = (repeat each value) }

    public static var signature: String {
        var signature = "("
        repeat signature += (each Element).signature
        return signature + ")"
    }

    public init(variant: Variant) throws(VariantError) {
        try variant.read(as: Self.signature) { _ in }
        var index = 0
        func next() -> Variant {
            defer { index += 1 }
            return variant.child(index)
        }
        values = (repeat try (each Element)(variant: next()))
    }

    public func encoded() throws(VariantError) -> Variant {
        var elements = Elements(capacity: 4)
        repeat elements.append(try (each values).encoded())
        return elements.tuple()
    }
}
