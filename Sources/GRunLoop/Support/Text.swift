// SPDX-License-Identifier: Apache-2.0
// How descriptions and messages write an address, a yes, a span.

import Glibc

func hexAddress(_ object: AnyObject) -> String {
    hexAddress(ObjectIdentifier(object))
}

func hexAddress(_ object: ObjectIdentifier) -> String {
    "0x" + String(UInt(bitPattern: object), radix: 16)
}

func hexAddress(_ pointer: OpaquePointer) -> String {
    "0x" + String(UInt(bitPattern: pointer), radix: 16)
}

func yesNo(_ value: Bool) -> String { value ? "Yes" : "No" }

/// A span in seconds with the precision of nanoseconds.
func seconds(_ span: Nanoseconds) -> String {
    let magnitude = span.magnitude
    let fraction = String(magnitude % 1_000_000_000)
    return (span < 0 ? "-" : "") + String(magnitude / 1_000_000_000) + "."
        + String(repeating: "0", count: 9 - fraction.count) + fraction
}

/// The same without zeros at the end: 0.016, or 2.
func briefSeconds(_ span: Nanoseconds) -> String {
    let text = seconds(span).reversed().drop { $0 == "0" }
    return String((text.first == "." ? text.dropFirst() : text[...]).reversed())
}

/// What the system calls an error number.
func errorMessage(_ error: Int32) -> String { String(cString: strerror(error)) }

/// A program's text on one line, in quotes, whatever it is: 120 characters at most, and what would end the line or the
/// quotes, or turn the direction of what follows, is escaped.
func quoted(_ text: String) -> String {
    let limit = 120
    let shown = text.unicodeScalars.prefix(limit).map { scalar in
        mustBeEscaped(scalar) ? scalar.escaped(asASCII: true) : String(scalar)
    }
    // Not by its count, which would look at all of a text that may be large.
    return "\"" + shown.joined() + (text.unicodeScalars.dropFirst(limit).isEmpty ? "" : "…") + "\""
}

/// A program's text on one line, in quotes only if it must be changed for that: ``quoted(_:)``.
func onOneLine(_ text: String) -> String {
    let shown = quoted(text)
    return shown.dropFirst().dropLast() == text ? text : shown
}

/// The beginning of a program's text, as much as a picture shows of it.
func shortened(_ text: String) -> String {
    let limit = 200
    let shown = text.unicodeScalars.prefix(limit)
    return shown.endIndex == text.unicodeScalars.endIndex ? text : String(shown) + "…"
}

private func mustBeEscaped(_ scalar: Unicode.Scalar) -> Bool {
    if scalar == "\"" || scalar == "\\" || scalar.properties.isBidiControl { return true }
    return switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    default: false
    }
}
