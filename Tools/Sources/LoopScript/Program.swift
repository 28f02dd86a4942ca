// SPDX-License-Identifier: Apache-2.0
// A script for a run loop as a value: its items, what their callouts do, and the top-level steps.

/// A program's name of a mode: "default", "common" (the pseudo mode), or any other name.
public typealias ModeName = String

/// The item of a program that an action means.
public enum ItemID: Hashable, Sendable, CustomStringConvertible {
    case source(Int)
    case port(Int)
    case timer(Int)
    case observer(Int)

    public var description: String {
        switch self {
        case .source(let index): "S\(index)"
        case .port(let index): "P\(index)"
        case .timer(let index): "T\(index)"
        case .observer(let index): "O\(index)"
        }
    }
}

/// The actions of a callout. The n-th call makes the n-th list, and later calls do nothing, so every program ends.
public typealias Body = [[Action]]

/// A version-0 source.
public struct SourceSpec: Sendable, Equatable {
    public var order: Int
    public var body: Body

    public init(order: Int = 0, _ body: Body = []) {
        self.order = order
        self.body = body
    }
}

/// A version-1 source: an eventfd of its own, whose eight bytes are consumed once for each callout.
public struct PortSpec: Sendable, Equatable {
    public var body: Body

    public init(_ body: Body = []) {
        self.body = body
    }
}

/// A timer whose dates lie on the program's grid: it owns one slot of each gap.
public struct TimerSpec: Sendable, Equatable {
    /// The gap of its first fire date; nil means a date in the past.
    public var firstGap: Int?
    /// 0 means one-shot.
    public var intervalGaps: Int
    public var body: Body

    public init(at firstGap: Int?, every intervalGaps: Int = 0, _ body: Body = []) {
        self.firstGap = firstGap
        self.intervalGaps = intervalGaps
        self.body = body
    }
}

/// An observer. `activities` are Core Foundation's raw values, which equal GRunLoop's.
public struct ObserverSpec: Sendable, Equatable {
    public var activities: UInt
    public var repeats: Bool
    public var order: Int
    public var body: Body

    public init(_ activities: UInt, repeats: Bool = true, order: Int = 0, _ body: Body = []) {
        self.activities = activities
        self.repeats = repeats
        self.order = order
        self.body = body
    }
}

/// A whole program.
public struct Program: Sendable, Equatable {
    public var sources: [SourceSpec]
    public var ports: [PortSpec]
    public var timers: [TimerSpec]
    public var observers: [ObserverSpec]
    /// The blocks that `perform` enqueues, by index. The calls of a block are counted over all its enqueueings.
    public var blocks: [Body]
    public var steps: [Action]

    public init(
        sources: [SourceSpec] = [], ports: [PortSpec] = [], timers: [TimerSpec] = [],
        observers: [ObserverSpec] = [], blocks: [Body] = [], steps: [Action] = []
    ) {
        self.sources = sources
        self.ports = ports
        self.timers = timers
        self.observers = observers
        self.blocks = blocks
        self.steps = steps
    }

    /// Every item of the program.
    public var items: [ItemID] {
        sources.indices.map(ItemID.source) + ports.indices.map(ItemID.port)
            + timers.indices.map(ItemID.timer) + observers.indices.map(ItemID.observer)
    }

    /// Every action at any place of the program.
    public var allActions: [Action] {
        var all = steps
        for body in bodies { all.append(contentsOf: body.joined()) }
        return all
    }

    /// Every body, in the order of `items` and then of the blocks.
    public var bodies: [Body] {
        sources.map(\.body) + ports.map(\.body) + timers.map(\.body) + observers.map(\.body) + blocks
    }
}
