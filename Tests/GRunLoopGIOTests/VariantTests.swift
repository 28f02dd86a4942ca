// SPDX-License-Identifier: Apache-2.0
// Variants: types, values both ways, strings that D-Bus does not allow, and references.

import CGRunGIO
import GRunLoopGIO
import Testing

/// Encodes a value, compares the text form, and decodes the value again.
private func roundTrip<Value: VariantValue & Equatable>(_ value: Value, _ text: String, as signature: String) throws {
    #expect(Value.signature == signature)
    let variant = try Variant(value)
    #expect(variant.signature == signature)
    #expect(variant.description == text)
    #expect(try variant.value(as: Value.self) == value)
    #expect(try Variant(parsing: text) == variant)
}

private struct Point: VariantValue, Equatable {
    var x: Int32
    var name: String

    init(x: Int32, name: String) { (self.x, self.name) = (x, name) }

    static var signature: String { VariantTuple<Int32, String>.signature }
    init(variant: Variant) throws(VariantError) {
        (x, name) = try VariantTuple<Int32, String>(variant: variant).values
    }
    func encoded() throws(VariantError) -> Variant { try VariantTuple(x, name).encoded() }
}

@Suite("Variant") struct VariantTests {
    @Test("basic values have D-Bus's types, and come back")
    func basicValues() throws {
        try roundTrip(true, "true", as: "b")
        try roundTrip(UInt8.max, "byte 0xff", as: "y")
        try roundTrip(Int16.min, "int16 -32768", as: "n")
        try roundTrip(UInt16.max, "uint16 65535", as: "q")
        try roundTrip(Int32.min, "-2147483648", as: "i")
        try roundTrip(UInt32.max, "uint32 4294967295", as: "u")
        try roundTrip(Int64.min, "int64 -9223372036854775808", as: "x")
        try roundTrip(UInt64.max, "uint64 18446744073709551615", as: "t")
        try roundTrip(-0.5, "-0.5", as: "d")
        try roundTrip("é'", "\"é'\"", as: "s")
        try roundTrip(DBus.ObjectPath("/a/b"), "objectpath '/a/b'", as: "o")
        try roundTrip(DBus.Signature("a{sv}i"), "signature 'a{sv}i'", as: "g")
        try roundTrip(DBus.Handle(index: 3), "handle 3", as: "h")
    }

    @Test("arrays, dictionaries and structures have D-Bus's types, also if they are empty")
    func containers() throws {
        try roundTrip([Int32](), "@ai []", as: "ai")
        try roundTrip([UInt8](), "@ay []", as: "ay")
        try roundTrip(["a", ""], "['a', '']", as: "as")
        try roundTrip([1.5, -2], "[1.5, -2.0]", as: "ad")
        try roundTrip([true, false], "[true, false]", as: "ab")
        try roundTrip([[Int64]](), "@aax []", as: "aax")
        try roundTrip([String: [UInt8]](), "@a{say} {}", as: "a{say}")
        try roundTrip([UInt16(1): "x"], "{uint16 1: 'x'}", as: "a{qs}")
        try roundTrip([Point(x: 1, name: "a")], "[(1, 'a')]", as: "a(is)")
        let values = try VariantTuple<Bool, [String]>(variant: Variant(VariantTuple(true, ["x"]))).values
        #expect(values.0 && values.1 == ["x"])
        let empty = try Variant(VariantTuple())
        #expect(empty.signature == "()" && empty.count == 0)
    }

    @Test("numbers of each size keep their values in large arrays")
    func fixedSizes() throws {
        func check<Number: FixedWidthInteger & VariantValue>(_ type: Number.Type) throws {
            let numbers = (0..<1000).map { Number(truncatingIfNeeded: $0 &* 0x0123_4567_89AB_CDEF) }
            let variant = try Variant(numbers)
            #expect(variant.count == 1000)
            #expect(try variant[999].value(as: Number.self) == numbers[999])
            #expect(try variant.value(as: [Number].self) == numbers)
        }
        try check(UInt8.self)
        try check(Int16.self)
        try check(UInt16.self)
        try check(Int32.self)
        try check(UInt32.self)
        try check(Int64.self)
        try check(UInt64.self)
    }

