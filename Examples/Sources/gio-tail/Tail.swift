// SPDX-License-Identifier: Apache-2.0
// tail -F: prints a file, and what is appended to it, until a signal ends the process. Follows the name: a new file of
// this name is printed from its beginning.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc

@main @MainActor struct Tail {
    static func main() async {
        GRunLoop.driveAsyncMain()
        guard CommandLine.arguments.count == 2 else {
            fail("usage: gio-tail FILE", status: 2)
        }
        do {
            var tail = Tail(file: try GIO.File(commandLineArgument: CommandLine.arguments[1]))
            try await tail.follow()
        } catch {
            fail("gio-tail: \(error)", status: 1)
        }
    }

    private let file: GIO.File
    private let output = GIO.OutputStream(full: g_unix_output_stream_new(STDOUT_FILENO, 0))
    private var input: GIO.InputStream?
    /// How many bytes of the file were printed.
    private var position = 0

    private init(file: GIO.File) { self.file = file }

    private mutating func follow() async throws {
        // Watches from now on, so that no change between the first reading and the first await is missed.
        var changes = file.changes.makeAsyncIterator()
        input = try await file.read()
        try await printRest()
        while let change = try await changes.next() {
            switch change.kind {
            case .deleted, .movedOut: try await close()
            case .created, .movedIn: try await reopen()
            case .renamed: if change.otherFile == file { try await reopen() } else { try await close() }
            default: try await printRest()
            }
        }
    }

    private mutating func printRest() async throws {
        guard let input else { return }
        if try await file.info().size < position { return try await reopen() }
        for try await chunk in input.chunks(of: 1 << 16) {
            try await output.write(chunk)
            position += chunk.count
        }
    }

    private mutating func reopen() async throws {
        try await close()
        do { input = try await file.read() } catch GIO.ErrorCode.notFound { return }
        try await printRest()
    }

    /// Prints the end of the old file.
    private mutating func close() async throws {
        guard let old = input.take() else { return }
        for try await chunk in old.chunks(of: 1 << 16) { try await output.write(chunk) }
        try await old.close()
        position = 0
    }
}

private func fail(_ text: String, status: Int32) -> Never {
    write(STDERR_FILENO, text + "\n", text.utf8.count + 1)
    exit(status)
}
