// SPDX-License-Identifier: Apache-2.0
// Copies a file with progress. Ctrl-C cancels the copying, and no part of a copy stays.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc

@main @MainActor struct Copy {
    static func main() async {
        GRunLoop.driveAsyncMain()
        guard CommandLine.arguments.count == 3 else {
            say("usage: gio-copy FROM TO\n")
            exit(2)
        }
        do {
            let files = try CommandLine.arguments.dropFirst().map { try GIO.File(commandLineArgument: $0) }
            let signal = try await Copy(from: files[0], to: files[1]).run()
            // As a shell reports a command that a signal has ended.
            if let signal { exit(128 + signal) }
        } catch {
            say("\ngio-copy: \(error)\n")
            exit(1)
        }
    }

    private let original, copy: GIO.File

    private init(from original: GIO.File, to copy: GIO.File) {
        (self.original, self.copy) = (original, copy)
    }

    /// Returns the signal that has cancelled the copying; nil if the file was copied.
    private func run() async throws -> Int32? {
        try await withThrowingTaskGroup(of: Int32?.self) { group in
            group.addTask { try await copyFile() }
            group.addTask { try await nextSignal() }
            let signal = try await group.next() ?? nil
            group.cancelAll()
            // When the task has ended, GIO writes no more.
            while let result = await group.nextResult() {
                if case .failure(let error) = result, !(error is CancellationError) { throw error }
            }
            return signal
        }
    }

    private func nextSignal() async throws -> Int32? {
        for try await arrived in GRunLoop.main.signals([SIGINT, SIGTERM]) { return arrived.keys.first }
        return nil
    }

    /// Returns nil, since no signal has ended the copying.
    private func copyFile() async throws -> Int32? {
        try await original.copy(to: copy, options: .overwrites) { progress in
            let percent = Int((progress.fraction ?? 1) * 100)
            say("\r\(percent) %, \(progress.completed) bytes")
        }
        say("\n")
        return nil
    }
}

/// Written to the standard error.
private func say(_ text: String) { write(STDERR_FILENO, text, text.utf8.count) }
