// SPDX-License-Identifier: Apache-2.0
// A plug-in in Swift for a program in C: loaded late, by g_module_open(), into a program that runs a GMainLoop of its
// own.

import Dispatch
import GRunLoop
import Synchronization

/// What the plug-in has seen running; the C program asks with plugin_served().
private let served = Atomic<UInt32>(0)

/// An actor that lives on the main run loop.
private actor Resident {
    nonisolated let executor = GRunLoop.main.executor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func serve() { served.add(32, ordering: .relaxed) }
}

/// Sets to work. The program's thread is the caller's; on any other than the main one, the main queue cannot be had.
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

/// Has the calling thread's own loop fire a timer; answers how often it has.
@_cdecl("plugin_run")
public func pluginRun() -> UInt32 {
    let fires = Atomic<UInt32>(0)
    let loop = GRunLoop.current
    loop.add(
        GRunLoop.Timer(interval: .zero, repeats: false) { _ in fires.add(1, ordering: .relaxed) }, forMode: "plug-in")
    loop.run(mode: "plug-in", for: .seconds(60))
    return fires.load(ordering: .relaxed)
}

/// Bits: 1 a timer, 2 a block, 4 the main queue, 8 the main actor, 16 the main queue from a background queue, 32 an
/// actor.
@_cdecl("plugin_served")
public func pluginServed() -> UInt32 {
    served.load(ordering: .relaxed)
}
