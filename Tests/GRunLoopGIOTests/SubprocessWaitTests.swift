// SPDX-License-Identifier: Apache-2.0
// GIO.Subprocess: input and output, waiting, and many processes.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

@Suite("GIO.Subprocess: streams and waiting") struct SubprocessWaitTests {
    @Test("passes 1 MiB to the process and back, through the output and the error")
    func communicate() async throws {
        try await onWorker { _ in
            let process = try GIO.Subprocess(["tee", "/dev/stderr"], input: .pipe, output: .pipe, error: .pipe)
            let (output, error) = try await process.communicate(input: mebibyte)
            #expect(output == mebibyte && error == mebibyte && process.processID == nil)
            let sort = try GIO.Subprocess(["sort"], input: .pipe, output: .pipe)
            let text = try await sort.communicateText(input: "ü\nb\na\n")
            #expect(text.output == "a\nb\nü\n" && text.error.isEmpty)
            let invalid = try await GIO.Subprocess(["printf", "a\\377b\\0c"], output: .pipe).communicateText()
            #expect(invalid.output == "a\u{FFFD}b\0c")
        }
    }

    @Test("gives the output of a process that does not read its input")
    func unreadInput() async throws {
        try await onWorker { _ in
            for _ in 0..<20 {
                let process = try GIO.Subprocess(shell("exec <&-; echo done"), input: .pipe, output: .pipe)
                let output = try await process.communicate(input: mebibyte).output
                #expect(output == Array("done\n".utf8))
            }
            let process = try GIO.Subprocess(["true"])
            do {
                _ = try await process.communicate(input: [1])
                Issue.record("no error")
            } catch G_IO_ERROR_INVALID_ARGUMENT {}
            _ = try await process.wait()
        }
    }

    @Test("a write to a process that does not read keeps the loop running, and fails when the process ends")
    func fullPipe() async throws {
        try await onWorker { worker in
            let process = try GIO.Subprocess(["sleep", "60"], input: .pipe)
            let hasReturned = Flag()
            let task = Task {
                _ = worker
                defer { hasReturned.set() }
                try await process.input!.write(mebibyte)
            }
            for _ in 0..<1000 { await Task.yield() }
            #expect(!hasReturned.isSet)
            process.kill()
            do {
                try await task.value
                Issue.record("no error")
            } catch G_IO_ERROR_BROKEN_PIPE {}
            _ = try await process.wait()
        }
    }

    @Test("two tasks wait for the same process, and cancelling a third one does not end it")
    func manyWait() async throws {
        try await onWorker { worker in
            let process = try GIO.Subprocess(["cat"], input: .pipe, output: .pipe)
            let isWaiting = Counter()
            let tasks = (0..<3).map { _ in
                Task {
                    _ = worker
                    isWaiting.increment()
                    return try await process.wait()
                }
            }
            while isWaiting.value < 3 { await Task.yield() }
            tasks[2].cancel()
            await #expect(throws: CancellationError.self) { try await tasks[2].value }
            try await process.input!.write("still here\n".utf8)
            try await process.input!.close()
            let text = try await process.output!.readAll()
            #expect(text == Array("still here\n".utf8))
            for task in tasks[..<2] {
                let status = try await task.value
                #expect(status.isSuccess)
            }
            let again = try await process.wait()
            #expect(again.isSuccess)
        }
    }

    @Test("a wait that is cancelled while the process ends gives the status or the cancellation")
    func cancelledAtTheEnd() async throws {
        try await onWorker { worker in
            for number in 0..<200 {
                let process = try GIO.Subprocess(["cat"], input: .pipe)
                let id = try #require(process.processID)
                let task = Task {
                    _ = worker
                    return try await process.wait()
                }
                try await process.input!.close()
                if number % 4 > 0 { while !hasEnded(id) { await Task.yield() } }
                Task.detached { task.cancel() }
                do {
                    let status = try await task.value
                    #expect(status.isSuccess)
                } catch is CancellationError {}
                _ = try await process.wait()
            }
        }
    }

    @Test("100 processes run at a time")
    func hundred() async throws {
        try await onWorker { worker in
            let processes = try (0..<100).map { _ in try GIO.Subprocess(["cat"], input: .pipe, output: .pipe) }
            #expect(Set(processes.compactMap(\.processID)).count == 100)
            let tasks = processes.enumerated().map { number, process in
                Task {
                    _ = worker
                    return try await process.communicateText(input: "process \(number)").output
                }
            }
            for (number, task) in tasks.enumerated() {
                let text = try await task.value
                #expect(text == "process \(number)")
            }
            #expect(processes.allSatisfy { $0.processID == nil })
        }
    }

    @Test("after 200 processes no descriptor, no process and no object is left")
    func nothingStays() async throws {
        let released = Counter()
        let before = openDescriptorCount()
        try await onWorker { _ in
            var ids: [Int32] = []
            for _ in 0..<200 {
                let process = try GIO.Subprocess(["cat"], input: .pipe, output: .pipe, error: .pipe)
                ids.append(try #require(process.processID))
                g_object_weak_ref(
                    UnsafeMutablePointer<GObject>(process.pointer),
                    { data, _ in Unmanaged<Counter>.fromOpaque(data!).takeUnretainedValue().increment() },
                    Unmanaged.passUnretained(released).toOpaque())
                let output = try await process.communicate(input: [1, 2, 3]).output
                #expect(output == [1, 2, 3])
            }
            #expect(!ids.contains(where: exists))
        }
        #expect(await eventually { released.value == 200 && openDescriptorCount() < before + 100 })
    }
}

/// Whether a process is a zombie or was reaped.
func hasEnded(_ process: pid_t) -> Bool {
    guard let file = fopen("/proc/\(process)/stat", "r") else { return true }
    defer { fclose(file) }
    var buffer = [UInt8](repeating: 0, count: 512)
    let text = String(decoding: buffer.prefix(fread(&buffer, 1, buffer.count, file)), as: UTF8.self)
    return text.contains(") Z") || text.contains(") X")
}
