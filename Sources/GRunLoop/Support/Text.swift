// SPDX-License-Identifier: Apache-2.0
// Formats addresses, flags, spans and texts of the program for descriptions and messages.

import Glibc

package func hexAddress(_ object: AnyObject) -> String {
    hexAddress(ObjectIdentifier(object))
}

func hexAddress(_ object: ObjectIdentifier) -> String {
    "0x" + String(UInt(bitPattern: object), radix: 16)
}

func hexAddress(_ pointer: OpaquePointer) -> String {
    "0x" + String(UInt(bitPattern: pointer), radix: 16)
}

package func yesNo(_ value: Bool) -> String { value ? "Yes" : "No" }

/// Formats a span in seconds with nine decimal places.
func seconds(_ span: Nanoseconds) -> String {
    let magnitude = span.magnitude
    let fraction = String(magnitude % 1_000_000_000)
    return (span < 0 ? "-" : "") + String(magnitude / 1_000_000_000) + "."
        + String(repeating: "0", count: 9 - fraction.count) + fraction
}

/// Formats a span in seconds without zeros at the end, such as 0.016 or 2.
func briefSeconds(_ span: Nanoseconds) -> String {
    let text = seconds(span).reversed().drop { $0 == "0" }
    return String((text.first == "." ? text.dropFirst() : text[...]).reversed())
}

package func errorMessage(_ error: Int32) -> String { String(cString: strerror(error)) }

/// Returns at most the first 120 characters of a program's text, on one line and in quotes. Escapes characters that
/// would end the line or the quotes, or change the direction of the text.
package func quoted(_ text: String) -> String {
    let limit = 120
    let shown = text.unicodeScalars.prefix(limit).map { scalar in
        mustBeEscaped(scalar) ? scalar.escaped(asASCII: true) : String(scalar)
    }
    // Does not use `count`, which would read the whole text. The text may be large.
    return "\"" + shown.joined() + (text.unicodeScalars.dropFirst(limit).isEmpty ? "" : "…") + "\""
}

/// Returns a program's text on one line. If the text must be changed for that, returns ``quoted(_:)``.
package func onOneLine(_ text: String) -> String {
    let shown = quoted(text)
    return shown.dropFirst().dropLast() == text ? text : shown
}

/// Returns at most the first 200 characters of a program's text.
package func shortened(_ text: String) -> String {
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
