// SPDX-License-Identifier: Apache-2.0
// Scenario hosted: a GLib program runs its own main loop, which serves all our items.

import Dispatch
import GRunLoop

/// The program calls `g_main_loop_run`, as `gtk_main` and `g_application_run` do, and does not run our loop. GLib
/// dispatches the hub like any other GSource. So each iteration serves our items, the main dispatch queue and the main
/// actor. In this scenario each event starts the next event, and another thread starts the first event while the host
/// sleeps.
enum Hosted {
    static let scenario = Scenario(
        "hosted", "g_main_loop_run serves blocks, sources, timers, descriptors, the main queue and @MainActor.",
        expected: """
            before the host    | current mode none
            block from a worker | in kCFRunLoopDefaultMode | dispatched by GRunLoop
            source             | in kCFRunLoopDefaultMode | dispatched by GRunLoop
            timer              | in kCFRunLoopDefaultMode | dispatched by GRunLoop
            descriptor         | in kCFRunLoopDefaultMode | dispatched by GRunLoop
            main-queue block   | in kCFRunLoopDefaultMode | dispatched by GRunLoop
            @MainActor task    | in kCFRunLoopDefaultMode | dispatched by GRunLoop
            GTimeoutSource     | in kCFRunLoopDefaultMode | dispatched by itself
            after the host     | current mode none
            """, body: run)

    private static func run(_ log: Recorder) throws {
        let loop = GRunLoop.main
        let note: @Sendable (String) -> Void = { what in
            let source = Host.dispatchedSource == "GRunLoop" ? "GRunLoop" : "itself"
            log.line(what, "in \(loop.currentMode?.rawValue ?? "none")", "dispatched by \(source)")
        }
        let pipe = try Pipe()
        let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { descriptor, _ in
            _ = pipe.read()
            descriptor.invalidate()
            note("descriptor")
            DispatchQueue.main.async { note("main-queue block") }
        }
        try loop.add(descriptor, forMode: .default)
        let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: false) { _ in
            note("timer")
            pipe.write("x")
        }
        let source = GRunLoop.Source {
            note("source")
            loop.add(timer, forMode: .default)
        }
        loop.add(source, forMode: .default)
        defer { source.invalidate() }

        log.line("before the host", "current mode \(loop.currentMode?.rawValue ?? "none")")
        let worker = Shared<WorkerThread?>(nil)
        Host.run { quit in
            worker.value = WorkerThread {
                guard wait(until: { loop.isWaiting }) else { return quit() }
                loop.async {
                    note("block from a worker")
                    source.signal()
                    finish(after: log, note, quit)
                }
            }
        }
        worker.value?.join()
        log.line("after the host", "current mode \(loop.currentMode?.rawValue ?? "none")")
    }

    /// Starts a task that waits for the line of the main-queue block, and then adds a source of GLib that ends the
    /// host's loop.
    private static func finish(
        after log: Recorder, _ note: @escaping @Sendable (String) -> Void, _ quit: @escaping @Sendable () -> Void
    ) {
        Task { @MainActor in
            while log.lines.last?[0] != "main-queue block" { try? await Task.sleep(for: .milliseconds(1)) }
            note("@MainActor task")
            GLibSource.addTimeout(milliseconds: 1) {
                note("GTimeoutSource")
                quit()
                return false
            }
        }
    }
}
