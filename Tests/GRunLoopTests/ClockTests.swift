// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GRunLoop

@Suite("The clock") struct ClockTests {
    @Test("a duration becomes the nearest number of nanoseconds, at least one if it is positive, and saturates")
    func nanoseconds() {
        var random = SeededRandom(seed: 5)
        var wrong: [Int128] = []
        func check(_ attoseconds: Int128) {
            // Rounds halves up.
            let (quotient, remainder) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
            var nearest = quotient
            if remainder >= 500_000_000 { nearest += 1 }
            if remainder < -500_000_000 { nearest -= 1 }
            if attoseconds > 0 { nearest = Swift.max(1, nearest) }
            let expected = Swift.min(Swift.max(nearest, Int128(Int64.min)), Int128(Int64.max))
            if Int128(Nanoseconds(saturating: Duration(attoseconds: attoseconds))) != expected {
                wrong.append(attoseconds)
            }
        }
        // Checks the powers of two and their neighbours: the arithmetic changes at 2^64 and 2^92.
        for power in 0..<127 {
            for distance in -2...2 {
                check((1 << power) + Int128(distance))
                check(-(1 << power) - Int128(distance))
            }
        }
        // Checks fractions between two whole numbers, for few, many and the greatest number of nanoseconds.
        for whole: Int128 in [0, 1, -1, 1_900_000_000, 1 << 62, Int128(Int64.max), Int128(Int64.min)] {
            for part: Int128 in [1, 499_999_999, 500_000_000, 500_000_001, 999_999_999] {
                check(whole * 1_000_000_000 + part)
                check(whole * 1_000_000_000 - part)
            }
        }
        for extreme in [Int128.max, .min] {
            for distance: Int128 in 0..<3 { check(extreme > 0 ? extreme - distance : extreme + distance) }
        }
        for _ in 0..<100_000 {
            let bits = Int.random(in: 0...125, using: &random)
            let value = Int128(random.next()) << 64 | Int128(random.next())
            check(value & ((1 << bits) - 1))
            check(-(value & ((1 << bits) - 1)))
        }
        #expect(wrong.isEmpty)
    }
}
