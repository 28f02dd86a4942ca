// SPDX-License-Identifier: Apache-2.0
// The contents of files: reading and replacing.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

@Suite("GIO.File: contents") struct FileContentsTests {
    @Test("reads any size, with NULs, and a file of no known size", arguments: [0, 1, 65_536, 64 << 20])
    func contents(count: Int) async throws {
        let folder = try TestFolder()
        let bytes = pattern(count)
        let file = try folder.write(bytes, to: "a")
        try await onWorker { _ in
            let read = try await file.contents()
            #expect(read == bytes)
            let status = try await GIO.File(path: "/proc/self/status").text()
            #expect(status.hasPrefix("Name:") && status.contains("Threads:"))
        }
        #expect(folder.openDescriptors == 0)
    }

    @Test("refuses a text that is not UTF-8, and keeps a NUL in one")
    func text() async throws {
        let folder = try TestFolder()
        let (good, bad) = (try folder.write(Array("ü\0b".utf8), to: "good"), try folder.write([0xC3], to: "bad"))
        try await onWorker { _ in
            let text = try await good.text()
            #expect(text == "ü\0b")
            await expect(G_IO_ERROR_INVALID_DATA) { try await bad.text() }
            await expect(G_IO_ERROR_NOT_FOUND) { try await folder("none").text() }
            await expect(G_IO_ERROR_IS_DIRECTORY) { try await folder.file.contents() }
        }
        await #expect(throws: GIO.WrongThreadError.self) { try await good.text() }
    }

    @Test("replaces contents: with a backup, unless the entity tag is old")
    func replace() async throws {
        let folder = try TestFolder()
        try await onWorker { _ in
            let file = try folder("a")
            let first = try await file.replaceContents("one")
            let second = try await file.replaceContents([0, 1, 2], etag: first, makeBackup: true)
            #expect(folder.bytes(of: "a") == [0, 1, 2] && folder.bytes(of: "a~") == Array("one".utf8))
            await expect(G_IO_ERROR_WRONG_ETAG) { try await file.replaceContents("three", etag: "an old one") }
            await expect(G_IO_ERROR_INVALID_ARGUMENT) { try await file.replaceContents("three", etag: "a\0") }
            let tag = try await file.info().etag
            #expect(tag == second && second != nil && folder.bytes(of: "a") == [0, 1, 2])
            try await file.replaceContents([], options: [.isPrivate, .replacesDestination])
            let mode = try await file.info().unixMode
            #expect(folder.bytes(of: "a") == [] && mode.map { $0 & 0o077 } == 0)
            #expect(folder.names == ["a", "a~"] && folder.openDescriptors == 0)
        }
    }

    @Test("a cancelled replacement leaves the old content, and nothing else")
    func cancelledReplacement() async throws {
        let folder = try TestFolder()
        let bytes = pattern(64 << 20)
        try await onWorker { worker in
            var isCancelled = false
            // A replacement may be complete before the test has seen its temporary file.
            while !isCancelled {
                let file = try folder.write(Array("old".utf8), to: "a")
                let hasReturned = Flag()
                let task = Task {
                    _ = worker
                    defer { hasReturned.set() }
                    try await file.replaceContents(bytes)
                }
                while folder.names.count == 1, !hasReturned.isSet { await Task.yield() }
                task.cancel()
                do { try await task.value } catch is CancellationError { isCancelled = true }
                #expect(folder.names == ["a"])
            }
            #expect(folder.bytes(of: "a") == Array("old".utf8))
        }
        #expect(folder.openDescriptors == 0)
    }

    @Test("a replacement counts only if it is closed")
    func replaceStream() async throws {
        let folder = try TestFolder()
        let file = try folder.write(Array("old".utf8), to: "a")
        try await onWorker { _ in
            do {
                let stream = try await file.replace()
                try await stream.write("incomplete")
                try await stream.write("")
            }
            #expect(folder.bytes(of: "a") == Array("old".utf8) && folder.names == ["a"])
            let stream = try await file.replace(makeBackup: true)
            try await stream.write("new")
            #expect(folder.bytes(of: "a") == Array("old".utf8))
            try await stream.close()
            let tag = try await file.info().etag
            #expect(folder.bytes(of: "a") == Array("new".utf8) && folder.bytes(of: "a~") == Array("old".utf8))
            #expect(stream.isClosed && stream.etag == tag && tag != nil)
            #expect(folder.openDescriptors == 0)
        }
    }
}
