// SPDX-License-Identifier: Apache-2.0
// The names of functions.

import Foundation
import TestSupport
import Testing

@testable import GRunLoop
@testable import GRunLoopDiagnostics

@Suite("Names of functions") struct SymbolTests {
    @Test("a function keeps its name even if another version of its library has replaced the file")
    func replacedLibrary() throws {
        let path = NSTemporaryDirectory() + "library-\(getpid()).so"
        defer { unlink(path) }
        // Uses a library that is installed together with libc.
        let original = try #require(dlopen("libm.so.6", RTLD_NOW))
        defer { dlclose(original) }
        let text = try #require(FileHandle(forReadingAtPath: "/proc/self/maps")).readDataToEndOfFile()
        let maps = String(decoding: text, as: UTF8.self).split(separator: "\n")
        let line = try #require(maps.first { $0.hasSuffix("/libm.so.6") })
        let place = try #require(line.firstIndex(of: "/"))
        var library = try Data(contentsOf: URL(fileURLWithPath: String(line[place...])))
        try library.write(to: URL(fileURLWithPath: path))
        let handle = try #require(dlopen(path, RTLD_NOW | RTLD_LOCAL))
        defer { dlclose(handle) }
        let address = UInt(bitPattern: dlsym(handle, "cbrt"))
        let name = try #require(GRunLoop.StackFrame(at: address).function)
        // Makes the other version: the function at this offset has another name, and the build ID differs.
        for (old, new) in [("\0\(name)\0", "\0!\(name.dropFirst())\0"), ("GNU\0", "GNU\0!")] {
            let place = try #require(library.range(of: Data(old.utf8)))
            library.replaceSubrange(place.lowerBound..<(place.lowerBound + new.utf8.count), with: Data(new.utf8))
        }
        unlink(path)
        try library.write(to: URL(fileURLWithPath: path))
        #expect(GRunLoop.StackFrame(at: address).function == name)
    }
}
