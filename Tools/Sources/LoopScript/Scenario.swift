// SPDX-License-Identifier: Apache-2.0
// A hand-written program, with the trace that the behaviour list promises.

/// One scripted scenario. Its trace holds on the real CFRunLoop and on GRunLoop.
public struct Scenario: Sendable {
    /// The items of the behaviour list that it shows.
    public let items: [Int]
    public let name: String
    public let program: Program
    public let expected: [String]
    /// Whether the oracle's trace differs, by a bug of the oracle or on purpose.
    public let isGRunLoopOnly: Bool

    init(
        _ items: [Int], _ name: String, isGRunLoopOnly: Bool = false, _ program: Program, gives expected: String
    ) {
        self.items = items
        self.name = name
        self.program = program
        self.isGRunLoopOnly = isGRunLoopOnly
        self.expected = expected.split(separator: "\n").map(String.init)
    }

    /// Every scenario.
    public static let all: [Scenario] =
        running + results + passes + stops + wakeUps + sources + ports + timers + timerDates + observers
        + commonModes + blocks + nestedRuns
}

// The observers of most scenarios watch one stage, or all of them.
extension UInt {
    static let entry: UInt = 1
    static let beforeTimers: UInt = 2
    static let beforeSources: UInt = 4
    static let beforeWaiting: UInt = 32
    static let afterWaiting: UInt = 64
    static let exit: UInt = 128
    static let all: UInt = 0x0FFF_FFFF
}

// The runs of most scenarios.
extension Action {
    static func run(_ mode: ModeName = "default", gaps: Int = 1, returning: Bool = false) -> Action {
        .run(mode, .gaps(gaps), returnAfterSourceHandled: returning)
    }

    static func poll(_ mode: ModeName = "default", returning: Bool = false) -> Action {
        .run(mode, .poll, returnAfterSourceHandled: returning)
    }

    static func block(_ index: Int = 0, in modes: ModeName...) -> Action {
        .perform(index, modes.isEmpty ? ["default"] : modes)
    }
}

// A source, port or timer that keeps a mode from being empty, and every item of the default mode.
extension [Action] {
    static func addAll(
        sources: Int = 0, ports: Int = 0, timers: Int = 0, observers: Int = 0, to mode: ModeName = "default"
    ) -> [Action] {
        var actions: [Action] = []
        for index in 0..<sources { actions.append(.add(.source(index), mode)) }
        for index in 0..<ports { actions.append(.add(.port(index), mode)) }
        for index in 0..<timers { actions.append(.add(.timer(index), mode)) }
        for index in 0..<observers { actions.append(.add(.observer(index), mode)) }
        return actions
    }
}
