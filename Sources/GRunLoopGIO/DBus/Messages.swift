// SPDX-License-Identifier: Apache-2.0
// Checks of the content of a message. GLib sends some messages for which a bus or a peer closes the connection.

import CGRunGIO

extension DBus {
    /// Throws an error if a message with this body and these descriptors cannot be sent.
    static func check(
        body: Variant?, _ descriptors: Descriptors? = nil, on connection: Connection
    ) throws(GLibError) {
        if let descriptors, descriptors.count > 0 {
            let capabilities = g_dbus_connection_get_capabilities(connection.pointer).rawValue
            if capabilities & cglib_dbus_capability_descriptors.rawValue == 0 {
                throw GLibError(.notSupported, "The connection cannot send file descriptors")
            }
            if descriptors.count > largestDescriptorCount {
                throw GLibError(
                    G_DBUS_ERROR_LIMITS_EXCEEDED, "The message has more than \(largestDescriptorCount) descriptors")
            }
        }
        guard let body else { return }
        try body.checkBody()
    }

    /// SCM_MAX_FD of the kernel.
    private static var largestDescriptorCount: Int { 253 }

    /// Whether D-Bus allows a signature of zero or more types. GLib's function allows more.
    static func isSignature(_ text: String) -> Bool {
        guard !text.containsNUL, g_variant_is_signature(text) != 0 else { return false }
        return WireType.isAllowed(text)
    }
}

extension Variant {
    fileprivate func checkBody() throws(GLibError) {
        let text = signature
        guard text.hasPrefix("(") else {
            throw GLibError(.invalidArgument, "The arguments are not a tuple, but '\(text)'")
        }
        guard WireType.isAllowed(text.dropFirst().dropLast()) else {
            throw GLibError(.invalidArgument, "D-Bus does not allow the arguments '\(text)'")
        }
        // Without a `v` or a `g`, the type says everything but the size.
        let size = withPointer { g_variant_get_size($0) }
        guard size > 1 << 20 || text.utf8.contains(where: { $0 == UInt8(ascii: "v") || $0 == UInt8(ascii: "g") })
        else { return }
        var walk = WireWalk()
        try withExtendedLifetime(self) { () throws(GLibError) in try walk.elements(pointer, count, depth: 0) }
        guard walk.offset <= WireWalk.largestBody else {
            throw GLibError(G_DBUS_ERROR_LIMITS_EXCEEDED, "The message is larger than 128 MiB")
        }
    }
}

/// The types of values on the wire.
enum WireType {
    /// Whether the types of GVariant's in a text are also D-Bus's. At most 255 bytes, 32 nested arrays and 32 nested
    /// structures; no empty structure, and no type that may be missing.
    static func isAllowed(_ text: some StringProtocol) -> Bool {
        guard text.utf8.count <= 255 else { return false }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty { guard takeType(&rest, arrays: 0, structures: 0) else { return false } }
        return true
    }

    private static func takeType(_ rest: inout ArraySlice<UInt8>, arrays: Int, structures: Int) -> Bool {
        guard let first = rest.popFirst() else { return false }
        switch Unicode.Scalar(first) {
        case "m", "r", "?", "*": return false
        case "a": return arrays < 32 && takeType(&rest, arrays: arrays + 1, structures: structures)
        case "(", "{":
            let end = first == UInt8(ascii: "(") ? UInt8(ascii: ")") : UInt8(ascii: "}")
            guard structures < 32, let second = rest.first, second != end else { return false }
            // The key of a dictionary is a basic type.
            if first == UInt8(ascii: "{"), "a({v".utf8.contains(second) { return false }
            while let next = rest.first, next != end {
                guard takeType(&rest, arrays: arrays, structures: structures + 1) else { return false }
            }
            rest.removeFirst()
            return true
        default: return true
        }
    }
}

/// Walks through the values of a body as they stand on the wire.
private struct WireWalk {
    /// 128 MiB, without a header.
    static var largestBody: Int { (128 << 20) - 4096 }
    private static var largestArray: Int { 64 << 20 }

    /// The bytes until now.
    private(set) var offset = 0

    private mutating func add(_ size: Int, alignment: Int) {
        offset = (offset + alignment - 1) / alignment * alignment + size
    }

    mutating func elements(_ parent: OpaquePointer, _ count: Int, depth: Int) throws(GLibError) {
        for index in 0..<count {
            guard let child = g_variant_get_child_value(parent, gsize(index)) else { continue }
            defer { g_variant_unref(child) }
            try value(child, depth: depth)
        }
    }

    private mutating func value(_ value: OpaquePointer, depth: Int) throws(GLibError) {
        let type = UInt8(bitPattern: g_variant_get_type_string(value)[0])
        switch Unicode.Scalar(type) {
        case "y": add(1, alignment: 1)
        case "n", "q": add(2, alignment: 2)
        case "b", "i", "u", "h": add(4, alignment: 4)
        case "x", "t", "d": add(8, alignment: 8)
        case "s", "o": add(4 + Int(g_variant_get_size(value)), alignment: 4)
        case "g": try signature(String(cString: g_variant_get_string(value, nil)))
        default: try container(value, type, depth: depth + 1)
        }
    }

    private mutating func signature(_ text: String) throws(GLibError) {
        guard WireType.isAllowed(text) else {
            throw GLibError(.invalidArgument, "D-Bus does not allow the types '\(text)'")
        }
        add(2 + text.utf8.count, alignment: 1)
    }

    private mutating func container(_ value: OpaquePointer, _ type: UInt8, depth: Int) throws(GLibError) {
        guard depth <= 64 else {
            throw GLibError(.invalidArgument, "D-Bus allows at most 64 nested values")
        }
        let count = Int(g_variant_n_children(value))
        switch Unicode.Scalar(type) {
        case "v":
            guard let child = g_variant_get_variant(value) else { return }
            defer { g_variant_unref(child) }
            try signature(String(cString: g_variant_get_type_string(child)))
            try self.value(child, depth: depth)
        case "a":
            add(4, alignment: 4)
            let element = UInt8(bitPattern: g_variant_get_type_string(value)[1])
            let size = Self.fixedSize(element)
            add(0, alignment: size ?? Self.alignment(element))
            let start = offset
            if let size { offset += count * size } else { try elements(value, count, depth: depth) }
            guard offset - start <= Self.largestArray else {
                throw GLibError(.invalidArgument, "D-Bus allows at most 64 MiB in an array")
            }
        default:
            add(0, alignment: 8)
            try elements(value, count, depth: depth)
        }
    }

    /// The size of each value of a type; nil if it is not fixed.
    private static func fixedSize(_ type: UInt8) -> Int? {
        switch Unicode.Scalar(type) {
        case "y": 1
        case "n", "q": 2
        case "b", "i", "u", "h": 4
        case "x", "t", "d": 8
        default: nil
        }
    }

    private static func alignment(_ type: UInt8) -> Int {
        switch Unicode.Scalar(type) {
        case "g", "v": 1
        case "(", "{": 8
        default: 4
        }
    }
}
