// SPDX-License-Identifier: Apache-2.0
// Random numbers that a seed reproduces.

/// SplitMix64: the same seed gives the same numbers on every machine.
struct Random: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

    /// The numbers of one operation. They do not depend on the operations before it, so that a program can be
    /// shortened.
    init(seed: UInt64, operation: Int) {
        var random = Random(seed: seed)
        state = random.next() &+ UInt64(operation) &* 0xD1B5_4A32_D192_ED03
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    /// A number from 0 to `limit` - 1.
    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

    /// True with a probability of 1 / `count`.
    mutating func once(in count: Int) -> Bool { below(count) == 0 }

    mutating func element<Element>(of list: [Element]) -> Element? {
        list.isEmpty ? nil : list[below(list.count)]
    }
}