    @Test("a dictionary a{sv} gives typed values, nil for a missing key, and an error for another type")
    func dictionaryForm() throws {
        let options = ["title": try Variant("x"), "count": try Variant(UInt32(3))]
        let variant = try Variant(options)
        #expect(variant.signature == "a{sv}" && variant.count == 2)
        let found = try variant.value(as: [String: Variant].self)
        #expect(try found.value("title") == "x")
        #expect(try found.value("count", as: UInt32.self) == 3)
        #expect(try found.value("size", as: UInt32.self) == nil)
        #expect(throws: VariantError.wrongType(expected: "i", found: "u")) { try found.value("count", as: Int32.self) }
    }

    @Test("a value of another type is refused, also inside a container")
    func wrongType() throws {
        let variant = try Variant(["a"])
        #expect(throws: VariantError.wrongType(expected: "s", found: "as")) { try variant.value(as: String.self) }
        #expect(throws: VariantError.wrongType(expected: "ao", found: "as")) {
            try variant.value(as: [DBus.ObjectPath].self)
        }
        #expect(throws: VariantError.wrongType(expected: "(is)", found: "(si)")) {
            try Point(variant: Variant(VariantTuple("a", Int32(1))))
        }
    }

    @Test("a string with a NUL, a wrong path, signature or key is refused, also inside a container")
    func refusedTexts() throws {
        #expect(throws: VariantError.containsNUL("a\0b")) { try Variant("a\0b") }
        #expect(throws: VariantError.containsNUL("\0")) { try Variant([["k": "\0"]]) }
        #expect(throws: VariantError.containsNUL("\0")) { try VariantTuple(Int32(1), "x", "\0").encoded() }
        for path in ["", "a", "/a/", "/a\0", "//"] {
            #expect(throws: VariantError.notAnObjectPath(path)) { try Variant(DBus.ObjectPath(path)) }
        }
        for signature in ["z", "a", "(", "i\0"] {
            #expect(throws: VariantError.notASignature(signature)) { try Variant(DBus.Signature(signature)) }
        }
        #expect(throws: VariantError.notAKey(signature: "ay")) { try Variant([[UInt8(1)]: "x"]) }
    }

    @Test("a string of C that is not UTF-8 is repaired")
    func notUTF8() throws {
        let bytes: [UInt8] = [0x61, 0xFF, 0x62, 0]
        let copy = g_bytes_new(bytes, gsize(bytes.count))
        defer { g_bytes_unref(copy) }
        // GLib gives such a string only if the program says that it trusts the bytes.
        let variant = Variant(sinking: g_variant_new_from_bytes(gtype("s"), copy, 1))
        #expect(try variant.value(as: String.self) == "a\u{FFFD}b")
    }

    @Test("a text form is parsed as the given type, or is an error")
    func parsing() throws {
        #expect(try Variant(parsing: "[1, 2]", as: "ax").value(as: [Int64].self) == [1, 2])
        #expect(try Variant(parsing: "{'a': <1>}").value(as: [String: Variant].self).value("a") == Int32(1))
        for (text, signature) in [("[1, 2]", "as"), ("[", nil), ("", nil), ("1\0", nil), ("1", "z"), ("1", "i\0")] {
            #expect(throws: GLibError.self, "\(text)") { try Variant(parsing: text, as: signature) }
        }
    }

    @Test("GLib's variant lives as long as Swift's, for each kind of reference")
    func references() throws {
        // GBytes knows when its last reference is released, and a variant of bytes keeps it.
        func variant(_ isReleased: UnsafeMutablePointer<Bool>) -> OpaquePointer {
            let bytes = g_bytes_new_with_free_func(
                isReleased, 1,
                { data in
                    data?.assumingMemoryBound(to: Bool.self).pointee = true
                }, isReleased)
            defer { g_bytes_unref(bytes) }
            return g_variant_new_from_bytes(gtype("b"), bytes, 1)
        }
        let isReleased = UnsafeMutablePointer<Bool>.allocate(capacity: 1)
        defer { isReleased.deallocate() }
        isReleased.pointee = false
        do {
            let sunk = Variant(sinking: variant(isReleased))
            let full = Variant(full: g_variant_ref(sunk.pointer))
            let retained = Variant(retaining: full.pointer)
            let boxed = try Variant([retained])
            #expect(!isReleased.pointee && boxed[0].count == 1)
            withExtendedLifetime((sunk, full, retained)) {}
        }
        #expect(isReleased.pointee)
    }
}

private func gtype(_ signature: String) -> OpaquePointer { OpaquePointer(g_intern_string(signature)) }
