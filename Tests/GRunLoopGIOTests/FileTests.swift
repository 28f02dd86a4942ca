// SPDX-License-Identifier: Apache-2.0
// Files: names, facts, folders, and reads that are cancelled or end with the loop.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

@Suite("GIO.File") struct FileTests {
    @Test("has names, which C does not truncate")
    func names() throws {
        let file = try GIO.File(path: "/tmp/a b/ü.txt")
        #expect(file.path == "/tmp/a b/ü.txt" && file.basename == "ü.txt" && file.displayName == "/tmp/a b/ü.txt")
        #expect(file.uri == "file:///tmp/a%20b/%C3%BC.txt" && file.description == file.displayName)
        #expect(try GIO.File(uri: file.uri) == file && GIO.File(commandLineArgument: file.uri) == file)
        #expect(file.parent?.path == "/tmp/a b" && file.parent?.parent?.parent?.parent == nil)
        let same = try #require(try file.parent?.child("ü.txt"))
        #expect(same == file && Set([file, same]).count == 1)
        #expect(try file.parent != file && file.child("../x").path == "/tmp/a b/x")
        #expect(referenceCount(UnsafeMutableRawPointer(file.pointer)) == 1)
        let refused: [() throws -> GIO.File] = [
            { try GIO.File(path: "a\0b") }, { try GIO.File(uri: "file:///a\0") },
            { try GIO.File(commandLineArgument: "\0") }, { try file.child("a\0b") },
            { try GIO.File(pathBytes: [0x61, 0]) }, { try file.child(pathBytes: [0]) },
        ]
        for make in refused {
            #expect { try make() } throws: { G_IO_ERROR_INVALID_ARGUMENT ~= $0 }
        }
    }

    @Test("has a name that is not UTF-8")
    func notUTF8() async throws {
        let folder = try TestFolder()
        try await onWorker { _ in
            let name: [UInt8] = [0x61, 0xFF, 0x62]
            let file = try GIO.File(pathBytes: Array("\(folder.path)/".utf8) + name)
            try await file.replaceContents([1])
            #expect(file.path == nil && file.pathBytes?.suffix(3) == name[...] && file.basename == "a\u{FFFD}b")
            #expect(try folder.file.child(pathBytes: name) == file)
            var infos: [GIO.FileInfo] = []
            for try await info in try folder.file.children() { infos.append(info) }
            #expect(infos.count == 1 && infos[0].nameBytes == name && infos[0].file == file)
            #expect(infos[0].name == "a\u{FFFD}b" && infos[0].displayName.contains("\u{FFFD}"))
            #expect(infos[0].attribute("standard::name") == .byteString(name))
            let bytes = try await infos[0].file.contents()
            #expect(bytes == [1])
        }
    }

    @Test("creates, and appends")
    func create() async throws {
        let folder = try TestFolder()
        try await onWorker { _ in
            let created = try await folder("a").create()
            try await created.write([1, 2])
            try await created.flush()
            try await created.close()
            await expect(G_IO_ERROR_EXISTS) { try await folder("a").create() }
            let appended = try await folder("a").append()
            try await appended.write([3])
            try await appended.close()
            #expect(folder.bytes(of: "a") == [1, 2, 3] && folder.openDescriptors == 0)
            let full = try await GIO.File(path: "/dev/full").append()
            await expect(G_IO_ERROR_NO_SPACE) { try await full.write([1]) }
        }
    }

    @Test("gives facts")
    func info() async throws {
        let folder = try TestFolder()
        let file = try folder.write(Array("hello".utf8), to: ".a.txt")
        symlink(".a.txt", "\(folder.path)/link")
        try await onWorker { _ in
            let info = try await file.info()
            #expect(info.type == .regular && info.size == 5 && info.name == ".a.txt" && info.isHidden)
            #expect(info.contentType == "text/plain" && !info.isSymbolicLink && info.symbolicLinkTarget == nil)
            #expect(info.attribute("standard::size") == .uint64(5))
            #expect(info.attribute("standard::is-hidden") == .boolean(true))
            #expect(info.attribute("unix::inode") == nil && info.attribute("standard::icon") == .object)
            #expect(info.attribute("standard::size\0") == nil && info.attributeNames.contains("standard::size"))
            var facts = stat()
            stat("\(folder.path)/.a.txt", &facts)
            let micros = facts.st_mtim.tv_nsec / 1000
            #expect(info.modificationTime == .seconds(facts.st_mtim.tv_sec) + .microseconds(micros))
            #expect(info.unixMode == facts.st_mode && info.file == file)
            let link = try await folder("link").info(followsLinks: false)
            #expect(link.type == .symbolicLink && link.symbolicLinkTarget == ".a.txt" && link.isSymbolicLink)
            let target = try await folder("link").info()
            #expect(target.type == .regular && target.size == 5)
            let few = try await file.info("standard::type")
            #expect(few.modificationTime == nil && few.size == 0 && few.name == "" && few.etag == nil)
            #expect(few.nameBytes == nil && few.contentType == nil && few.unixMode == nil)
            await expect(G_IO_ERROR_INVALID_ARGUMENT) { try await file.info("a\0") }
        }
    }

