// SPDX-License-Identifier: Apache-2.0
// A program whose main actor runs on the main loop. It prints a line for each work item of a nested run.

import CGRunGLib
import Dispatch
import GRunLoop
import GRunLoopMainExecutor

/// The work that was served so far.
@MainActor enum Served {
    static var things: Set<String> = []

    static func note(_ thing: String) {
        MainActor.assertIsolated()
        dispatchPrecondition(condition: .notOnQueue(.global()))
        things.insert(thing)
    }
}

/// Begins one piece of work of each kind.
@MainActor func begin(in place: String) {
    Task { @MainActor in Served.note("\(place): a task") }
    Task.detached { await Served.note("\(place): a task of another thread") }
    Task { @MainActor in
        try? await Task.sleep(for: .milliseconds(1))
        Served.note("\(place): a task that slept")
    }
    Task { @MainActor in
        try? await GRunLoop.main.sleep(for: .milliseconds(1))
        Served.note("\(place): a task that slept on the loop")
    }
    DispatchQueue.main.async { MainActor.assumeIsolated { Served.note("\(place): a block of the main queue") } }
    GRunLoop.main.async { @MainActor in Served.note("\(place): a block of the loop") }
}

@MainActor func report(_ place: String) {
    for thing in Served.things.sorted() where thing.hasPrefix(place) { print(thing) }
    Served.things = []
}

/// Starts a nested run.
@MainActor func run(for span: Duration) { GRunLoop.main.run(for: span) }

try GRunLoop.MainExecutor.install()
Task { @MainActor in
    begin(in: "in a job")
    run(for: .milliseconds(100))
    report("in a job")
    DispatchQueue.main.async {
        MainActor.assumeIsolated {
            begin(in: "in a block")
            run(for: .milliseconds(100))
            report("in a block")
        }
        let main = g_main_loop_new(nil, 0)
        Task { @MainActor in
            begin(in: "in a host")
            GRunLoop.main.perform(after: .milliseconds(100)) { @MainActor in
                report("in a host")
                g_main_loop_quit(main)
            }
            g_main_loop_run(main)
            g_main_loop_unref(main)
            GRunLoop.main.stop()
        }
    }
}
GRunLoop.main.run()
