// SPDX-License-Identifier: Apache-2.0
// The rows of the table. Each cell is measured in a process of its own, which installs one bridge and runs GLib's main
// loop as GTK does.

import Bridges

/// A row of the table.
struct Row: Sendable {
    /// The name of the row on the command line.
    let name: String
    let title: String
    let measure: @Sendable (Bridge) -> String
}

/// The text of a cell for a count.
func counted(_ count: Int, of expected: Int) -> String {
    count == 0 ? "never runs" : count == expected ? "runs" : "\(count) of \(expected) run"
}

enum Rows {
    static let all: [Row] = [
        Row(name: "main-queue", title: "`DispatchQueue.main`", measure: mainQueue),
        Row(name: "main-actor", title: "`@MainActor`", measure: mainActor),
        Row(name: "sleep", title: "`Task.sleep` on the main actor", measure: sleep),
        Row(name: "timers", title: "a timer of Foundation, 50 times a second", measure: timers),
        Row(name: "beside-timer", title: "main queue beside such a timer", measure: mainQueueBesideTimer),
        Row(name: "perform", title: "`RunLoop.main.perform`", measure: perform),
        Row(name: "process", title: "GTK during `Process.waitUntilExit`", measure: process),
        Row(name: "session", title: "`URLSession` on the main queue", measure: session),
        Row(name: "nested", title: "main queue in a modal loop, started by a button", measure: nestedInCallback),
        Row(name: "nested-task", title: "main queue in a modal loop, started by a task", measure: nestedInTask),
        Row(name: "mode", title: "default-mode timers of Foundation, during a drag", measure: drag),
        Row(name: "async", title: "main actor in an `async` main, as in tests", measure: asyncMain),
        Row(name: "idle", title: "wake-ups a second while idle", measure: idle),
        Row(name: "latency", title: "latency: median, 99th percentile", measure: latency),
        Row(name: "flood", title: "frames and blocks a second in a flood", measure: flood),
        Row(name: "fork", title: "a block that waits at `fork()`", measure: fork),
        Row(name: "plug-ins", title: "main queue with two plug-ins, each with a bridge", measure: plugins),
    ]
}