    @Test("makes, lists, finds and deletes folders")
    func folders() async throws {
        let folder = try TestFolder()
        try await onWorker { _ in
            let deep = try folder("a/b/c")
            await expect(G_IO_ERROR_NOT_FOUND) { try await deep.makeDirectory() }
            try await deep.makeDirectory(withIntermediates: true)
            await expect(G_IO_ERROR_EXISTS) { try await deep.makeDirectory(withIntermediates: true) }
            try await folder("d").makeDirectory()
            await expect(G_IO_ERROR_NOT_EMPTY) { try await folder("a").delete() }
            var exists = try await deep.exists()
            #expect(exists)
            try await deep.delete()
            exists = try await deep.exists()
            #expect(!exists)
            _ = try folder.write([1], to: "f")
            exists = try await folder("f/g").exists()
            #expect(!exists && folder.names == ["a", "d", "f"])
            do {
                try await folder("f").trash()
                #expect(folder.names == ["a", "d"])
            } catch G_IO_ERROR_NOT_SUPPORTED {
                #expect(folder.names == ["a", "d", "f"])
            }
        }
    }

    @Test("lists a folder in batches, and closes it at the end, after a break and after an error")
    func children() async throws {
        let folder = try TestFolder()
        for number in 0..<250 { _ = try folder.write([UInt8](repeating: 1, count: number), to: "\(number)") }
        try await onWorker { worker in
            var sizes: Set<Int> = []
            for try await info in try folder.file.children() {
                #expect(info.type == .regular && info.name == "\(info.size)" && info.modificationTime != nil)
                sizes.insert(info.size)
            }
            #expect(sizes == Set(0..<250) && folder.openDescriptors == 0)
            for try await _ in try folder.file.children() {
                #expect(folder.openDescriptors == 1)
                break
            }
            #expect(folder.openDescriptors == 0)
            var iterator = try folder("1").children().makeAsyncIterator()
            await expect(G_IO_ERROR_NOT_DIRECTORY) { try await iterator.next() }
            let after = try await iterator.next()
            #expect(after == nil)
            let task = Task {
                _ = worker
                withUnsafeCurrentTask { $0?.cancel() }
                for try await _ in try folder.file.children() {}
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(folder.openDescriptors == 0)
        }
    }

    @Test("a thousand cancelled reads leave nothing")
    func cancelledReads() async throws {
        let folder = try TestFolder()
        let file = try folder.write([UInt8](repeating: 7, count: 100_000), to: "a")
        try await onWorker { worker in
            var (cancelled, done) = (0, 0)
            for number in 0..<1000 {
                let task = Task {
                    _ = worker
                    if number % 2 == 0 { return try await file.contents().count }
                    return try await file.read().read(upTo: 100_000).count
                }
                for _ in 0..<number % 8 { await Task.yield() }
                task.cancel()
                switch await task.result {
                case .success(let count):
                    #expect(count == 100_000)
                    done += 1
                case .failure(let error):
                    #expect(error is CancellationError)
                    cancelled += 1
                }
            }
            #expect(cancelled + done == 1000 && cancelled > 0)
        }
        #expect(folder.openDescriptors == 0)
        #expect(referenceCount(UnsafeMutableRawPointer(file.pointer)) == 1)
    }

    @Test("the end of the loop ends a read that blocks on GIO's thread pool")
    func loopEnds() async throws {
        let folder = try TestFolder()
        #expect(mkfifo("\(folder.path)/fifo", 0o600) == 0)
        let worker = try Worker()
        let isStarted = Flag()
        let task = Task {
            try await worker.run { _ in
                isStarted.set()
                return try await folder("fifo").contents()
            }
        }
        while !isStarted.isSet { await Task.yield() }
        await worker.thread.stopAndWait()
        await #expect(throws: GRunLoop.LoopEndedError.self) { try await task.value }
        // Releases the pool's thread, if it has begun to open the FIFO already.
        let descriptor = open("\(folder.path)/fifo", O_RDWR | O_NONBLOCK)
        #expect(await eventually { folder.openDescriptors <= 1 })
        close(descriptor)
    }
}
