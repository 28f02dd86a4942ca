// SPDX-License-Identifier: Apache-2.0
// A kind of thing, and how its operations grow from N to 4 N things.

import GRunLoop
import Glibc
import TestSupport

struct Kind: Sendable {
    let name: String
    /// N.
    let count: Int
    var orders = Order.allCases
    let body: @Sendable (Trial) throws -> Void
}

/// The measurements of one operation.
struct Row {
    let kind: String
    let operation: String
    let order: Order
    let count: Int
    /// Nanoseconds per item with N and with 4 N things.
    let few: Double
    let many: Double

    var ratio: Double { many / max(few, 1) }
    /// A logarithmic cost per item grows by log(4 N) / log(N). An operation that looks at every thing grows by 4. The
    /// margin is for the caches, which 4 N things fill.
    var limit: Double { Self.margin * log(4 * Double(count)) / log(Double(count)) }
    var isLogarithmic: Bool { ratio <= limit }

    private static let margin = 2.6
}

extension Kind {
    private static let rounds = 3
    /// How often a kind is measured again before the test fails, because another process may have used the processor.
    private static let furtherRounds = 12

    func measure(_ order: Order) -> [Row] {
        var (few, many): ([String: [Double]], [String: [Double]]) = ([:], [:])
        var operations: [String] = []
        for round in 0..<(Self.rounds + Self.furtherRounds) {
            if round >= Self.rounds, isDecided(rows(operations, order, few, many)) { break }
            let first = trial(count, order, mostNanoseconds: [:])
            for (operation, cost) in first.costs { few[operation, default: []].append(cost) }
            operations = first.operations
            // Far beyond the limit. There the growth is known, and the trial can stop.
            let most = few.mapValues { Int64(20 * median($0) * Double(4 * count)) + 100_000_000 }
            let second = trial(4 * count, order, mostNanoseconds: most)
            for (operation, cost) in second.costs { many[operation, default: []].append(cost) }
        }
        return rows(operations, order, few, many)
    }

    /// Whether measuring again would change nothing.
    private func isDecided(_ rows: [Row]) -> Bool {
        rows.allSatisfy { $0.isExpected } || rows.contains { !$0.isExpected && $0.ratio > 2 * $0.limit }
    }

    private func rows(
        _ operations: [String], _ order: Order, _ few: [String: [Double]], _ many: [String: [Double]]
    ) -> [Row] {
        operations.compactMap { operation in
            guard let few = few[operation], let many = many[operation] else { return nil }
            return Row(
                kind: name, operation: operation, order: order, count: count, few: median(few), many: median(many))
        }
    }

    /// The median, because the lowest value misleads: a round costs a third if threads that share work seldom meet.
    private func median(_ costs: [Double]) -> Double { costs.sorted()[costs.count / 2] }

    private func trial(_ count: Int, _ order: Order, mostNanoseconds: [String: Int64]) -> Trial {
        let result = Shared<Trial?>(nil)
        onPlainThread {
            let loop = GRunLoop.current
            loop.timeSlice = endlessTimeSlice
            let trial = Trial(count, order, on: loop, mostNanoseconds: mostNanoseconds)
            do {
                try body(trial)
            } catch is TooSlow {
                // The row reports the error.
            } catch {
                fatalError("\(name): \(error)")
            }
            result.value = trial
        }
        return result.value.unsafelyUnwrapped
    }
}
