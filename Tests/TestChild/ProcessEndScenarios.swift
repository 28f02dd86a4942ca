// SPDX-License-Identifier: Apache-2.0
// Misuse and shortages that end the process: each must print its message in every build. The scenario "ends" lists them
// for `scripts/check-ends`, which runs them in a release build, and for the tests, which run them in a debug build.

import CGRunGLib
import Dispatch
import GRunLoop
import Glibc
import TestSupport

/// The scenarios by name, with a part of the message that each must print.
private let ends: [(name: String, message: String, body: @Sendable () throws -> Void)] = [
    ("ends-mode", "GRunLoop.Mode: the name of a mode is empty", { say("\(GRunLoop.Mode(emptyName))") }),
    (
        "ends-data", "GRunLoop.MessageData: there is no byte at position 3, because the data has 3 bytes",
        { say("\(GRunLoop.MessageData([1, 2, 3])[3])") }
    ),
    (
        "ends-data-before", "GRunLoop.MessageData: there is no byte at position -1, because the data has 3 bytes",
        { say("\(GRunLoop.MessageData([1, 2, 3])[-1])") }
    ),
    ("ends-perform", "GRunLoop.performAndWait: the list of modes is empty", { try performNowhere() }),
    ("ends-join", "GRunLoop.Thread.join: a thread cannot wait for its own end", { try joinItself() }),
    ("ends-isolated", "GRunLoop.Executor \"Checked\": the code needs the thread of", { checkIsolatedElsewhere() }),
    ("ends-iterator", "GRunLoop: two tasks await the next element of one iterator", { twoTasksOneIterator() }),
    (
        "ends-item", "GRunLoop: the closure of this Timer belongs to an actor",
        { try confinedScenarios["confined-timer-elsewhere"]?() }
    ),
    (
        "ends-async", "GRunLoop: the closure of this block belongs to an actor",
        { try confinedScenarios["confined-async-elsewhere"]?() }
    ),
    (
        "ends-fire", "GRunLoop: a closure of an actor was called on a thread where the actor does not run",
        { try confinedScenarios["confined-fired-elsewhere"]?() }
    ),
    (
        "ends-homeless",
        "GRunLoop: an item or a delayed call has a closure of an actor that runs on no run loop",
        { try confinedScenarios["confined-to-no-loop"]?() }
    ),
    (
        "ends-main-actor", "GRunLoop: libdispatch runs the main queue on another thread",
        { try makeAfterDispatchMain() }
    ),
    ("ends-keys", "GRunLoop: no key for thread-specific data is left", { loopWithoutKeys() }),
    ("ends-keys-thread", "GRunLoop: no key for thread-specific data is left", { try threadWithoutKeys() }),
    ("ends-closed", "GRunLoop: code in this process has closed a descriptor of the run loop", { closedInACallout() }),
    ("ends-poll", "GRunLoop: the run loop cannot continue, because poll() has failed", { pollRefused() }),
]

let processEndScenarios: [String: @Sendable () throws -> Void] = Dictionary(
    uniqueKeysWithValues: ends.map { ($0.name, $0.body) } + [("ends", listEnds)])

@Sendable private func listEnds() {
    for end in ends { say("\(end.name)\t\(end.message)") }
}

/// Computed, because the compiler could refuse a constant.
private var emptyName: String { CommandLine.arguments.count > 2 ? "name" : "" }

private func performNowhere() throws {
    let worker = try GRunLoop.Thread()
    try worker.loop.performAndWait(inModes: []) { say("performed") }
}

/// After dispatch_main(), other threads serve the main queue. An actor there uses the main actor's executor.
private func makeAfterDispatchMain() throws {
    let worker = try GRunLoop.Thread(name: "first")
    let fickle = Fickle(on: worker.loop)
    DispatchQueue.main.async {
        // The main thread has ended by now.
        guard threadID != getpid() else { return say("on the main thread") }
        Task { await fickle.make() }
    }
    dispatchMain()
}

/// Takes all thread-specific keys that the process can still get.
private func useUpKeys() {
    var key = pthread_key_t()
    while pthread_key_create(&key, nil) == 0 {}
}

private func loopWithoutKeys() {
    // GLib needs its own keys, and ends the process without them, so it takes them first. GLib 2.90 takes one when it
    // attaches a source.
    let context = TestContext()
    g_main_context_push_thread_default(context.pointer)
    let source = g_idle_source_new()
    g_source_attach(source, context.pointer)
    g_source_destroy(source)
    g_source_unref(source)
    useUpKeys()
    say("\(GRunLoop.current.isCurrent)")
}

private func threadWithoutKeys() throws {
    _ = GRunLoop.current
    useUpKeys()
    _ = try GRunLoop.Thread()
    say("started")
}
