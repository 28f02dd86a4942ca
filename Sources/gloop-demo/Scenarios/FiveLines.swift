// SPDX-License-Identifier: Apache-2.0
// Scenario five-lines: five ways to run code on the main thread. In a GTK program in Swift, they work only with this
// library.

import Dispatch
import GRunLoop

/// The five ways are from an issue about a GTK backend for Swift ("None of these ever runs. Why?"). In a program with
/// that backend, the host's loop runs on the main thread and does not serve the main dispatch queue. With this library,
/// it is enough that ``GRunLoop/main`` exists. The five ways work first in our run, and then under a GApplication.
enum FiveLines {
    static let scenario = Scenario(
        "five-lines", "Five ways to the main thread that do not run under GTK alone: here all of them run.",
        expected: """
            our run           | DispatchQueue.main.async        | on the main thread
            our run           | DispatchQueue.main.asyncAfter   | on the main thread
            our run           | Task { @MainActor in }          | on the main thread
            our run           | Task { await MainActor.run }    | on the main thread
            our run           | Task.sleep on the main actor    | on the main thread
            g_application_run | DispatchQueue.main.async        | on the main thread
            g_application_run | DispatchQueue.main.asyncAfter   | on the main thread
            g_application_run | Task { @MainActor in }          | on the main thread
            g_application_run | Task { await MainActor.run }    | on the main thread
            g_application_run | Task.sleep on the main actor    | on the main thread
            """, body: run)

    private static func run(_ log: Recorder) throws {
        let loop = GRunLoop.main
        FiveWays(driver: "our run", log).start { loop.stop() }
        loop.run(for: .patience)

        try Application.run { quit in FiveWays(driver: "g_application_run", log).start(quit) }
    }
}

/// Code for the five ways. Each way starts the next way.
private struct FiveWays: Sendable {
    let driver: String
    let log: Recorder

    init(driver: String, _ log: Recorder) {
        self.driver = driver
        self.log = log
    }

    func start(_ finish: @escaping @Sendable () -> Void) {
        DispatchQueue.global().async {
            DispatchQueue.main.async {
                note("DispatchQueue.main.async")
                DispatchQueue.main.asyncAfter(deadline: .now() + .milliseconds(2)) {
                    note("DispatchQueue.main.asyncAfter")
                    Task { @MainActor in
                        note("Task { @MainActor in }")
                        Task.detached { await rest(finish) }
                    }
                }
            }
        }
    }

    private func rest(_ finish: @escaping @Sendable () -> Void) async {
        await MainActor.run { note("Task { await MainActor.run }") }
        Task { @MainActor in
            try? await Task.sleep(for: .milliseconds(2))
            note("Task.sleep on the main actor")
            finish()
        }
    }

    private func note(_ way: String) {
        log.line(driver, way, isMainThread ? "on the main thread" : "on another thread")
    }
}
