// SPDX-License-Identifier: Apache-2.0
// The acts of producers, drawn from the seed. The same seed gives each producer the same acts in every run. The machine
// determines how many acts fit into a round, and how they interleave.

/// A small generator of random numbers.
struct Dice {
    private var state: UInt64

    /// Each act has its own generator. How often an act draws may depend on the present loops, and must not change
    /// later acts.
    init(seed: UInt64, producer: Int, round: Int, act: Int) {
        state = seed &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(producer + 1) << 56 ^ UInt64(act) << 24 ^ UInt64(round + 1)
        _ = next()
    }

    private mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func number(_ range: ClosedRange<Int>) -> Int { range.lowerBound + Int(next() % UInt64(range.count)) }
    mutating func chance(_ percent: Int) -> Bool { number(0...99) < percent }
    mutating func pick<Element>(_ choices: [Element]) -> Element { choices[number(0...choices.count - 1)] }
}

/// One thing that a producer does, with its ledger.
enum Act: CaseIterable {
    case blocks, performs, performAndWait, jobs, mainQueue, callbacks
    case channels, ownChannel, crowdedChannel
    case ports, ownPort, replyPorts, movePort, awaitPort
    case messagePort, messageRequests
    case signals, sharedSignals, twoLoops
    case oneShots, moved, repeating
    case events, copies, twoOnOne, hangUp, closedWhileWatched, reused, moves
    case signalsOfProcess, signalBursts, children
    case idleTogether, idle, moveIdleQueue, idleLast, awaitIdleness
    case notifyTogether, notify
    case conditions, silenceOthers, echo
    case observers, endHandlers
    case nestedRun, privateRun, ambientMode, removals, delayed, foreignRun, detach
    case newLoop, catchUp

    private var weight: Int {
        switch self {
        case .blocks, .performs, .channels, .signals: 10
        case .jobs, .mainQueue, .callbacks, .oneShots, .events: 7
        case .sharedSignals, .moved, .repeating: 5
        case .newLoop, .nestedRun, .copies, .twoOnOne, .hangUp: 4
        default: 3
        }
    }

    private static let weighted: [Act] = allCases.flatMap { Array(repeating: $0, count: $0.weight) }

    static func draw(_ dice: inout Dice) -> Act { dice.pick(weighted) }
}
