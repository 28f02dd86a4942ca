// SPDX-License-Identifier: Apache-2.0
// A program whose entry point is async: what becomes of its main thread. Started by the tests with a scenario's name.

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

    /// The main run loop drives while main is suspended; the process ends when main returns.
    @MainActor private static func kept() async {
        GRunLoop.driveAsyncMain()
        sayWhere("before")
        try? await Task.sleep(for: .milliseconds(5))
        sayWhere("after a sleep")
        var timeout: GLibSource?
        await withCheckedContinuation { continuation in
            // GLib's default context is served.
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
        // Somebody stops the run: the loop goes on, since main has not returned.
        await withCheckedContinuation { continuation in
            GRunLoop.main.async {
                GRunLoop.main.stop()
                continuation.resume()
            }
        }
        // What resumed it may be of the pass that was stopped; this is not.
        await Task.yield()
        sayWhere("after a stop")
        atexit { say("exit, on the main thread: \(threadID == getpid())") }
    }

    /// A loop of GLib's drives instead, and when it ends, the main run loop does.
    @MainActor private static func drivenByGLib() async {
        let loop = HostLoop()
        GRunLoop.driveAsyncMain { loop.run() }
        await Task.yield()
        say("under GLib: \(loop.isRunning), main thread: \(threadID == getpid())")
        loop.quit()
        while !loop.hasReturned { await Task.yield() }
        say("afterwards: \(loop.isRunning), main thread: \(threadID == getpid())")
    }

    /// Another library has set a hook of its own since this one was loaded.
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

    /// The main thread is lost, and who touches the main loop is told why.
    private static func notKept() async {
        await Task.yield()
        _ = GRunLoop.main
        say("main thread: \(threadID == getpid())")
    }

    /// A host inside main, before it ever suspends: as in a synchronous main.
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

    /// A host inside main, after it has suspended: main is a job of the main actor then.
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
