// SPDX-License-Identifier: Apache-2.0
// The slice of time: who asks, and what the next one is told.

import Testing

@testable import GRunLoop

@Suite("The time slice") struct TimeSliceTests {
    @Test("that it is used up is known to everyone who asks, until it begins anew")
    func staysUsedUp() {
        var slice = TimeSlice()
        slice.resume()
        #expect(answers(of: &slice, 0) == Array(repeating: true, count: 20))
        slice.restart()
        // The clock is read after a few items: until then nobody knows.
        #expect(answers(of: &slice, 0).last == true)
        slice.resume()
        #expect(!answers(of: &slice, .never).contains(true))
    }

    @Test("the first item is looked at, and where items are short every eighth")
    func shortItems() {
        var slice = TimeSlice()
        slice.resume(at: .now() - 2_000_000_000)
        #expect(answers(of: &slice, 1_000_000_000).first == true)
        slice.resume()
        #expect(!answers(of: &slice, 1_000_000_000).contains(true))
        // Used up between two looks.
        #expect(answers(of: &slice, 0).prefix(8).contains(true))
    }

    private func answers(of slice: inout TimeSlice, _ length: Nanoseconds) -> [Bool] {
        var answers: [Bool] = []
        for _ in 0..<20 { answers.append(slice.isSpent(length)) }
        return answers
    }
}
