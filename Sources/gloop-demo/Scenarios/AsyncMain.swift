// SPDX-License-Identifier: Apache-2.0
// Scenario async-main: a program with an async main keeps its main thread.

import CGRunGIO
import Dispatch
import GRunLoop
import Glibc

/// The entry point of gloop-demo is async, and first calls ``GRunLoop/driveAsyncMain(by:)``. The scenario starts the
/// program again as a child whose `main` suspends. Without the call of ``GRunLoop/driveAsyncMain(by:)``, Swift's
/// runtime would end the main thread at the first suspension.
enum AsyncMain {
    /// The hidden command that starts the child.
    static let command = "async-main-child"

    static let scenario = Scenario(
        "async-main", "A program with an async main keeps its main thread; the loop drives while main is suspended.",
        expected: """
            before the first await | on the main thread
            after Task.sleep       | on the main thread
            GTimeoutSource         | on the main thread
            main-queue block       | on the main thread
            timer of the loop      | on the main thread
            main returns           | on the main thread
            the process            | ended with status 0
            """, body: run)

    private static func run(_ log: Recorder) throws {
        let strings = ["/proc/self/exe", command].map { (word: String) in strdup(word) }
        defer { for string in strings { free(string) } }
        var arguments = strings.map { UnsafePointer($0) } + [nil]
        let child: OpaquePointer = try GLibError.check {
            g_subprocess_newv(&arguments, cglib_subprocess_stdout_pipe, $0)
        }
        defer { g_object_unref(UnsafeMutableRawPointer(child)) }
        var output: UnsafeMutablePointer<CChar>?
        guard g_subprocess_communicate_utf8(child, nil, nil, &output, nil, nil) != 0, let output else {
            throw ScenarioError("the output of the child process cannot be read")
        }
        defer { g_free(output) }
        for line in String(cString: output).split(separator: "\n") {
            log.line(cells: line.split(separator: "|").map(String.init))
        }
        log.line("the process", "ended with status \(g_subprocess_get_exit_status(child))")
    }

    /// The code that the child's `main` runs after the call of ``GRunLoop/driveAsyncMain(by:)``.
    @MainActor static func runChild() async {
        say("before the first await")
        try? await Task.sleep(for: .milliseconds(2))
        say("after Task.sleep")
        await withCheckedContinuation { continuation in
            GLibSource.addTimeout(milliseconds: 1) {
                say("GTimeoutSource")
                continuation.resume()
                return false
            }
        }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                DispatchQueue.main.async {
                    say("main-queue block")
                    continuation.resume()
                }
            }
        }
        await withCheckedContinuation { continuation in
            let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: false) { _ in
                say("timer of the loop")
                continuation.resume()
            }
            GRunLoop.main.add(timer, forMode: .common)
        }
        say("main returns")
    }

    private nonisolated static func say(_ what: String) {
        print("\(what) | \(isMainThread ? "on the main thread" : "on another thread")")
    }
}
