// SPDX-License-Identifier: Apache-2.0
// Counts for the scheduler.

/// A small number for each kind of item. All numbers are in one word, so that a run resets them without a loop over the
/// kinds.
struct KindCounts {
    static var ones: Self { Self(word: 0x0101_0101_0101_0101) }

    private var word: UInt64

    subscript(kind: ItemKind) -> UInt64 {
        @inline(__always) get { word &>> shift(kind) & 0xFF }
        @inline(__always) set { word = word & ~(0xFF &<< shift(kind)) | newValue &<< shift(kind) }
    }

    @inline(__always) mutating func decrease(_ kind: ItemKind) { word &-= 1 &<< shift(kind) }
    /// Only the first eight kinds have a number. All kinds that take turns are among them: `ItemKindTests` checks this.
    @inline(__always) private func shift(_ kind: ItemKind) -> UInt64 { UInt64(kind.rawValue) &* 8 }
}
