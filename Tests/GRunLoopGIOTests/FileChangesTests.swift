// SPDX-License-Identifier: Apache-2.0
// The changes of a folder, and the end of watching it.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

@Suite("GIO.File.changes") struct FileChangesTests {
    @Test("sees a file created, written, renamed, moved in and out, and deleted")
    func kinds() async throws {
        let (folder, other) = (try TestFolder(), try TestFolder())
        try await onWorker { _ in
            var changes = try folder.file.changes.makeAsyncIterator()
            var seen: [GIO.FileChange] = []
            /// Takes changes until there is the wanted one.
            func wait(for kind: GIO.FileChange.Kind, _ name: String, _ otherFile: GIO.File? = nil) async throws {
                let file = try folder(name)
                while true {
                    let change = try #require(try await changes.next())
                    seen.append(change)
                    guard change.kind == kind, change.file == file else { continue }
                    return #expect(change.otherFile == otherFile && change.droppedBefore == 0)
                }
            }
            _ = try folder.write([1], to: "a")
            try await wait(for: .created, "a")
            try await wait(for: .changesDone, "a")
            #expect(seen.contains { $0.kind == .changed })
            chmod("\(folder.path)/a", 0o600)
            try await wait(for: .attributesChanged, "a")
            try await folder("a").move(to: folder("b"))
            try await wait(for: .renamed, "a", folder("b"))
            try await folder("b").move(to: other("c"))
            try await wait(for: .movedOut, "b")
            try await other("c").move(to: folder("d"))
            try await wait(for: .movedIn, "d")
            try await folder("d").delete()
            try await wait(for: .deleted, "d")
        }
        #expect(folder.inotifyWatches == 0)
    }

    @Test("watches a file that does not exist yet")
    func file() async throws {
        let folder = try TestFolder()
        try await onWorker { _ in
            var changes = try folder("a").changes.makeAsyncIterator()
            _ = try folder.write([], to: "b")
            _ = try folder.write([], to: "a")
            let change = try await changes.next()
            #expect(try change?.kind == .created && change?.file == folder("a"))
        }
    }

    @Test("a break, a cancellation and another thread end the watch")
    func ends() async throws {
        let folder = try TestFolder()
        try await onWorker { worker in
            let changes = try folder.file.changes
            do {
                let iterator = changes.makeAsyncIterator()
                #expect(folder.inotifyWatches == 1)
                withExtendedLifetime(iterator) {}
            }
            #expect(folder.inotifyWatches == 0)
            let task = Task {
                _ = worker
                for try await change in changes { Issue.record("\(change)") }
            }
            while folder.inotifyWatches == 0 { await Task.yield() }
            task.cancel()
            try await task.value
            while folder.inotifyWatches == 1 { await Task.yield() }
            let iterator = Shared(Optional(changes.makeAsyncIterator()))
            #expect(folder.inotifyWatches == 1)
            pthread_join(startThread { iterator.value = nil }, nil)
            while folder.inotifyWatches == 1 { await Task.yield() }
        }
        #expect(folder.inotifyWatches == 0)
    }

    @Test("a slow task gets the latest changes and the number of those that it missed")
    func dropped() async throws {
        let folder = try TestFolder()
        try await onWorker { _ in
            var slow = try folder.file.changes(bufferingLatest: 10).makeAsyncIterator()
            var quick = try folder.file.changes(bufferingLatest: 10_000).makeAsyncIterator()
            for number in 0..<500 { mkdir("\(folder.path)/\(number)", 0o700) }
            _ = try folder.write([], to: "last")
            /// Takes changes until the last file is created. Returns how many it received and how many it missed.
            func count(_ changes: inout GIO.File.Changes.Iterator, yielding turns: Int) async throws -> (Int, Int) {
                var (received, missed) = (0, 0)
                while let change = try await changes.next() {
                    received += 1
                    missed += change.droppedBefore
                    if try change.kind == .created && change.file == folder("last") { break }
                    // Lets more changes come than the buffer holds.
                    for _ in 0..<turns { await Task.yield() }
                }
                return (received, missed)
            }
            let (received, missed) = try await count(&slow, yielding: 50)
            let (all, none) = try await count(&quick, yielding: 0)
            #expect(none == 0 && all >= 501 && missed > 0 && received + missed == all)
        }
        #expect(folder.inotifyWatches == 0)
    }

    @Test("without a loop, and at the end of the loop, there is an error, and then nil")
    func errors() async throws {
        let folder = try TestFolder()
        var iterator = try folder.file.changes.makeAsyncIterator()
        await #expect(throws: GIO.WrongThreadError.self) { try await iterator.next() }
        #expect(try await iterator.next() == nil)
        let worker = try Worker()
        let isWaiting = Flag()
        let task = Task {
            try await worker.run { _ in
                var iterator = try folder.file.changes.makeAsyncIterator()
                isWaiting.set()
                do { _ = try await iterator.next() } catch {
                    #expect(error is GRunLoop.LoopEndedError)
                    return try await iterator.next()
                }
                return nil
            }
        }
        while !isWaiting.isSet { await Task.yield() }
        await worker.thread.stopAndWait()
        #expect(try await task.value == nil && folder.inotifyWatches == 0)
    }
}
