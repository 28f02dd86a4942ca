// SPDX-License-Identifier: Apache-2.0
// The rows and columns of the matrix: kinds of work that can be ready all the time.

import TestSupport

/// A kind of work. One item of this kind is always ready, because each call prepares the next item.
enum Kind: String, CaseIterable {
    case block, perform, source, job, timer, moved, descriptor, port, mainQueue, context
    case glibHigh, glibDefault, glibLower, glibIdle

    var name: String {
        switch self {
        case .block: "block"
        case .perform: "perform"
        case .source: "source"
        case .job: "job"
        case .timer: "timer"
        case .moved: "new timer"
        case .descriptor: "descriptor"
        case .port: "port"
        case .mainQueue: "main queue"
        case .context: "context"
        case .glibHigh, .glibDefault, .glibLower, .glibIdle: "GLib \(priority)"
        }
    }

    /// Why there always is a next item.
    var explanation: String {
        switch self {
        case .block: "a block that enqueues itself by `async`"
        case .perform: "a closure that calls `performOnThread` for itself"
        case .source: "a version-0 source that signals itself and wakes the loop"
        case .job: "a task of the loop's executor that begins the next task"
        case .timer: "a repeating timer of 1 ns"
        case .moved: "a timer that fires once and adds the next timer, due in 1 ns"
        case .descriptor: "an eventfd that nobody reads"
        case .port: "a message that the port's handler sends to the port again"
        case .mainQueue: "a block that enqueues itself by `DispatchQueue.main.async`"
        case .context: "an idle source in a further `GMainContext` of the mode"
        case .glibHigh, .glibDefault, .glibLower, .glibIdle:
            "an idle source of priority \(priority) in the home context"
        }
    }

    var endless: Endless {
        switch self {
        case .block: .block
        case .perform: .perform
        case .source: .source
        case .job: .job
        case .timer: .timer
        case .moved: .moved
        case .descriptor: .descriptor
        case .port: .port
        case .mainQueue: .mainQueue
        case .context: .context
        case .glibHigh, .glibDefault, .glibLower, .glibIdle: .idle(priority: priority)
        }
    }

    /// The GLib priority in the home context. Items of the loop have the hub's priority there, and so does a carrier.
    var priority: Int32 {
        switch self {
        case .glibHigh: -100
        case .glibLower: 100
        case .glibIdle: 200
        default: 0
        }
    }

    /// The kind whose turns it shares, because the loop treats both as one kind.
    var turn: Kind {
        switch self {
        case .perform, .job: .source
        case .moved: .timer
        case .glibHigh, .glibDefault, .glibLower, .glibIdle: .context
        default: self
        }
    }

    var isGLibs: Bool {
        switch self {
        case .glibHigh, .glibDefault, .glibLower, .glibIdle: true
        default: false
        }
    }
}

/// How long an item takes, in processor time of the thread. In wall time, an item beside a busy process would do less
/// work, and the results would differ from those of an idle machine. The loop's slice is wall time, which is never less
/// than processor time. So four items at most fit into a slice on a busy machine, if four fit on an idle one.
enum Load: Int64, CaseIterable {
    case none = 0
    case microsecond = 1_000
    case millisecond = 1_000_000
    case twenty = 20_000_000

    var name: String {
        switch self {
        case .none: "0"
        case .microsecond: "1 us"
        case .millisecond: "1 ms"
        case .twenty: "20 ms"
        }
    }

    /// Uses the processor for this long.
    func work() {
        guard self != .none else { return }
        let end = threadProcessorNanoseconds() + rawValue
        while threadProcessorNanoseconds() < end {}
    }
}
