// SPDX-License-Identifier: Apache-2.0
// How the heap has grown from the end of the second round to the end of the last one.

/// The size of the heap after each round.
struct Heap: CustomStringConvertible {
    /// How many bytes the heap may grow after the second round. In 24 runs of four rounds, beside other programs,
    /// arrays and pools that got a higher capacity took up to 8 KiB, in single rounds.
    private static let growthLimit = 1 << 14
    /// How many bytes the heap may grow in each of these rounds. If the operations that are cancelled at one moment
    /// each leave the smallest piece of memory, which has 32 bytes, they leave 4.5 KiB in each round.
    private static let steadyLimit = 1 << 12

    var sizes: [Int]

    init(_ sizes: [Int]) { self.sizes = sizes }

    /// The growth in all of these rounds, and the least growth in one of them; nil if there is no such round.
    private var growth: (all: Int, each: Int)? {
        guard sizes.count > 2 else { return nil }
        let each = zip(sizes.dropFirst(), sizes.dropFirst(2)).map { $1 - $0 }.min() ?? 0
        return (sizes[sizes.count - 1] - max(sizes[0], sizes[1]), each)
    }

    var isFlat: Bool { growth.map { $0.all <= Self.growthLimit && $0.each <= Self.steadyLimit } ?? true }

    var description: String {
        guard let growth else { return "the heap was not compared" }
        let limits = "limits \(Self.growthLimit) and \(Self.steadyLimit)"
        return "heap \(growth.all) bytes, at least \(growth.each) each round (\(limits))"
    }
}
