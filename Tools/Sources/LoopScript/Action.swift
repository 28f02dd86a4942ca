// SPDX-License-Identifier: Apache-2.0
// What a script can do to a run loop, at the top level and inside any callout.

/// How long a run may last.
public enum RunLimit: Hashable, Sendable {
    /// Zero seconds: one pass that does not sleep.
    case poll
    /// A negative number of seconds, which means the same as zero.
    case negative
    /// Until this many gaps later (at least 1), at the slot for the depth of the run.
    case gaps(Int)
    /// Without a limit, for top-level steps. The executor stops such a run from another thread after a while, if
    /// nothing else does.
    case forever
}

/// A question whose answer becomes a line of the trace.
public enum Query: Hashable, Sendable {
    case contains(ItemID, ModeName)
    case isValid(ItemID)
    case isSignalled(Int)
    case currentMode
    case allModes
    case nextFireDate(ModeName)
    case timerDate(Int)
    case isWaiting
}

/// One action of a script.
public enum Action: Hashable, Sendable {
    case add(ItemID, ModeName)
    case remove(ItemID, ModeName)
    case invalidate(ItemID)
    case addCommonMode(ModeName)
    case signal(Int)
    /// Writes the eventfd of a version-1 source.
    case makeReady(Int)
    case wakeUp
    case stop
    /// Enqueues a block; one mode is passed as a name, several as a set.
    case perform(Int, [ModeName])
    /// Sets a timer's next fire date to this many gaps later (at least 1), in its own slot; nil means the past.
    case move(Int, Int?)
    case run(ModeName, RunLimit, returnAfterSourceHandled: Bool)
    /// Keeps the thread busy for this many gaps.
    case busy(Int)
    case query(Query)
}

extension RunLimit: CustomStringConvertible {
    public var description: String {
        switch self {
        case .poll: "0 s"
        case .negative: "-1 s"
        case .gaps(let count): "\(count) gaps"
        case .forever: "forever"
        }
    }
}

extension Query: CustomStringConvertible {
    public var description: String {
        switch self {
        case .contains(let item, let mode): "\(mode) contains \(item)"
        case .isValid(let item): "\(item) isValid"
        case .isSignalled(let source): "S\(source) isSignalled"
        case .currentMode: "currentMode"
        case .allModes: "allModes"
        case .nextFireDate(let mode): "\(mode) nextFireDate"
        case .timerDate(let timer): "T\(timer) date"
        case .isWaiting: "isWaiting"
        }
    }
}

extension Action: CustomStringConvertible {
    public var description: String {
        switch self {
        case .add(let item, let mode): "add \(item) to \(mode)"
        case .remove(let item, let mode): "remove \(item) from \(mode)"
        case .invalidate(let item): "invalidate \(item)"
        case .addCommonMode(let mode): "addCommonMode \(mode)"
        case .signal(let source): "signal S\(source)"
        case .makeReady(let port): "makeReady P\(port)"
        case .wakeUp: "wakeUp"
        case .stop: "stop"
        case .perform(let block, let modes): "perform B\(block) in \(modes.joined(separator: "+"))"
        case .move(let timer, let gaps): "move T\(timer) to \(gaps.map { "\($0) gaps later" } ?? "the past")"
        case .run(let mode, let limit, let returns):
            "run \(mode) for \(limit)\(returns ? ", returning after a source" : "")"
        case .busy(let gaps): "busy for \(gaps) gaps"
        case .query(let query): "ask: \(query)"
        }
    }
}

extension Program: CustomStringConvertible {
    /// The program as text, one item, callout or step a line.
    public var description: String {
        var lines: [String] = []
        func write(_ title: String, _ body: Body) {
            lines.append(title)
            for (index, actions) in body.enumerated() where !actions.isEmpty {
                lines.append("    call \(index + 1): \(actions.map(\.description).joined(separator: "; "))")
            }
        }
        for (index, item) in sources.enumerated() { write("source S\(index) order \(item.order)", item.body) }
        for (index, item) in ports.enumerated() { write("port P\(index)", item.body) }
        for (index, item) in timers.enumerated() {
            let date = item.firstGap.map { "gap \($0)" } ?? "the past"
            let interval = item.intervalGaps > 0 ? " every \(item.intervalGaps) gaps" : ""
            write("timer T\(index) at \(date)\(interval)", item.body)
        }
        for (index, item) in observers.enumerated() {
            let kind = item.repeats ? "" : " once"
            write(
                "observer O\(index) \(ActivityNames.text(item.activities)) order \(item.order)\(kind)", item.body)
        }
        for (index, body) in blocks.enumerated() { write("block B\(index)", body) }
        for (index, step) in steps.enumerated() { lines.append("\(index + 1). \(step)") }
        return lines.joined(separator: "\n")
    }
}

/// The names of the stages that observers see.
public enum ActivityNames {
    static let all: [(bit: UInt, name: String)] = [
        (1, "entry"), (2, "beforeTimers"), (4, "beforeSources"), (32, "beforeWaiting"), (64, "afterWaiting"),
        (128, "exit"),
    ]

    /// The names of the bits in `mask`.
    public static func text(_ mask: UInt) -> String {
        if mask & 231 == 231 { return "all" }
        return all.filter { mask & $0.bit != 0 }.map(\.name).joined(separator: "|")
    }
}
