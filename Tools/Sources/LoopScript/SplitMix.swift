// SPDX-License-Identifier: Apache-2.0
// A small seeded random number generator: the same seed gives the same program on every machine.

public struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a number in `range`. All numbers are practically equally likely, because the ranges are small.
    public mutating func number(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.count))
    }

    public mutating func chance(_ percent: Int) -> Bool { number(0...99) < percent }

    public mutating func pick<Element>(_ choices: [Element]) -> Element { choices[number(0...choices.count - 1)] }

    /// Returns one of several values, with a probability by weight.
    public mutating func pick<Element>(weighted choices: [(weight: Int, value: Element)]) -> Element {
        var left = number(0...choices.reduce(0) { $0 + $1.weight } - 1)
        for choice in choices {
            if left < choice.weight { return choice.value }
            left -= choice.weight
        }
        return choices[0].value
    }
}
