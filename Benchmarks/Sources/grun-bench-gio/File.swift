// SPDX-License-Identifier: Apache-2.0
// A file of 1 GiB, in pieces of 256 KiB: as an asynchronous sequence, and in a loop of g_input_stream_read().

import CGRunGIO
import GRunLoopGIO
import Glibc

private let (size, piece) = (1 << 30, 1 << 18)

func measureFile(_ rounds: Int, _ folder: String) async throws -> Comparison {
    let path = "\(folder)/grun-bench-gio.\(getpid())"
    try makeFile(path)
    defer { unlink(path) }
    let worker = try Worker("worker")
    var comparison = Comparison("1 GiB of a file", unit: "ms", goal: 1.1)
    // The first reading of each kind does not count.
    _ = (try await worker.run { _ in try readInC(path) }, try await worker.run { _ in try await readInSwift(path) })
    for _ in 0..<10 * rounds {
        comparison.c.append(try await worker.run { _ in try readInC(path) })
        comparison.swift.append(try await worker.run { _ in try await readInSwift(path) })
    }
    await worker.thread.stopAndWait()
    return comparison
}

private func makeFile(_ path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
    guard descriptor >= 0 else { throw GLibError(G_IO_ERROR_FAILED, "\(path) cannot be made") }
    defer { close(descriptor) }
    let isInMemory = try isOnTmpfs(path)
    let bytes = [UInt8](repeating: 1, count: piece)
    let isWritten = !isInMemory && (0..<size / piece).allSatisfy { _ in write(descriptor, bytes, piece) == piece }
    guard isWritten else {
        unlink(path)
        throw GLibError(G_IO_ERROR_FAILED, isInMemory ? "\(path) is on tmpfs" : "\(path) cannot be written")
    }
}

private func isOnTmpfs(_ path: String) throws -> Bool {
    let file = GRef(full: g_file_new_for_path(path).unsafelyUnwrapped)
    let name = "filesystem::type"
    let info = try GLibError.check { g_file_query_filesystem_info(file.pointer, name, nil, $0) }
    defer { g_object_unref(info.map { UnsafeMutableRawPointer($0) }) }
    return info.flatMap { g_file_info_get_attribute_string($0, name) }.map { String(cString: $0) } == "tmpfs"
}

private func readInSwift(_ path: String, isolation: isolated (any Actor)? = #isolation) async throws -> Double {
    let stream = try await GIO.File(path: path).read()
    let start = ContinuousClock.now
    var count = 0
    for try await chunk in stream.chunks(of: piece) { count += chunk.count }
    guard count == size else { throw GLibError(G_IO_ERROR_FAILED, "\(count) bytes") }
    return elapsed(since: start) / 1e6
}

private func readInC(_ path: String) throws -> Double {
    let file = GRef(full: g_file_new_for_path(path).unsafelyUnwrapped)
    let stream = GRef(full: try GLibError.check { g_file_read(file.pointer, nil, $0) }.unsafelyUnwrapped)
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: piece, alignment: 16)
    defer { buffer.deallocate() }
    let start = ContinuousClock.now
    var count = 0
    let input = UnsafeMutableRawPointer(stream.pointer).assumingMemoryBound(to: GInputStream.self)
    while case let got = g_input_stream_read(input, buffer, gsize(piece), nil, nil), got > 0 { count += got }
    guard count == size else { throw GLibError(G_IO_ERROR_FAILED, "\(count) bytes") }
    return elapsed(since: start) / 1e6
}
