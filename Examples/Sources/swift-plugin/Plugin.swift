// SPDX-License-Identifier: Apache-2.0
// A plug-in in Swift for a program in C: g_module_open() loads it late, into a program that runs its own GMainLoop.

import Dispatch
import GRunLoop
import Synchronization

/// The kinds of work that have run. The C program reads them with plugin_served().
private let served = Atomic<UInt32>(0)

/// An actor on the main run loop.
private actor Resident {
    nonisolated let executor = GRunLoop.main.executor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func serve() { served.add(32, ordering: .relaxed) }
}

/// Starts the work on the calling thread. On another thread than the main one, the main queue is not served.
@_cdecl("plugin_start")
public func pluginStart() {
    let loop = GRunLoop.main
    loop.add(
        GRunLoop.Timer(interval: .milliseconds(5), repeats: false) { _ in served.add(1, ordering: .relaxed) },
        forMode: .common)
    loop.async { served.add(2, ordering: .relaxed) }
    DispatchQueue.main.async { served.add(4, ordering: .relaxed) }
    Task { @MainActor in served.add(8, ordering: .relaxed) }
    Task { await Resident().serve() }
    DispatchQueue.global().async {
        DispatchQueue.main.async { served.add(16, ordering: .relaxed) }
    }
}

/// Fires a timer in the calling thread's own loop. Returns how often the timer has fired.
@_cdecl("plugin_run")
public func pluginRun() -> UInt32 {
    let fires = Atomic<UInt32>(0)
    let loop = GRunLoop.current
    loop.add(
        GRunLoop.Timer(interval: .zero, repeats: false) { _ in fires.add(1, ordering: .relaxed) }, forMode: "plug-in")
    loop.run(mode: "plug-in", for: .seconds(60))
    return fires.load(ordering: .relaxed)
}

/// Returns bits: 1 a timer, 2 a block, 4 the main queue, 8 the main actor, 16 the main queue from a background queue,
/// 32 an actor.
@_cdecl("plugin_served")
public func pluginServed() -> UInt32 {
    served.load(ordering: .relaxed)
}
