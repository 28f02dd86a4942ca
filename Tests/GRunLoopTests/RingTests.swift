// SPDX-License-Identifier: Apache-2.0
// The ring of a timeline's records: the contents of a copy, and the number of lost records.

import CGRun
import CGRunDiagnostics
import Glibc
import Testing

@Suite("The ring of records") struct RingTests {
    /// The record numbers in a copy of the ring, and the number of lost records.
    private func copy(_ ring: OpaquePointer) -> (numbers: [Int64], lost: UInt64) {
        var (count, lost): (UInt64, UInt64) = (0, 0)
        guard let records = cgrun_ring_copy(ring, &count, &lost) else { return ([], lost) }
        defer { free(records) }
        return ((0..<Int(count)).map { records[$0].extra }, lost)
    }

    @Test("a copy has every record of a ring that may grow, even if its memory is full")
    func growing() throws {
        let ring = try #require(cgrun_ring_new(1, 1024))
        defer { cgrun_ring_free(ring) }
        for number in 1..<1024 as Range<Int64> {
            cgrun_ring_put(ring, CGRUN_RECORD_STAGE, 0, number)
            let (numbers, lost) = copy(ring)
            #expect(lost == 0 && numbers == Array(1...number))
        }
    }

    @Test("the copy of a full ring omits the record that the next record would overwrite", arguments: [0, 1, 700])
    func full(more: Int64) throws {
        let ring = try #require(cgrun_ring_new(1, 512))
        defer { cgrun_ring_free(ring) }
        for number in 1...(512 + more) { cgrun_ring_put(ring, CGRUN_RECORD_STAGE, 0, number) }
        let (numbers, lost) = copy(ring)
        #expect(lost == UInt64(more + 1) && numbers == Array((more + 2)...(512 + more)))
    }

    @Test("writing to an item number that the ring does not have is ignored")
    func unknownNumber() throws {
        let ring = try #require(cgrun_ring_new(1, 1024))
        defer { cgrun_ring_free(ring) }
        cgrun_ring_set_depth(ring, 1)
        for number in [1, 64, 100_000_000, UInt32.max] {
            cgrun_ring_put(ring, CGRUN_RECORD_CALLOUT, number, 0)
            cgrun_ring_put(ring, CGRUN_RECORD_STAGE, 0, 4)
        }
        #expect(cgrun_ring_item_count(ring) == 0)
    }
}
