// SPDX-License-Identifier: Apache-2.0
// After an error or a cancellation, files are as they were. Streams stay open while a program holds them.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

@Suite("GIO: files and streams are safe") struct FileSafetyTests {
    @Test("cancelling the opening of a replacement keeps the old content")
    func cancelledReplace() async throws {
        try await onWorker { worker in
            let folder = try TestFolder()
            for round in 0..<200 {
                let file = try folder.write(Array("old".utf8), to: "file")
                let task = Task {
                    _ = worker
                    _ = try await file.replace()
                }
                for _ in 0..<(round % 10) { await Task.yield() }
                task.cancel()
                _ = await task.result
                #expect(folder.bytes(of: "file") == Array("old".utf8))
            }
        }
    }

    @Test("a replacement that throws has not replaced", arguments: [false, true])
    func cancelledContents(copies: Bool) async throws {
        try await onWorker { worker in
            let folder = try TestFolder()
            let new = [UInt8](repeating: 7, count: 1 << 18)
            let source = try folder.write(new, to: "source")
            var cancelled = 0
            for round in 0..<150 {
                let file = try folder.write(Array("old".utf8), to: "file")
                let task = Task {
                    _ = worker
                    if copies { return try await source.copy(to: file, options: .overwrites) }
                    try await file.replaceContents(new)
                }
                try await worker.thread.loop.sleep(for: .microseconds(round * 7))
                task.cancel()
                if case .failure = await task.result {
                    cancelled += 1
                    #expect(folder.bytes(of: "file") == Array("old".utf8))
                } else {
                    #expect(folder.bytes(of: "file") == new)
                }
                #expect(folder.names.count == 2)
            }
            #expect(cancelled > 0)
        }
    }

    @Test("a copy to a name that another program has taken meanwhile leaves that file")
    func takenName() async throws {
        try await onWorker { worker in
            let folder = try TestFolder()
            let source = try folder.writeHuge("huge")
            let other = try folder("other")
            let task = Task {
                _ = worker
                var isFirst = true
                try await source.copy(to: other) { _ in
                    if isFirst { _ = try? folder.write([1], to: "other") }
                    isFirst = false
                }
            }
            while folder.bytes(of: "other") != [1] { try await worker.thread.loop.sleep(for: .milliseconds(1)) }
            task.cancel()
            _ = await task.result
            #expect(folder.bytes(of: "other") == [1] && folder.names.sorted() == ["huge", "other"])
        }
    }

    @Test("a symbolic link without a target does not exist")
    func danglingLink() async throws {
        try await onWorker { _ in
            let folder = try TestFolder()
            symlink("nowhere", "\(folder.path)/dangling")
            symlink("loop", "\(folder.path)/loop")
            let found = [try await folder("dangling").exists(), try await folder("loop").exists()]
            #expect(found == [false, false])
        }
    }

    @Test("closing a closed stream has no effect")
    func closedTwice() async throws {
        try await onWorker { _ in
            let folder = try TestFolder()
            for output in [try await folder("one").create(), try await folder("two").replace()] {
                try await output.close()
                try await output.close()
            }
        }
    }

    @Test("a stream of a pair stays open without the pair")
    func streamOfAPair() async throws {
        try await onWorker { _ in
            var descriptors: [Int32] = [0, 0]
            #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &descriptors) == 0)
            func pair(_ descriptor: Int32) throws -> GIO.IOStream {
                let socket = try GLibError.check { g_socket_new_from_fd(descriptor, $0) }
                defer { g_object_unref(socket) }
                let connection = g_socket_connection_factory_create_connection(socket)!
                return GIO.IOStream(full: UnsafeMutableRawPointer(connection).assumingMemoryBound(to: GIOStream.self))
            }
            let input = try pair(descriptors[0]).input
            let output = try pair(descriptors[1]).output
            #expect(!input.isClosed && !output.isClosed)
            try await output.write([1, 2, 3])
            let bytes = try await input.read()
            #expect(bytes == [1, 2, 3])
        }
    }

    @Test("writing to a pipe without a reader throws, and does not end the process")
    func brokenPipe() async throws {
        try await onWorker { _ in
            let folder = try TestFolder()
            mkfifo("\(folder.path)/pipe", 0o600)
            let reader = open("\(folder.path)/pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            let output = try await folder("pipe").append()
            close(reader)
            // A process that another test starts may hold the reader until its exec().
            await expect(GIO.ErrorCode.brokenPipe) { while true { try await output.write([1]) } }
        }
    }

    @Test("readAll() of a socket is one operation")
    func readAllIsOne() async throws {
        try await onWorker { worker in
            var descriptors: [Int32] = [0, 0]
            #expect(pipe(&descriptors) == 0)
            let input = GIO.InputStream(full: g_unix_input_stream_new(descriptors[0], 1))
            let all = Task {
                _ = worker
                return try await input.readAll()
            }
            for number in UInt8(0)..<50 {
                _ = withUnsafeBytes(of: number) { write(descriptors[1], $0.baseAddress, 1) }
                await Task.yield()
                await expect(GIO.ErrorCode.pending) { try await input.read() }
            }
            close(descriptors[1])
            let found = try await all.value
            #expect(found == Array(0..<50))
        }
    }

    @Test("after its end, a sequence of changes only returns nil")
    func changesAfterTheEnd() async throws {
        try await onWorker { worker in
            let folder = try TestFolder()
            let (isWatching, hasChange) = (Flag(), Flag())
            let task = Task {
                _ = worker
                var changes = try folder.file.changes.makeAsyncIterator()
                isWatching.set()
                _ = try await changes.next()
                hasChange.set()
                var found: [GIO.FileChange?] = []
                while found.last != .some(nil) { found.append(try await changes.next()) }
                return try await changes.next() == nil
            }
            while !isWatching.isSet { await Task.yield() }
            _ = try folder.write([1], to: "file")
            while !hasChange.isSet { await Task.yield() }
            task.cancel()
            let isNil = try await task.value
            #expect(isNil)
        }
    }

    @Test("many unread changes without a limit do not end the process")
    func endlessBuffer() async throws {
        try await onWorker { _ in
            let folder = try TestFolder()
            var changes = try folder.file.changes(bufferingLatest: .max).makeAsyncIterator()
            for number in 0..<20 { _ = try folder.write([1], to: "file\(number)") }
            var created: Set<String> = []
            while created.count < 20, let change = try await changes.next() { created.insert(change.file.basename) }
            #expect(created.count == 20)
        }
    }
}
