// SPDX-License-Identifier: Apache-2.0
// A program with an async entry point. It shows which code gets its main thread. The tests pass it a scenario's name.

import CAsyncHook
import CGRunGLib
import Dispatch
import GRunLoop
import Glibc
import TestSupport

@main struct AsyncMainChild {
    static func main() async {
        switch CommandLine.arguments.dropFirst().first {
        case "kept": await kept()
        case "beside-another-hook": await beside(async_hook_install)
        case "beside-a-hook-that-calls-nothing": await beside(async_hook_install_alone)
        case "driven-by-glib": await drivenByGLib()
        case "too-late": await tooLate()
        case "twice": await twice()
        case "not-kept": await notKept()
        case "host-before": await hostBefore()
        case "host-inside": await hostInside()
        default: exit(2)
        }
    }

    /// The main run loop drives the main thread while main is suspended. The process ends when main returns.
    @MainActor private static func kept() async {
        GRunLoop.driveAsyncMain()
        sayWhere("before")
        try? await Task.sleep(for: .milliseconds(5))
        sayWhere("after a sleep")
        var timeout: GLibSource?
        await withCheckedContinuation { continuation in
            // The loop serves GLib's default context.
            timeout = GLibSource.timeout(nil, milliseconds: 1) {
                MainActor.assumeIsolated { sayWhere("in a GLib timeout") }
                continuation.resume()
                return false
            }
        }
        withExtendedLifetime(timeout) {}
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { DispatchQueue.main.async { continuation.resume() } }
        }
        sayWhere("after a block")
        do {
            try await GRunLoop.main.sleep(for: .milliseconds(1))
        } catch {
            say("\(error)")
        }
        // After stop(), the loop runs again, because main has not returned.
        await withCheckedContinuation { continuation in
            GRunLoop.main.async {
                GRunLoop.main.stop()
                continuation.resume()
            }
        }
        // The stopped pass may still resume main. Only a later pass resumes it after this yield.
        await Task.yield()
        sayWhere("after a stop")
        atexit { say("exit, on the main thread: \(threadID == getpid())") }
    }

    /// A GLib loop drives the main thread. When the GLib loop ends, the main run loop takes over.
    @MainActor private static func drivenByGLib() async {
        let loop = HostLoop()
        GRunLoop.driveAsyncMain { loop.run() }
        await Task.yield()
        say("under GLib: \(loop.isRunning), main thread: \(threadID == getpid())")
        loop.quit()
        while !loop.hasReturned { await Task.yield() }
        say("afterwards: \(loop.isRunning), main thread: \(threadID == getpid())")
    }

    /// Another library has set its own hook after this library was loaded.
    @MainActor private static func beside(_ install: (@convention(c) () -> Void) -> Void) async {
        install { say("the other hook") }
        GRunLoop.driveAsyncMain()
        await Task.yield()
        sayWhere("after a sleep")
    }

    private static func tooLate() async {
        await Task.yield()
        GRunLoop.driveAsyncMain()
        say("main thread: \(threadID == getpid())")
    }

    @MainActor private static func twice() async {
        GRunLoop.driveAsyncMain()
        GRunLoop.driveAsyncMain()
        await Task.yield()
        GRunLoop.driveAsyncMain()
        sayWhere("after a sleep")
    }

    /// The main thread is lost. A call that needs the main loop logs the reason.
    private static func notKept() async {
        await Task.yield()
        _ = GRunLoop.main
        say("main thread: \(threadID == getpid())")
    }

    /// Runs a host inside main before main suspends for the first time, as in a synchronous main.
    @MainActor private static func hostBefore() async {
        GRunLoop.driveAsyncMain()
        _ = GRunLoop.main
        let loop = HostLoop()
        Task { @MainActor in
            sayWhere("task under the host")
            loop.quit()
        }
        loop.run()
        await Task.yield()
        sayWhere("after the host")
    }

    /// Runs a host inside main after main has suspended. From then on main is a job of the main actor.
    @MainActor private static func hostInside() async {
        GRunLoop.driveAsyncMain()
        await Task.yield()
        let loop = HostLoop()
        DispatchQueue.main.async { MainActor.assumeIsolated { say("in the block: \(loop.isRunning)") } }
        let timeout = GLibSource.timeout(nil, milliseconds: 300) {
            MainActor.assumeIsolated { loop.quit() }
            return false
        }
        loop.run()
        withExtendedLifetime(timeout) {}
        for _ in 0..<10 { await Task.yield() }
    }

    @MainActor private static func sayWhere(_ what: String) {
        MainActor.assumeIsolated { say("\(what), main thread: \(threadID == getpid())") }
    }
}

/// A GMainLoop on the default context.
@MainActor private final class HostLoop {
    private let loop = g_main_loop_new(nil, 0)
    var isRunning: Bool { g_main_loop_is_running(loop) != 0 }

    private(set) var hasReturned = false

    func run() {
        g_main_loop_run(loop)
        hasReturned = true
    }
    func quit() { g_main_loop_quit(loop) }

    isolated deinit { g_main_loop_unref(loop) }
}
