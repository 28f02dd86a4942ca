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

/// What the system calls an error number.
func errorMessage(_ error: Int32) -> String { String(cString: strerror(error)) }
