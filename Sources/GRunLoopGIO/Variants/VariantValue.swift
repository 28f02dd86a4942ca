// SPDX-License-Identifier: Apache-2.0
// Swift types that have a type of D-Bus's.

/// A Swift type with a fixed type of D-Bus's. So an empty array has a type, too, and a wrong type is an error at
/// compile time.
///
/// - `Bool`: `b`
/// - `UInt8`: `y`
/// - `Int16` and `UInt16`: `n` and `q`
/// - `Int32` and `UInt32`: `i` and `u`
/// - `Int64` and `UInt64`: `x` and `t`
/// - `Double`: `d`
/// - `String`: `s`
/// - ``DBus/ObjectPath``, ``DBus/Signature``, ``DBus/Handle``: `o`, `g`, `h`
/// - ``Variant``: `v`
/// - `[Element]`: `a` and the type of the element
/// - `[Key: Value]`: `a{`, the types of the key and the value, `}`
/// - ``VariantTuple``: `(`, the types of the elements, `)`
///
/// `Int` and `UInt` are not in the list. Most interfaces use 32 bits, and a peer refuses a number of another size. So
/// the program says the size: `Int32(3)`.
///
/// To give a structure a type, store its members in a ``VariantTuple``:
///
/// ```swift
/// extension Point: VariantValue {
///     static var signature: String { VariantTuple<Int32, Int32>.signature }
///     init(variant: Variant) throws(VariantError) {
///         (x, y) = try VariantTuple<Int32, Int32>(variant: variant).values
///     }
///     func encoded() throws(VariantError) -> Variant { try VariantTuple(x, y).encoded() }
/// }
/// ```
public protocol VariantValue: Sendable {
    /// The type, such as `a{sv}`. Threads: any.
    static var signature: String { get }

    /// Takes the value of a variant.
    ///
    /// - Throws: ``VariantError/wrongType(expected:found:)`` if the variant has another type than ``signature``.
    ///
    /// Threads: any.
    init(variant: Variant) throws(VariantError)

    /// Returns a variant of the type ``signature``.
    ///
    /// - Throws: ``VariantError`` if the value contains a string that D-Bus does not allow.
    ///
    /// Threads: any.
    func encoded() throws(VariantError) -> Variant
}

/// The reason why a Swift value has no variant, or a variant has no such Swift value.
public enum VariantError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The variant has another type.
    case wrongType(expected: String, found: String)
    /// A string contains a NUL. C would truncate the string.
    case containsNUL(String)
    /// A text is not an object path.
    case notAnObjectPath(String)
    /// A text is not a signature.
    case notASignature(String)
    /// A dictionary has keys of this type, which D-Bus does not allow.
    case notAKey(signature: String)

    /// The meaning of the error.
    public var description: String {
        switch self {
        case .wrongType(let expected, let found): "the value has the type '\(found)' instead of '\(expected)'"
        case .containsNUL(let text): "the string '\(text.shown)' contains a NUL"
        case .notAnObjectPath(let text): "'\(text.shown)' is not an object path"
        case .notASignature(let text): "'\(text.shown)' is not a signature"
        case .notAKey(let signature): "a dictionary cannot have keys of the type '\(signature)'"
        }
    }
}
