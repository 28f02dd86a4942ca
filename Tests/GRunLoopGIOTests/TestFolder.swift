// SPDX-License-Identifier: Apache-2.0
// A temporary folder of one test, and facts about what the process has open in it.

import CGRunGIO
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

/// A folder that is deleted with its files when the test ends.
final class TestFolder: Sendable {
    let path: String

    init() throws {
        var name = Array("/tmp/grun-files-XXXXXX\0".utf8.map { CChar(bitPattern: $0) })
        guard mkdtemp(&name) != nil else { throw GLibError(G_IO_ERROR_FAILED, "mkdtemp") }
        path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { reap(startShell("rm -rf '\(path)'")) }

    var file: GIO.File { get throws { try GIO.File(path: path) } }

    func callAsFunction(_ name: String) throws -> GIO.File { try GIO.File(path: "\(path)/\(name)") }

    /// Writes a file without GIO.
    func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> GIO.File {
        let descriptor = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        defer { close(descriptor) }
        let bytes = Array(bytes)
        var position = 0
        while position < bytes.count {
            let count = bytes[position...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw GLibError(G_IO_ERROR_FAILED, "write") }
            position += count
        }
        return try self(name)
    }

    /// Makes a file of 1 TiB that takes no place: copying it does not end before a test cancels it.
    func writeHuge(_ name: String) throws -> GIO.File {
        let file = try write([], to: name)
        truncate("\(path)/\(name)", 1 << 40)
        return file
    }

    /// Reads a file without GIO.
    func bytes(of name: String) -> [UInt8]? {
        guard let file = fopen("\(path)/\(name)", "r") else { return nil }
        defer { fclose(file) }
        var (all, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 16))
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { all += buffer[..<count] }
        return all
    }

    /// The names in the folder.
    var names: [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// The descriptors of the process that have the folder or a file in it open. Those of other tests do not count.
    var openDescriptors: Int {
        (0..<4096).count { descriptor in
            var target = [CChar](repeating: 0, count: 4096)
            let count = readlink("/proc/self/fd/\(descriptor)", &target, target.count)
            let bytes = target.prefix(max(0, count)).map { UInt8(bitPattern: $0) }
            return String(decoding: bytes, as: UTF8.self).hasPrefix(path)
        }
    }

    /// How often inotify watches the folder for this process.
    var inotifyWatches: Int {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return -1 }
        let wanted = " ino:\(String(facts.st_ino, radix: 16)) "
        return (0..<4096).reduce(0) { sum, descriptor in
            guard let file = fopen("/proc/self/fdinfo/\(descriptor)", "r") else { return sum }
            defer { fclose(file) }
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            let text = String(decoding: buffer[..<fread(&buffer, 1, 1 << 16, file)], as: UTF8.self)
            return sum + text.split(separator: "\n").count { $0.hasPrefix("inotify") && $0.contains(wanted) }
        }
    }
}

/// Sets the flag when the object is finalized.
func watch(_ object: UnsafeMutableRawPointer, _ flag: Flag) {
    g_object_weak_ref(
        object.assumingMemoryBound(to: GObject.self),
        { data, _ in data.map { Unmanaged<Flag>.fromOpaque($0).takeRetainedValue().set() } },
        Unmanaged.passRetained(flag).toOpaque())
}

/// How many references an object has.
func referenceCount(_ object: UnsafeMutableRawPointer) -> UInt32 {
    object.assumingMemoryBound(to: GObject.self).pointee.ref_count
}

/// Expects an error of GLib's. `#expect` would call the closure on another thread.
nonisolated(nonsending) func expect<Value>(
    _ code: some GLibErrorCode, at place: SourceLocation = #_sourceLocation,
    from body: nonisolated(nonsending) () async throws -> Value
) async {
    do {
        _ = try await body()
        Issue.record("no error", sourceLocation: place)
    } catch {
        #expect(code ~= error, sourceLocation: place)
    }
}

/// Bytes of all values, which do not repeat with the sizes of buffers.
func pattern(_ count: Int) -> [UInt8] {
    let block = (0..<65_537).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + block.count)
    while bytes.count < count { bytes += block }
    bytes.removeLast(bytes.count - count)
    return bytes
}
