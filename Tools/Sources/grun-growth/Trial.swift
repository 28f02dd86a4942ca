// SPDX-License-Identifier: Apache-2.0
// One trial: a number of things of one kind on a new loop, and the processor time of each operation.

import GRunLoop
import Glibc
import TestSupport

/// The order in which the things are used.
enum Order: String, CaseIterable {
    case inOrder = "in order"
    case reverse, random

    /// The numbers from 0 to `count` - 1.
    func places(_ count: Int) -> [Int] {
        switch self {
        case .inOrder: return Array(0..<count)
        case .reverse: return (0..<count).reversed()
        case .random:
            // Uses the same numbers in each round, so that rounds can be compared.
            var generator = Generator()
            return (0..<count).shuffled(using: &generator)
        }
    }

    private struct Generator: RandomNumberGenerator {
        private var state: UInt64 = 88_172_645_463_325_252

        mutating func next() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }
    }
}

/// Thrown when an operation has taken so long that its growth is known.
struct TooSlow: Error {}

final class Trial: @unchecked Sendable {
    let count: Int
    let loop: GRunLoop
    /// The numbers of the things, in the trial's order.
    let places: [Int]
    private let mostNanoseconds: [String: Int64]
    /// Nanoseconds per item, by operation.
    private(set) var costs: [String: Double] = [:]
    /// The operations in the order of their first call.
    private(set) var operations: [String] = []

    /// After this time an item's cost is known.
    private static let longest: Int64 = 1_000_000_000

    /// - Parameter mostNanoseconds: how long an operation may take before the trial stops.
    init(_ count: Int, _ order: Order, on loop: GRunLoop, mostNanoseconds: [String: Int64]) {
        self.count = count
        self.loop = loop
        self.mostNanoseconds = mostNanoseconds
        places = order.places(count)
    }

    /// Makes a thing for each number.
    func make<Thing>(_ make: (Int) throws -> Thing) rethrows -> [Thing] { try (0..<count).map(make) }

    /// Measures `body`, which is called for each thing in the trial's order.
    func each(_ operation: String, _ body: (Int) throws -> Void) throws {
        try measure(operation, places, body)
    }

    /// Measures `body`, which is called for each thing in the order in which the things were made.
    func eachAsMade(_ operation: String, _ body: (Int) throws -> Void) throws {
        try measure(operation, Array(0..<count), body)
    }

    /// Measures `body` as a whole, without reading the clock in between, and divides its time by the number of things.
    func all(_ operation: String, _ body: () throws -> Void) rethrows {
        let begin = Self.processorTime
        try body()
        note(operation, Self.processorTime - begin, count)
    }

    /// Measures one of `times` calls beside all the things. Its cost must not grow with the things.
    func beside(_ operation: String, times: Int, _ body: (Int) throws -> Void) rethrows {
        let begin = Self.processorTime
        for time in 0..<times { try body(time) }
        note(operation, Self.processorTime - begin, times)
    }

    private func measure(_ operation: String, _ places: [Int], _ body: (Int) throws -> Void) throws {
        let most = mostNanoseconds[operation] ?? Self.longest
        let begin = Self.processorTime
        for (index, place) in places.enumerated() {
            try body(place)
            guard index & 0xFF == 0xFF else { continue }
            let spent = Self.processorTime - begin
            guard spent <= most else {
                note(operation, spent, index + 1)
                throw TooSlow()
            }
        }
        note(operation, Self.processorTime - begin, count)
    }

    private func note(_ operation: String, _ nanoseconds: Int64, _ items: Int) {
        if costs[operation] == nil { operations.append(operation) }
        costs[operation] = Double(nanoseconds) / Double(items)
    }

    /// The processor time of the process: some operations belong to several threads.
    private static var processorTime: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// Counts the calls of a closure, on one thread.
final class Tally: @unchecked Sendable {
    var count = 0
}

extension Trial {
    /// Notes a call. After the last call the run stops.
    func noteCall(_ tally: Tally) {
        tally.count += 1
        if tally.count == count { loop.stop() }
    }

    /// Runs the default mode until ``noteCall(_:)`` ends the run.
    func run() {
        if loop.run(mode: .default, for: .seconds(60)) != .stopped { fatalError("not every thing was called") }
    }

    /// Runs the default mode until `tally` has counted every thing.
    func runUntilAll(_ tally: Tally) throws {
        var passes = 0
        while tally.count < count {
            _ = loop.run(mode: .default, for: .zero)
            passes += 1
            if passes > 100 * count + 1000 { fatalError("only \(tally.count) of \(count) were called") }
        }
    }
}
