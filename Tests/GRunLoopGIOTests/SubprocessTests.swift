// SPDX-License-Identifier: Apache-2.0
// GIO.Subprocess: starting, redirections, and statuses.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

extension TestFolder {
    /// The content of a file; empty if the file does not exist.
    func text(of name: String) -> String { String(decoding: bytes(of: name) ?? [], as: UTF8.self) }
}

/// A shell's command, and its arguments "$1" and so on.
func shell(_ line: String, _ arguments: String...) -> [String] { ["sh", "-c", line, "sh"] + arguments }

let mebibyte = pattern(1 << 20)

@Suite("GIO.Subprocess") struct SubprocessTests {
    @Test("gives the lines of the output while the process runs and reads its input")
    func lines() async throws {
        try await onWorker { _ in
            let process = try GIO.Subprocess(["cat"], input: .pipe, output: .pipe)
            var found = 0
            try await process.input!.write("line 0\n".utf8)
            for try await line in process.output!.lines {
                #expect(line == "line \(found)")
                #expect(process.processID != nil)
                found += 1
                if found < 100 {
                    try await process.input!.write("line \(found)\n".utf8)
                } else {
                    try await process.input!.close()
                }
            }
            let status = try await process.wait()
            #expect(found == 100 && status == .exited(code: 0) && process.processID == nil)
        }
    }

    @Test("reports exit codes and signals")
    func statuses() async throws {
        try await onWorker { _ in
            for code: Int32 in [0, 1, 42, 255] {
                let status = try await GIO.Subprocess(shell("exit $1", "\(code)")).wait()
                #expect(status == .exited(code: code))
            }
            // SIGPIPE is ignored in this process, but not in the other one.
            for signal in [SIGTERM, SIGKILL, SIGUSR1, SIGPIPE] {
                let process = try GIO.Subprocess(shell("kill -$1 $$", "\(signal)"), input: .pipe)
                let status = try await process.wait()
                #expect(status.signal == signal)
            }
        }
    }

    @Test("sends signals, which are not blocked in the process")
    func signals() async throws {
        try await onWorker { _ in
            let send: [(Int32, (GIO.Subprocess) -> Void)] = [
                (SIGTERM, { $0.terminate() }), (SIGKILL, { $0.kill() }), (SIGUSR2, { $0.send(signal: SIGUSR2) }),
            ]
            for (signal, send) in send {
                let process = try GIO.Subprocess(["sleep", "60"])
                send(process)
                let status = try await process.wait()
                #expect(status.signal == signal)
                // The number may belong to another process now.
                send(process)
            }
            let blocked = try await GIO.run(["grep", "SigBlk", "/proc/self/status"])
            #expect(blocked.output == "SigBlk:\t0000000000000000\n")
        }
    }

    @Test("throws if the program or the directory does not exist, and keeps no descriptor")
    func cannotStart() async throws {
        let before = openDescriptorCount()
        for _ in 0..<200 {
            expectRefusal(G_SPAWN_ERROR_NOENT) { try GIO.Subprocess(["/nowhere/at/all"], input: .pipe, output: .pipe) }
        }
        #expect(await eventually { openDescriptorCount() < before + 100 })
        expectRefusal(G_SPAWN_ERROR_NOENT) { try GIO.Subprocess(["no-such-program-anywhere"]) }
        expectRefusal(G_SPAWN_ERROR_CHDIR) { try GIO.Subprocess(["true"], workingDirectory: "/nowhere/at/all") }
        expectRefusal(G_IO_ERROR_NOT_FOUND) { try GIO.Subprocess(["true"], input: .file("/nowhere/at/all")) }
        expectRefusal(G_IO_ERROR_INVALID_ARGUMENT) { try GIO.Subprocess([]) }
        expectRefusal(G_IO_ERROR_INVALID_ARGUMENT) { try GIO.Subprocess([""]) }
    }

    @Test("passes arguments unchanged, and refuses a NUL anywhere")
    func arguments() async throws {
        try await onWorker { _ in
            let arguments = ["", "two words", "Größe ✓", "'\"$HOME\\n*", "-n", "a\nb"]
            let command = ["sh", "-c", "for each; do printf '%s\\0' \"$each\"; done", "sh"] + arguments
            let found = try await GIO.run(command)
            #expect(found.output == arguments.map { $0 + "\0" }.joined())
        }
        let nul = "true\0 and more"
        let starts: [() throws -> GIO.Subprocess] = [
            { try GIO.Subprocess([nul]) },
            { try GIO.Subprocess(["true", nul]) },
            { try GIO.Subprocess(["true"], environment: .inherit(setting: [nul: "1"])) },
            { try GIO.Subprocess(["true"], environment: .only(["A": nul])) },
            { try GIO.Subprocess(["true"], environment: .inherit(removing: [nul])) },
            { try GIO.Subprocess(["true"], workingDirectory: "/\0tmp") },
            { try GIO.Subprocess(["true"], input: .file("/dev/null\0")) },
            { try GIO.Subprocess(["true"], output: .file("/tmp/\0")) },
            { try GIO.Subprocess(["true"], error: .file("/tmp/\0")) },
        ]
        for start in starts { expectRefusal(G_IO_ERROR_INVALID_ARGUMENT, start) }
    }

