// SPDX-License-Identifier: Apache-2.0
// Converts texts and names between Swift and C. In C they end with a NUL, and need not be UTF-8.

import CGRunGIO
import Glibc

/// Returns the text unchanged. Throws an error if the text contains a NUL, because C would use only the text before the
/// NUL.
func withoutNUL(_ text: String) throws(GLibError) -> String {
    guard !text.utf8.contains(0) else { throw GLibError(.invalidArgument, "the text contains a NUL") }
    return text
}

/// Calls a closure with the bytes and a final NUL. Throws an error if the bytes themselves contain a NUL.
func withCString<Value>(of bytes: [UInt8], _ body: (UnsafePointer<CChar>) -> Value) throws(GLibError) -> Value {
    guard !bytes.contains(0) else { throw GLibError(.invalidArgument, "the name contains a NUL") }
    // The buffer has at least the NUL, so it has an address.
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: bytes.count + 1) { text in
        for (index, byte) in bytes.enumerated() { text[index] = CChar(bitPattern: byte) }
        text[bytes.count] = 0
        return body(UnsafePointer(text.baseAddress.unsafelyUnwrapped))
    }
}

/// Converts a C string to a text, and frees the C string. Bytes that are not UTF-8 become U+FFFD.
func takeText(_ text: UnsafeMutablePointer<CChar>?) -> String? {
    guard let text else { return nil }
    defer { g_free(text) }
    return String(cString: text)
}

/// Copies a C name without its NUL, and frees the C name.
func takeBytes(_ text: UnsafeMutablePointer<CChar>?) -> [UInt8]? {
    guard let text else { return nil }
    defer { g_free(text) }
    return bytes(of: text)
}

/// Copies a name of C, without its NUL.
func bytes(of text: UnsafePointer<CChar>) -> [UInt8] { Array(UnsafeRawBufferPointer(start: text, count: strlen(text))) }
