// SPDX-License-Identifier: Apache-2.0
// Copying and moving files, with progress.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

/// The reports of a copy. Only the worker uses this object, from a progress closure that is not Sendable.
private final class Progress {
    var reports: [GIO.File.CopyProgress] = []
    let thread = pthread_self()

    func add(_ report: GIO.File.CopyProgress) {
        #expect(pthread_equal(pthread_self(), thread) != 0)
        reports.append(report)
    }

    func check(total: Int64) {
        #expect(reports.last == GIO.File.CopyProgress(completed: total, total: total))
        #expect(reports.last?.fraction == 1)
        #expect(zip(reports, reports.dropFirst()).allSatisfy { $0.completed <= $1.completed })
    }
}

@Suite("GIO.File: copy and move") struct FileCopyTests {
    @Test("copies with progress in the caller's isolation")
    func copy() async throws {
        let folder = try TestFolder()
        let bytes = [UInt8](repeating: 5, count: 64 << 20)
        let file = try folder.write(bytes, to: "a")
        try await onWorker { worker in
            let progress = Progress()
            try await file.copy(to: folder("b")) {
                worker.assertIsolated()
                progress.add($0)
            }
            progress.check(total: 64 << 20)
            #expect(folder.bytes(of: "b") == bytes)
            await expect(G_IO_ERROR_EXISTS) { try await file.copy(to: folder("b")) }
            await expect(G_IO_ERROR_EXISTS) { try await file.copy(to: folder("b")) { _ in } }
            try await folder.write([1], to: "c").copy(to: folder("b"), options: [.overwrites, .makesBackup])
            #expect(folder.bytes(of: "b") == [1] && folder.bytes(of: "b~")?.count == 64 << 20)
            try await folder("d").makeDirectory()
            await expect(G_IO_ERROR_WOULD_RECURSE) { try await folder("d").copy(to: folder("e")) }
        }
        #expect(folder.openDescriptors == 0)
    }

    @Test("copies on an executor that a task prefers")
    func executorPreference() async throws {
        let folder = try TestFolder()
        let file = try folder.write([UInt8](repeating: 5, count: 1 << 20), to: "a")
        let worker = try Worker()
        let thread = worker.thread
        try await Task(executorPreference: thread.loop.executor) {
            let progress = Progress()
            try await file.copy(to: folder("b")) { progress.add($0) }
            progress.check(total: 1 << 20)
        }.value
        await thread.stopAndWait()
    }

    @Test("moves by renaming, and to another file system with progress")
    func move() async throws {
        let folder = try TestFolder()
        let bytes = [UInt8](repeating: 6, count: 8 << 20)
        let file = try folder.write(bytes, to: "a")
        try await onWorker { _ in
            try await file.move(to: folder("b"), options: .renamesOnly)
            #expect(folder.names == ["b"])
            let other = try GIO.File(path: "/dev/shm/grun-files-\(getpid())-move")
            let progress = Progress()
            try await folder("b").move(to: other) { progress.add($0) }
            progress.check(total: 8 << 20)
            #expect(folder.names == [])
            try await other.move(to: folder("c"))
            let exists = try await other.exists()
            #expect(folder.bytes(of: "c") == bytes && !exists)
            await expect(G_IO_ERROR_NOT_FOUND) { try await folder("none").move(to: folder("d")) { _ in } }
        }
        #expect(folder.openDescriptors == 0)
    }

    @Test("a cancelled copy leaves no file and no descriptor", arguments: [false, true])
    func cancelled(withProgress: Bool) async throws {
        let folder = try TestFolder()
        let huge = try folder.writeHuge("a")
        try await onWorker { worker in
            let task = Task {
                _ = worker
                try await huge.copy(to: folder("b"), progress: withProgress ? { _ in } : nil)
            }
            while folder.openDescriptors < 2 { await Task.yield() }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(folder.openDescriptors == 0)
        }
    }

    @Test("the end of the loop ends a copy with progress")
    func loopEnds() async throws {
        let folder = try TestFolder()
        let huge = try folder.writeHuge("a")
        let worker = try Worker()
        let task = Task {
            try await worker.run { _ in
                try await huge.copy(to: folder("b")) { _ in }
            }
        }
        while folder.openDescriptors < 2 { await Task.yield() }
        await worker.thread.stopAndWait()
        await #expect(throws: GRunLoop.LoopEndedError.self) { try await task.value }
        #expect(await eventually { folder.openDescriptors == 0 })
    }
}