    @Test("gives the process the environment that was asked for")
    func environment() async throws {
        setenv("GRUN_GIO_TEST", "inherited", 1)
        let printed = shell("echo \"$GRUN_GIO_TEST|$GRUN_GIO_OTHER|${HOME-none}\"")
        try await onWorker { _ in
            let home = String(cString: getenv("HOME"))
            let cases: [(GIO.Subprocess.Environment, String)] = [
                (.inherit, "inherited||\(home)"),
                (.inherit(setting: ["GRUN_GIO_OTHER": "ü = 1 2"]), "inherited|ü = 1 2|\(home)"),
                (.inherit(setting: ["GRUN_GIO_TEST": "new"], removing: ["HOME"]), "new||none"),
                (.only(["GRUN_GIO_OTHER": ""]), "||none"),
            ]
            for (environment, expected) in cases {
                let found = try await GIO.run(printed, environment: environment)
                #expect(found.output == expected + "\n")
            }
            let all = try await GIO.run(["env"], environment: .only(["A": "1"]))
            #expect(all.output == "A=1\n")
        }
        for name in ["", "A=B"] {
            expectRefusal(G_IO_ERROR_INVALID_ARGUMENT) { try GIO.Subprocess(["true"], environment: .only([name: "1"])) }
        }
    }

    @Test("starts in the working directory")
    func workingDirectory() async throws {
        let folder = try TestFolder()
        try await onWorker { _ in
            let found = try await GIO.run(["/bin/pwd"], workingDirectory: folder.path)
            #expect(found.output == folder.path + "\n")
        }
    }

    @Test("redirects to files, descriptors, pipes and nothing")
    func redirections() async throws {
        let folder = try TestFolder()
        let (input, output, error) = ("\(folder.path)/in", "\(folder.path)/out", "\(folder.path)/err")
        try await onWorker { _ in
            let both = shell("cat; echo error >&2")
            _ = g_file_set_contents(input, "input\n", -1, nil)
            _ = g_file_set_contents(output, "this is much longer than the input", -1, nil)
            try await expectSuccess(
                of: GIO.Subprocess(both, input: .file(input), output: .file(output), error: .file(error)))
            #expect(folder.text(of: "out") == "input\n" && folder.text(of: "err") == "error\n")

            let descriptor = open(output, O_WRONLY | O_TRUNC | O_CLOEXEC)
            try await expectSuccess(
                of: GIO.Subprocess(both, output: .descriptor(descriptor), error: .descriptor(descriptor)))
            #expect(fcntl(descriptor, F_GETFD) == FD_CLOEXEC)
            close(descriptor)
            #expect(folder.text(of: "out") == "error\n")

            try await expectSuccess(
                of: GIO.Subprocess(both, input: .file(input), output: .file(output), error: .output))
            #expect(folder.text(of: "out") == "input\nerror\n")

            let silent = try GIO.Subprocess(both, input: .file(input), output: .null, error: .null)
            #expect(silent.input == nil && silent.output == nil && silent.error == nil)
            try await expectSuccess(of: silent)

            let merged = try await GIO.run(both, input: "given\n".utf8, error: .output)
            #expect(merged.output == "given\nerror\n" && merged.error.isEmpty)
            let apart = try await GIO.run(both, input: "given\n".utf8, error: .pipe)
            #expect(apart.output == "given\n" && apart.error == "error\n")
        }
        expectRefusal(G_IO_ERROR_FAILED) { try GIO.Subprocess(["true"], output: .descriptor(1_000_000)) }
    }
}

/// Starting a process must throw this error.
private func expectRefusal(
    _ code: some GLibErrorCode, _ start: () throws -> GIO.Subprocess, at location: SourceLocation = #_sourceLocation
) {
    do {
        _ = try start()
        Issue.record("no error", sourceLocation: location)
    } catch {
        #expect(code ~= error, "\(error)", sourceLocation: location)
    }
}

private func expectSuccess(of process: GIO.Subprocess, isolation: isolated (any Actor)? = #isolation) async throws {
    let status = try await process.wait()
    #expect(status.isSuccess)
}
