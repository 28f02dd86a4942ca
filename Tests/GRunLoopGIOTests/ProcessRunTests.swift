// SPDX-License-Identifier: Apache-2.0
// GIO.run: results, and the end of the process when the task is cancelled.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

@Suite("GIO.run") struct ProcessRunTests {
    /// Runs a line of shell, which writes its process id to the file "id"; cancels it; gives the id and the time from
    /// the cancellation to the end of the call.
    private func cancel(
        _ line: String, in folder: TestFolder, grace: Duration, input: [UInt8]? = nil
    ) async throws -> (id: pid_t, time: Duration) {
        let result = Shared<(pid_t, Duration)>((0, .zero))
        try await onWorker { worker in
            let task = Task {
                _ = worker
                return try await GIO.run(
                    shell(line), workingDirectory: folder.path, input: input, grace: grace)
            }
            while !folder.text(of: "id").hasSuffix("\n") { await Task.yield() }
            let id = try #require(pid_t(folder.text(of: "id").dropLast()))
            #expect(exists(id))
            let start = ContinuousClock.now
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            result.value = (id, .now - start)
            #expect(!exists(id), "the process was not reaped")
        }
        return result.value
    }

    @Test("returns the output, the error and the status")
    func outcome() async throws {
        try await onWorker { _ in
            let found = try await GIO.run(
                shell("tr a-z A-Z; echo oh >&2; exit 3"), input: "größe\n".utf8, error: .pipe)
            #expect(found.output == "GRößE\n" && found.error == "oh\n" && found.status == .exited(code: 3))
            let large = try await GIO.run(["cat"], input: mebibyte)
            #expect(large.outputBytes == mebibyte)
            let killed = try await GIO.run(shell("echo before; kill -9 $$"))
            #expect(killed.output == "before\n" && killed.status.signal == SIGKILL)
            do {
                _ = try await GIO.run(["no-such-program-anywhere"])
                Issue.record("no error")
            } catch G_SPAWN_ERROR_NOENT {}
        }
    }

    @Test("cancelled, it asks the process to end, and reaps it")
    func terminates() async throws {
        let folder = try TestFolder()
        _ = try await cancel(
            "trap 'echo asked > asked; exit' TERM; echo $$ > id; for i in $(seq 6000); do sleep 0.01; done", in: folder,
            grace: Patience.normal)
        #expect(folder.text(of: "asked") == "asked\n")
    }

    @Test("cancelled, it kills a process that does not end in time")
    func kills() async throws {
        let grace = Duration.milliseconds(300)
        let time = try await cancel(
            "trap '' TERM; echo $$ > id; for i in $(seq 6000); do sleep 0.01; done", in: TestFolder(), grace: grace
        ).time
        #expect(time >= grace)
    }

    @Test("with no grace it kills immediately, also a process that does not read or write, or is stopped")
    func killsImmediately() async throws {
        let folder = try TestFolder()
        _ = try await cancel(
            "trap 'echo asked > asked' TERM; echo $$ > id; for i in $(seq 6000); do sleep 0.01; done", in: folder,
            grace: .zero,
            input: mebibyte)
        #expect(folder.text(of: "asked").isEmpty)
        _ = try await cancel("echo $$ > id; kill -STOP $$", in: TestFolder(), grace: .milliseconds(1))
    }

    @Test("cancelled before, it starts no process")
    func cancelledBefore() async throws {
        let folder = try TestFolder()
        try await onWorker { worker in
            let task = Task {
                _ = worker
                withUnsafeCurrentTask { $0?.cancel() }
                return try await GIO.run(shell("echo $$ > id"), workingDirectory: folder.path)
            }
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(folder.text(of: "id").isEmpty)
    }

    @Test("cancelled at any moment, it leaves no process and no descriptor")
    func storm() async throws {
        let before = openDescriptorCount()
        let folder = try TestFolder()
        try await onWorker { worker in
            for round in 0..<10 {
                let tasks = (0..<20).map { number in
                    Task {
                        _ = worker
                        let line = number % 2 == 0 ? "echo $$ > $1" : "echo $$ > $1; exec cat /dev/zero"
                        let command = shell(line, "\(folder.path)/\(round)-\(number)")
                        return try await GIO.run(command, input: "text".utf8, error: .pipe)
                    }
                }
                for task in tasks {
                    for _ in 0..<(round * 10) { await Task.yield() }
                    Task.detached { task.cancel() }
                }
                for task in tasks {
                    do { _ = try await task.value } catch is CancellationError {}
                }
            }
        }
        let names = (0..<200).map { "\($0 / 20)-\($0 % 20)" }
        let ids = names.compactMap { pid_t(folder.text(of: $0).dropLast()) }
        #expect(!ids.isEmpty && !ids.contains(where: exists))
        #expect(await eventually { openDescriptorCount() < before + 100 })
    }

    @Test("the end of the loop kills the process")
    func loopEnds() async throws {
        let folder = try TestFolder()
        let worker = try Worker()
        let task = Task {
            try await worker.run { _ in
                try await GIO.run(
                    shell("trap '' TERM; echo $$ > id; for i in $(seq 6000); do sleep 0.01; done"),
                    workingDirectory: folder.path)
            }
        }
        while !folder.text(of: "id").hasSuffix("\n") { await Task.yield() }
        let id = try #require(pid_t(folder.text(of: "id").dropLast()))
        await worker.thread.stopAndWait()
        await #expect(throws: GRunLoop.LoopEndedError.self) { try await task.value }
        #expect(await eventually { !exists(id) })
    }
}
