// SPDX-License-Identifier: Apache-2.0
// Durations and nanoseconds.

import Testing

@testable import GRunLoop

@Suite("The clock") struct ClockTests {
    @Test("a duration is as many nanoseconds as it has whole ones, and saturates")
    func nanoseconds() {
        var random = SeededRandom(seed: 5)
        var wrong: [Int128] = []
        func check(_ attoseconds: Int128) {
            let expected = Swift.min(Swift.max(attoseconds / 1_000_000_000, Int128(Int64.min)), Int128(Int64.max))
            if Int128(Nanoseconds(saturating: Duration(attoseconds: attoseconds))) != expected { wrong.append(attoseconds) }
        }
        // The powers of two and their neighbours: 2^64 and 2^92 are where the arithmetic changes.
        for power in 0..<127 {
            for distance in -2...2 {
                check((1 << power) + Int128(distance))
                check(-(1 << power) - Int128(distance))
            }
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
