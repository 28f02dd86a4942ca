// SPDX-License-Identifier: Apache-2.0
// Streams: reading, sequences, writing, closing, cancellation.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

/// A stream in memory, which GIO reads in the loop.
private func memoryStream(_ bytes: [UInt8]) -> GIO.InputStream {
    let data = bytes.withUnsafeBytes { g_bytes_new($0.baseAddress, gsize($0.count)) }
    defer { g_bytes_unref(data) }
    return GIO.InputStream(full: g_memory_input_stream_new_from_bytes(data))
}

/// Both ends of a connection.
private func socketPair() throws -> (GIO.IOStream, GIO.IOStream) {
    var descriptors: [Int32] = [0, 0]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &descriptors) == 0 else {
        throw GLibError(G_IO_ERROR_FAILED, "socketpair")
    }
    let streams = try descriptors.map { descriptor in
        let socket = try GLibError.check { g_socket_new_from_fd(descriptor, $0) }
        defer { g_object_unref(socket) }
        let connection = g_socket_connection_factory_create_connection(socket)
        return GIO.IOStream(
            full: UnsafeMutableRawPointer(try #require(connection)).assumingMemoryBound(to: GIOStream.self))
    }
    return (streams[0], streams[1])
}

@Suite("GIO streams") struct StreamTests {
    @Test("reads pieces of a file, of memory and of a filter", arguments: [1, 1000, 1 << 16, 1 << 23])
    func pieces(size: Int) async throws {
        let folder = try TestFolder()
        let bytes = pattern(min(10 << 20, size * 1000))
        let file = try folder.write(bytes, to: "a")
        try await onWorker { _ in
            let base = try await file.read()
            let buffered = GIO.InputStream(full: g_buffered_input_stream_new(base.pointer))
            for stream in [try await file.read(), memoryStream(bytes), buffered] {
                var (read, largest) = ([UInt8](), 0)
                for try await chunk in stream.chunks(of: size) {
                    #expect(!chunk.isEmpty)
                    read += chunk
                    largest = max(largest, chunk.count)
                }
                #expect(read == bytes && largest <= size)
                let end = try await stream.read()
                #expect(end.isEmpty)
                try await stream.close()
                try await stream.close()
                #expect(stream.isClosed)
                await expect(G_IO_ERROR_CLOSED) { try await stream.read() }
            }
            let stream = try await file.read()
            let none = try await stream.read(upTo: 0)
            await expect(G_IO_ERROR_INVALID_ARGUMENT) { try await stream.read(upTo: -1) }
            await expect(G_IO_ERROR_INVALID_ARGUMENT) { try await stream.skip(-1) }
            let skipped = try await stream.skip(size / 2)
            let rest = try await stream.readAll()
            #expect(none.isEmpty && skipped == size / 2 && rest == Array(bytes[(size / 2)...]))
            let all = try await memoryStream(bytes).readAll()
            #expect(all == bytes)
        }
        #expect(folder.openDescriptors == 0)
        await #expect(throws: GIO.WrongThreadError.self) { try await memoryStream([1]).read() }
    }

    @Test(
        "splits lines",
        arguments: [
            ("", []), ("\n", [""]), ("a", ["a"]), ("a\n", ["a"]), ("a\r\nb\n\r\n\nc\r", ["a", "b", "", "", "c\r"]),
            ("a\rb\0c\n", ["a\rb\0c"]),
        ])
    func lines(text: String, expected: [String]) async throws {
        try await onWorker { _ in
            var found: [String] = []
            for try await line in memoryStream(Array(text.utf8)).lines { found.append(line) }
            #expect(found == expected)
        }
    }

    @Test("has lines of 10 MB, lines over the edges of pieces, and lines that are not UTF-8")
    func longLines() async throws {
        let folder = try TestFolder()
        var bytes: [UInt8] = [0x61, 0xFF, 0x0A]
        var expected = ["a\u{FFFD}"]
        for length in [10_000_000, 65_531, 65_535, 65_536, 0, 131_072, 7] {
            bytes += [UInt8](repeating: 0x78, count: length) + [0x0D, 0x0A]
            expected.append(String(repeating: "x", count: length))
        }
        for number in 0..<50_000 {
            bytes += Array("ü\(number)\n".utf8)
            expected.append("ü\(number)")
        }
        let file = try folder.write(bytes, to: "a")
        let input = bytes
        let lines = expected
        try await onWorker { _ in
            for stream in [try await file.read(), memoryStream(input)] {
                var found: [String] = []
                for try await line in stream.lines { found.append(line) }
                #expect(found == lines)
            }
            var single: [UInt8] = []
            for try await byte in memoryStream(Array(input.suffix(100_000))).bytes { single.append(byte) }
            #expect(single == input.suffix(100_000))
        }
    }

    @Test("reads only what is asked for, and lets the loop serve others")
    func backPressure() async throws {
        let folder = try TestFolder()
        let file = try folder.write([UInt8](repeating: 1, count: 1 << 20), to: "a")
        try await onWorker { worker in
            let stream = try await file.read()
            var count = 0
            for try await chunk in stream.chunks(of: 1000) {
                count += chunk.count
                if count == 3000 { break }
            }
            #expect(g_seekable_tell(OpaquePointer(stream.pointer)) == 3000)
            let isServed = Flag()
            worker.thread.loop.async { isServed.set() }
            for try await chunk in try await GIO.File(path: "/dev/zero").read().chunks() {
                #expect(!chunk.isEmpty && chunk.count <= 1 << 18)
                if isServed.isSet { break }
            }
        }
        #expect(folder.openDescriptors == 0)
    }

    @Test("a cancelled read loses nothing, and a thousand leave nothing")
    func cancelledReads() async throws {
        try await onWorker { worker in
            let (one, other) = try socketPair()
            for number in 0..<1000 {
                let task = Task {
                    _ = worker
                    return try await one.input.read()
                }
                for _ in 0..<number % 4 { await Task.yield() }
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            }
            #expect(referenceCount(one.input.pointer) == 2)
            let task = Task {
                _ = worker
                return try await one.input.read()
            }
            try await other.output.write("hello")
            let bytes = try await task.value
            #expect(bytes == Array("hello".utf8))
        }
    }

    @Test("a second task gets an error, and the first one its bytes")
    func pending() async throws {
        try await onWorker { worker in
            let (one, other) = try socketPair()
            let isReading = Flag()
            let task = Task {
                _ = worker
                isReading.set()
                return try await one.input.read()
            }
            while !isReading.isSet { await Task.yield() }
            await expect(G_IO_ERROR_PENDING) { try await one.input.read() }
            await expect(G_IO_ERROR_PENDING) { try await one.input.close() }
            await expect(G_IO_ERROR_PENDING) { try await one.close() }
            try await one.output.write([])
            try await other.output.write([1])
            let bytes = try await task.value
            #expect(bytes == [1])
        }
    }

    @Test("echoes over a connection, copies from stream to stream, and closes in a cancelled task")
    func connection() async throws {
        let bytes = pattern(5_000_000)
        try await onWorker { worker in
            let (one, other) = try socketPair()
            let echo = Task {
                _ = worker
                let count = try await GIO.copy(from: other.input, to: other.output)
                try await other.close()
                return count
            }
            let writing = Task {
                _ = worker
                try await one.output.write(bytes)
                try await one.output.flush()
                let socket = g_socket_connection_get_socket(
                    UnsafeMutableRawPointer(one.pointer).assumingMemoryBound(to: GSocketConnection.self))
                g_socket_shutdown(socket, 0, 1, nil)
            }
            let read = try await one.input.readAll()
            try await writing.value
            let count = try await echo.value
            #expect(read == bytes && count == bytes.count && other.isClosed)
            await expect(G_IO_ERROR_BROKEN_PIPE) { try await one.output.write(bytes) }
            let closing = Task {
                _ = worker
                withUnsafeCurrentTask { $0?.cancel() }
                do { _ = try await one.input.read() } catch is CancellationError {}
                try await one.close()
            }
            try await closing.value
            #expect(one.isClosed && one.input.isClosed && one.output.isClosed)
        }
    }

    @Test("a cancelled write returns, and the kept memory is not freed before")
    func cancelledWrite() async throws {
        try await onWorker { worker in
            let (one, other) = try socketPair()
            let task = Task {
                _ = worker
                try await one.output.write([UInt8](repeating: 3, count: 16 << 20))
            }
            let first = try await other.input.read(upTo: 10)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(first == [UInt8](repeating: 3, count: 10))
        }
    }

    @Test("objects are finalized with their streams, also when the loop ends during a read")
    func finalized() async throws {
        let flags = (0..<3).map { _ in Flag() }
        let worker = try Worker()
        let isReading = Flag()
        let task = Task {
            try await worker.run { _ in
                do {
                    let stream = memoryStream([1, 2])
                    watch(stream.pointer, flags[0])
                    for try await byte in stream.bytes {
                        #expect(byte == 1)
                        break
                    }
                }
                #expect(flags[0].isSet)
                let (one, other) = try socketPair()
                watch(one.pointer, flags[1])
                watch(other.pointer, flags[2])
                isReading.set()
                _ = try await one.input.read()
            }
        }
        while !isReading.isSet { await Task.yield() }
        await worker.thread.stopAndWait()
        await #expect(throws: GRunLoop.LoopEndedError.self) { try await task.value }
        #expect(await eventually { flags[1].isSet && flags[2].isSet })
    }
}
